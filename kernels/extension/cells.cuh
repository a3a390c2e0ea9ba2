// Four bits a cell of what a path needs to find its way back: a bit of each of COLUMNS neighbouring cells, the first one on top, together in as few words
// as there are bits of eight cells.
#pragma once

constexpr int GAP = 1, ACROSS = 2, OPENED_ACROSS = 4, OPENED_DOWN = 8;  // reached by a gap; that along the row is above the other; where gaps were opened

template <int COLUMNS>
__device__ __forceinline__ void write_cells(unsigned* words, unsigned gap, unsigned across, unsigned opened_across, unsigned opened_down) {
  static_assert(COLUMNS % 8 == 0, "words are full");
  if (COLUMNS == 16) {
    words[0] = (gap & 0xFFFF) | across << 16;
    words[1] = (opened_across & 0xFFFF) | opened_down << 16;
  } else if (COLUMNS == 24) {
    words[0] = (gap & 0xFFFFFF) | opened_down << 24;
    words[1] = (across & 0xFFFFFF) | (opened_down & 0xFF00) << 16;
    words[2] = (opened_across & 0xFFFFFF) | (opened_down & 0xFF0000) << 8;
  } else {
    words[0] = gap, words[1] = across, words[2] = opened_across, words[3] = opened_down;
  }
}

// The bits of one column of a row; columns: of a thread (16, 24 or 32).
__device__ __forceinline__ int read_cell(const unsigned* row, int column, int columns) {
  if (columns == 16) {
    const unsigned* words = row + (column >> 4) * 2;
    const unsigned one = words[0] >> (15 - (column & 15)), other = words[1] >> (15 - (column & 15));
    return (one & 1) | (one >> 15 & 2) | (other & 1) << 2 | (other >> 13 & 8);
  }
  if (columns == 24) {
    const int thread = column * 43691 >> 20, bit = 23 - (column - 24 * thread);
    const unsigned* words = row + thread * 3;
    const unsigned down = words[bit >> 3] >> (24 + (bit & 7));
    return (words[0] >> bit & 1) | (words[1] >> bit & 1) << 1 | (words[2] >> bit & 1) << 2 | (down & 1) << 3;
  }
  const unsigned* words = row + (column >> 5) * 4;
  const int bit = 31 - (column & 31);
  return (words[0] >> bit & 1) | (words[1] >> bit & 1) << 1 | (words[2] >> bit & 1) << 2 | (words[3] >> bit & 1) << 3;
}
