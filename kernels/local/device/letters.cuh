// Letters of targets as they stream through the lanes of a team, and what they score with the query's rows.
#pragma once
#include "local/device/cells.cuh"

__device__ __forceinline__ unsigned four_letters(const unsigned char* letters, int j, int length, unsigned padding) {
  if (j >= length) return padding;
  const unsigned word = *(const unsigned*)(letters + j);
  const int left = length - j;
  return left >= 4 ? word : (word & (1u << 8 * left) - 1) | padding << 8 * left;
}

// Bytes of scores with each letter of the rows of a strip, for one query: [letter][row].
__device__ __forceinline__ void profile_made(unsigned char* profile, const unsigned char* query, int n, int row, const signed char* table, int letters,
                                             int lane, int lanes) {
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

// Scores of a letter with a lane's rows, from its place in a profile.
__device__ __forceinline__ void looked_up(unsigned* scores, const unsigned char* at) {
#pragma unroll
  for (int w = 0; w < ROWS / 4; w++) {
    if (ROWS % 16 == 0 && w % 4 == 0) {
      const uint4 four = *(const uint4*)(at + 4 * w);
      scores[w] = four.x, scores[w + 1] = four.y, scores[w + 2] = four.z, scores[w + 3] = four.w;
    } else if (ROWS % 16) {
      scores[w] = *(const unsigned*)(at + 4 * w);
    }
  }
}
