// The band of the matrix that is made of an extension: how far from the main diagonal, `widest` in the first row and less further on, down to `tail`.
//
// A path that lies d diagonals off and has left the main one at a share x of the way lacks about x times what a path to the end lacks, and d diagonals' worth
// of gap: so it need not be followed where d is above 1 - x times the band of the whole. On the right of the diagonal x is at most the row's share of all
// rows; on the left the column's, which is d rows less.
#pragma once
#include "local/device/cells.cuh"

struct Band {
  int rows, widest, tail;

  __device__ __forceinline__ int left(int row) const { return before(row, rows - widest); }
  __device__ __forceinline__ int right(int row) const { return before(row, rows); }

 private:
  // How far off in a row, if it is less from so many rows before the last on.
  __device__ __forceinline__ int before(int row, int narrowing) const {
    if (narrowing <= 0) return widest;
    return tail + (int)((long long)(widest - tail) * max(min(rows - row, narrowing), 0) / narrowing);
  }
};

// Rows of a lane, a bit each, whose cells in column j are no more than `band` diagonals off.
__device__ __forceinline__ unsigned rows_within(int band, int row, int j) {
  static_assert(ROWS < 32, "rows are bits of a word");
  const int from = max(0, min(j - row - band, ROWS)), to = max(0, min(j - row + band + 1, ROWS));
  return (1u << to) - (1u << from);
}
