/*
 * Extends pairs by ksw2 (https://github.com/lh3/ksw2, MIT), minimap2's library, for tests/data/make_extensions.py. Calls its public interface only.
 *
 *   ksw2_peer PAIRS MATCH MISMATCH O1 E1 O2 E2 ZDROP    costs above 0; O2 of -1: gaps of one piece; ZDROP of -1: none
 *
 * PAIRS has a line for the query and one for the target of each pair, of A, C, G and T. Prints of each "SCORE QUERY_END TARGET_END", ends half-open.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "ksw2.h"

static uint8_t *codes(FILE *file, int *length) {
  static char *line = NULL;
  static size_t room = 0;
  ssize_t read = getline(&line, &room, file);
  if (read <= 0) return NULL;
  *length = (int)strcspn(line, "\n");
  uint8_t *found = malloc(*length + 1);
  for (int i = 0; i < *length; i++) found[i] = (uint8_t)(strchr("ACGT", line[i]) - "ACGT");
  return found;
}

int main(int count, char **words) {
  if (count != 9) return 2;
  FILE *file = fopen(words[1], "r");
  int of[7];
  for (int i = 0; i < 7; i++) of[i] = atoi(words[2 + i]);
  int8_t matrix[25];  // its last letter matches nothing, and is none of ours
  for (int i = 0; i < 25; i++) matrix[i] = (int8_t)(i / 5 == i % 5 && i < 24 ? of[0] : -of[1]);
  uint8_t *query, *target;
  int n, m;
  while ((query = codes(file, &n)) && (target = codes(file, &m))) {
    ksw_extz_t found;
    memset(&found, 0, sizeof found);
    const int flags = KSW_EZ_EXTZ_ONLY | KSW_EZ_SCORE_ONLY;
    if (of[4] < 0)
      ksw_extz2_sse(NULL, n, query, m, target, 5, matrix, of[2], of[3], -1, of[6], 0, flags, &found);
    else
      ksw_extd2_sse(NULL, n, query, m, target, 5, matrix, of[2], of[3], of[4], of[5], -1, of[6], 0, flags, &found);
    printf("%d\t%d\t%d\n", (int)found.max, found.max_q + 1, found.max_t + 1);
    free(query), free(target);
  }
  return 0;
}
