/*
 * Times WFA2-lib (https://github.com/smarco/WFA2-lib, MIT) on a file of pairs, for tests/benchmarks/wavefront.py. Calls its public interface only.
 *
 *   wfa2_peer PAIRS.seq        lines ">QUERY" and "<TARGET"
 *
 * Then for each line "MODEL MODE SCOPE" on standard input (MODEL edit, linear:X,G, affine:X,O,E or affine2p:X,O1,E1,O2,E2; MODE high or biwfa;
 * SCOPE score or full) aligns all pairs once with one aligner and prints "SECONDS PENALTIES COLUMNS": CPU seconds of the alignments alone, the sum of
 * the penalties and that of the CIGARs' lengths. Aligners are kept from line to line, so that a later line finds their memory warm.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#include "wavefront/wavefront_align.h"

enum { MOST = 64 };

static double cpu_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec + 1e-9 * now.tv_nsec;
}

static wavefront_aligner_t *aligner(const char *model, const char *mode, const char *scope) {
  wavefront_aligner_attr_t a = wavefront_aligner_attr_default;
  int x = 0, o1 = 0, e1 = 0, o2 = 0, e2 = 0;
  if (strcmp(model, "edit") == 0) {
    a.distance_metric = edit;
  } else if (sscanf(model, "linear:%d,%d", &x, &e1) == 2) {
    a.distance_metric = gap_linear;
    a.linear_penalties.match = 0;
    a.linear_penalties.mismatch = x;
    a.linear_penalties.indel = e1;
  } else if (sscanf(model, "affine:%d,%d,%d", &x, &o1, &e1) == 3) {
    a.distance_metric = gap_affine;
    a.affine_penalties.match = 0;
    a.affine_penalties.mismatch = x;
    a.affine_penalties.gap_opening = o1;
    a.affine_penalties.gap_extension = e1;
  } else if (sscanf(model, "affine2p:%d,%d,%d,%d,%d", &x, &o1, &e1, &o2, &e2) == 5) {
    a.distance_metric = gap_affine_2p;
    a.affine2p_penalties.match = 0;
    a.affine2p_penalties.mismatch = x;
    a.affine2p_penalties.gap_opening1 = o1;
    a.affine2p_penalties.gap_extension1 = e1;
    a.affine2p_penalties.gap_opening2 = o2;
    a.affine2p_penalties.gap_extension2 = e2;
  } else {
    fprintf(stderr, "wfa2_peer: unknown model %s\n", model);
    exit(2);
  }
  a.heuristic.strategy = wf_heuristic_none;
  a.alignment_form.span = alignment_end2end;
  a.alignment_scope = strcmp(scope, "full") == 0 ? compute_alignment : compute_score;
  a.memory_mode = strcmp(mode, "biwfa") == 0 ? wavefront_memory_ultralow : wavefront_memory_high;
  return wavefront_aligner_new(&a);
}

int main(int argc, char **argv) {
  FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
  if (!file) {
    fprintf(stderr, "wfa2_peer: one file of pairs is needed\n");
    return 2;
  }
  size_t count = 0, room = 1024;
  char **lines = malloc(room * sizeof *lines);
  int *lengths = malloc(room * sizeof *lengths);
  char *line = NULL;
  size_t size = 0;
  ssize_t got;
  while ((got = getline(&line, &size, file)) > 0) {
    while (got > 0 && (line[got - 1] == '\n' || line[got - 1] == '\r')) line[--got] = 0;
    if (got == 0) continue;
    if (count == room) {
      room *= 2;
      lines = realloc(lines, room * sizeof *lines);
      lengths = realloc(lengths, room * sizeof *lengths);
    }
    lines[count] = strdup(line + 1);
    lengths[count++] = (int)got - 1;
  }
  fclose(file);

  char keys[MOST][128];
  wavefront_aligner_t *aligners[MOST];
  int known = 0;
  char model[64], mode[32], scope[16], command[128];
  while (fgets(command, sizeof command, stdin)) {
    if (sscanf(command, "%63s %31s %15s", model, mode, scope) != 3) continue;
    int i = 0;
    while (i < known && strcmp(keys[i], command) != 0) i++;
    if (i == known) {
      if (known == MOST) return 2;
      strcpy(keys[known], command);
      aligners[known++] = aligner(model, mode, scope);
    }
    wavefront_aligner_t *const wf = aligners[i];
    long penalties = 0, columns = 0;
    const double start = cpu_seconds();
    for (size_t pair = 0; pair + 1 < count; pair += 2) {
      wavefront_align(wf, lines[pair], lengths[pair], lines[pair + 1], lengths[pair + 1]);
      penalties += labs((long)wf->cigar->score);
      columns += wf->cigar->end_offset - wf->cigar->begin_offset;
    }
    printf("%.9f %ld %ld\n", cpu_seconds() - start, penalties, columns);
    fflush(stdout);
  }
  return 0;
}
