// Letters of targets as they stream through the lanes of a team, and what they score with the query's rows.
#pragma once
#include "local/cells.cuh"

__device__ __forceinline__ unsigned four_letters(const unsigned char* letters, int j, int length, unsigned padding) {
  if (j >= length) return padding;
  const unsigned word = *(const unsigned*)(letters + j);
  const int left = length - j;
  return left >= 4 ? word : (word & (1u << 8 * left) - 1) | padding << 8 * left;
}

// Bytes of scores with each letter of the rows of a strip, for one query: [letter][row].
__device__ __forceinline__ void profile_made(unsigned char* profile, const unsigned char* query, int n, int row, const signed char* table, int letters, int lane,
                                             int lanes) {
  for (int word = lane; word < STRIP / 4; word += lanes) {
    int rows[4];
    for (int k = 0; k < 4; k++) {
      const int at = row + 4 * word + k;
      rows[k] = (at < n ? query[at] : letters - 1) * letters;
    }
    for (int letter = 0; letter < letters; letter++) {
      unsigned scores = 0;
      for (int k = 0; k < 4; k++) scores |= (unsigned)(unsigned char)table[rows[k] + letter] << 8 * k;
      ((unsigned*)(profile + letter * STRIP))[word] = scores;
    }
  }
}
