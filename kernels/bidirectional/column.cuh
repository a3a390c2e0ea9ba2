// The rows that a block keeps on chip, a column a thread, and the recurrence on them (WAVEFRONT.md 3).
#pragma once
#include "bidirectional/bidirectional.cuh"

// Diagonals on either side that a cell depends on meanwhile: in a sweep, and until narrow wavefronts are looked at.
constexpr int HALO = (BIDIRECTIONAL_STEPS - 1) / LEAST_EXTEND + 1, NARROW_HALO = (GRAIN - 1) / LEAST_EXTEND + 1;
constexpr int OWN = BIDIRECTIONAL_COLUMNS - 2 * HALO;
constexpr int STRIDE = BIDIRECTIONAL_COLUMNS + 2;  // a column without a cell on each side

__device__ constexpr int rows_of(int state) { return state == M ? M_ROWS : state <= D1 ? GAP1_ROWS : GAP2_ROWS; }
__device__ constexpr int first_row(int state) {
  int before = 0;
  for (int other = 0; other < state; other++) before += rows_of(other);
  return before;
}

// A row of N that goes round with the penalties: `at` is where it begins on chip.
template <int N>
struct Round {
  int at;
  __device__ explicit Round(int s) : at((s + N) % N * STRIDE) {}
  __device__ void next() { at = at == (N - 1) * STRIDE ? 0 : at + STRIDE; }
};

// The states of a cell.
struct Cells {
  int h = NONE, i1 = NONE, d1 = NONE, i2 = NONE, d2 = NONE;

  // Where a direction begins, on diagonal k.
  __device__ void begin(const Frame& frame, int k) {
    if (k >= frame.first && k <= frame.last) h = max(k, 0);
    if (k == 0) {
      if (frame.begin == I1) i1 = 0;
      if (frame.begin == D1) d1 = 0;
      if (frame.begin == I2) i2 = 0;
      if (frame.begin == D2) d2 = 0;
    }
  }
};

// A column of the rows before penalty s, `at` in the first row; `left` and `right` from it are those of the diagonals beside it.
struct Column {
  Offset* at;
  int left, right;
  Round<M_ROWS> made, mismatch, open1, open2;
  Round<max2(GAP1_ROWS, 1)> made1, extend1;
  Round<max2(GAP2_ROWS, 1)> made2, extend2;

  __device__ Column(Offset* at, int left, int right, int s)
      : at(at),
        left(left),
        right(right),
        made(s),
        mismatch(s - WAVEFRONT_X),
        open1(s - WAVEFRONT_OE1),
        open2(s - min2(WAVEFRONT_OE2, M_ROWS)),
        made1(s),
        extend1(s - min2(WAVEFRONT_E1, GAP1_ROWS)),
        made2(s),
        extend2(s - min2(WAVEFRONT_E2, GAP2_ROWS)) {}

  __device__ Offset* row(int state) const { return at + first_row(state) * STRIDE; }

  // The cells of the row to be made, before matches are followed.
  __device__ void make(Cells& cells) const {
    cells.h = at[mismatch.at] + 1;
    if (WAVEFRONT_PIECES == 0) {
      cells.h = max(cells.h, max(at[open1.at + right], at[open1.at + left] + 1));
    } else {
      cells.i1 = max(at[open1.at + right], row(I1)[extend1.at + right]);
      cells.d1 = max(at[open1.at + left], row(D1)[extend1.at + left]) + 1;
      cells.h = max(cells.h, max(cells.i1, cells.d1));
    }
    if (WAVEFRONT_PIECES == 2) {
      cells.i2 = max(at[open2.at + right], row(I2)[extend2.at + right]);
      cells.d2 = max(at[open2.at + left], row(D2)[extend2.at + left]) + 1;
      cells.h = max(cells.h, max(cells.i2, cells.d2));
    }
  }

  __device__ void keep(const Cells& cells) const {
    at[made.at] = cells.h;
    if (WAVEFRONT_PIECES >= 1) row(I1)[made1.at] = cells.i1, row(D1)[made1.at] = cells.d1;
    if (WAVEFRONT_PIECES == 2) row(I2)[made2.at] = cells.i2, row(D2)[made2.at] = cells.d2;
  }

  __device__ void next() {
    made.next(), mismatch.next(), open1.next();
    if (WAVEFRONT_PIECES >= 1) made1.next(), extend1.next();
    if (WAVEFRONT_PIECES == 2) open2.next(), made2.next(), extend2.next();
  }
};

// The letters of a direction, in its own coordinates.
struct Letters {
  Pair pair;
  int from_query, from_target;

  __device__ Letters(const Part& part, int direction, const unsigned* words, const unsigned* masks)
      : pair(letters_of(part, direction, words, masks)), from_query((int)part.query_origin[direction]), from_target((int)part.target_origin[direction]) {}

  // M's offset after its matches, NONE outside the matrix. furthest: of the antidiagonals that a state of the cell may be on.
  __device__ int follow(int k, int h, int n, int m, int& furthest) const {
    if ((unsigned)h > (unsigned)m || (unsigned)(h - k) > (unsigned)n) {
      if (h > 0) furthest = max(furthest, 2 * min(m, n + k) - k);  // a gap state may still hold a cell of the matrix
      return NONE;
    }
    h = pair.extend(k + from_target - from_query, h + from_target) - from_target;
    furthest = max(furthest, 2 * h - k);
    return h;
  }
};

// How far a direction has come, by GRAIN penalties.
struct Reached {
  const int* at;
  int count, known, letters;

  // The antidiagonal that a cell of the other direction must have come to at penalty s. In a gap both have paid its opening.
  __device__ int least(int s) const {
    const int step = max(known - s + LARGEST_OPEN, 0) / GRAIN, far = step < count ? at[step] : -1;
    return far < 0 ? 0 : letters - far;
  }
};

// The diagonals from the lowest to the highest on which threads of a block found a cell; low > high: none did. bounds: two numbers on chip.
__device__ inline Diagonals held_by(int lowest, int highest, int* bounds) {
  if (threadIdx.x == 0) bounds[0] = 1 << 30, bounds[1] = -(1 << 30);
  __syncthreads();
  lowest = __reduce_min_sync(0xffffffffu, lowest), highest = __reduce_max_sync(0xffffffffu, highest);
  if ((threadIdx.x & 31) == 0) atomicMin(bounds, lowest), atomicMax(bounds + 1, highest);
  __syncthreads();
  const Diagonals held = {bounds[0], bounds[1]};
  __syncthreads();
  return held;
}
