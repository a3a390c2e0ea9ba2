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

// A row of N that goes round with the penalties: `at` is where it begins on chip, in bytes. The first that is made is the last one there, those before it
// lie in front of it.
template <int N>
struct Round {
  static constexpr int BYTES = STRIDE * (int)sizeof(Offset);
  int at;
  __device__ explicit Round(int before) : at((N - 1 - before) * BYTES) {}
  __device__ int next() const { return at == (N - 1) * BYTES ? 0 : at + BYTES; }
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

// A column of the rows, `at` in the first row; `left` and `right` from it are those of the diagonals beside it.
struct Column {
  Offset* at;
  int left, right;
  Round<M_ROWS> made{0}, mismatch{WAVEFRONT_X}, open1{WAVEFRONT_OE1}, open2{min2(WAVEFRONT_OE2, DEEPEST)};
  Round<max2(GAP1_ROWS, 1)> made1{0};
  Round<max2(GAP2_ROWS, 1)> made2{0};

  __device__ Column(Offset* at, int left, int right) : at(at), left(left), right(right) {}

  // The column in a row of a state that begins at these bytes.
  template <int STATE>
  __device__ Offset* row(int bytes) const {
    constexpr int first = first_row(STATE) * STRIDE;  // so that the compiler works it out
    return reinterpret_cast<Offset*>(reinterpret_cast<char*>(at) + bytes) + first;
  }

  // The cells of the row to be made, before matches are followed. The oldest row of a gap state, which it extends, is the one that is made next.
  __device__ void make(Cells& cells) const {
    const Offset* const opened = row<M>(open1.at);
    cells.h = *row<M>(mismatch.at) + 1;
    if (WAVEFRONT_PIECES == 0) {
      cells.h = max(cells.h, max(opened[right], opened[left] + 1));
    } else {
      const int extended = made1.next();
      cells.i1 = max(opened[right], row<I1>(extended)[right]);
      cells.d1 = max(opened[left], row<D1>(extended)[left]) + 1;
      cells.h = max(cells.h, max(cells.i1, cells.d1));
    }
    if (WAVEFRONT_PIECES == 2) {
      const Offset* const opened2 = row<M>(open2.at);
      const int extended = made2.next();
      cells.i2 = max(opened2[right], row<I2>(extended)[right]);
      cells.d2 = max(opened2[left], row<D2>(extended)[left]) + 1;
      cells.h = max(cells.h, max(cells.i2, cells.d2));
    }
  }

  __device__ void keep(const Cells& cells) const {
    *row<M>(made.at) = cells.h;
    if (WAVEFRONT_PIECES >= 1) *row<I1>(made1.at) = cells.i1, *row<D1>(made1.at) = cells.d1;
    if (WAVEFRONT_PIECES == 2) *row<I2>(made2.at) = cells.i2, *row<D2>(made2.at) = cells.d2;
  }

  __device__ void next() {
    made.at = made.next(), mismatch.at = mismatch.next(), open1.at = open1.next();
    if (WAVEFRONT_PIECES >= 1) made1.at = made1.next();
    if (WAVEFRONT_PIECES == 2) open2.at = open2.next(), made2.at = made2.next();
  }
};

// A diagonal of a direction: where it crosses the matrix, and its letters.
struct Diagonal {
  const unsigned *words, *masks;  // as Pair has them
  int query, target;              // where those of the sides begin
  int to_query, to_target;        // from a column to its letters there
  int first;                      // column in the matrix
  unsigned more;                  // columns after it

  __device__ Diagonal(const Part& part, int direction, int k, const unsigned* words, const unsigned* masks)
      : words(words), masks(masks), query((int)part.query[direction]), target((int)part.target[direction]), to_target((int)part.target_origin[direction]) {
    move(part, direction, k);
  }

  __device__ void move(const Part& part, int direction, int k) {
    to_query = (int)part.query_origin[direction] - k;
    first = max(k, 0);
    const int last = min((int)part.m, (int)part.n + k);
    more = max(last - first, 0);
    if (first > last) first = 1 << 30;  // beyond all cells
  }

  __device__ int last() const { return first + (int)more; }

  // 16 letters from one on.
  __device__ static unsigned window(const unsigned* words, int place, int letter) {
    const unsigned* const word = words + (place + (letter >> 4));
    return __funnelshift_l(word[1], word[0], 2 * letter);
  }

  // M's column after its matches, NONE outside the matrix. furthest: the last column that a state of the cell may be on.
  __device__ int follow(int h, int& furthest) const {
    if ((unsigned)(h - first) > more) {
      if (h > first) furthest = max(furthest, last());  // a gap state may still hold a cell of the matrix
      return NONE;
    }
    int left = last() - h, equal;
    do {
      const int v = h + to_query, at = h + to_target;
      unsigned differ = window(words, query, v) ^ window(words, target, at);
      if (WAVEFRONT_AMBIGUOUS) {
        const unsigned ambiguous = window(masks, query, v) | window(masks, target, at);
        differ = WAVEFRONT_AMBIGUOUS == 1 ? differ | ambiguous : differ & ~ambiguous;
      }
      equal = min(__clz(differ) >> 1, left);  // clz(0) is 32: all 16
      h += equal;
      left -= equal;
    } while (equal == 16);
    furthest = max(furthest, h);
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
