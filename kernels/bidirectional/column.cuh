// The rows that a block keeps on chip, a column or more a thread, and the recurrence on them (WAVEFRONT.md 3).
#pragma once
#include "bidirectional/bidirectional.cuh"

// Diagonals on either side that a cell depends on meanwhile: in a sweep, and until narrow wavefronts are looked at.
constexpr int HALO = (BIDIRECTIONAL_STEPS - 1) / LEAST_EXTEND + 1, NARROW_HALO = (GRAIN - 1) / LEAST_EXTEND + 1;
constexpr int OWN = BIDIRECTIONAL_COLUMNS - 2 * HALO;
constexpr int STRIDE = BIDIRECTIONAL_COLUMNS + 2;                  // a column without a cell on each side
constexpr int APART = BIDIRECTIONAL_COLUMNS / BIDIRECTIONAL_EACH;  // of the columns of a thread of a sweep

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

// The states of a thread's cells on EACH diagonals, APART from each other.
template <int EACH>
struct Cells {
  Offset h[EACH], i1[EACH], d1[EACH], i2[EACH], d2[EACH];

  // Where a direction begins, on diagonals from k on.
  __device__ void begin(const Frame& frame, int k) {
    for (int j = 0; j < EACH; j++, k += APART) {
      h[j] = k >= frame.first && k <= frame.last ? max(k, 0) : NONE;
      i1[j] = k == 0 && frame.begin == I1 ? 0 : NONE, d1[j] = k == 0 && frame.begin == D1 ? 0 : NONE;
      i2[j] = k == 0 && frame.begin == I2 ? 0 : NONE, d2[j] = k == 0 && frame.begin == D2 ? 0 : NONE;
    }
  }
};

// EACH columns of the rows, APART from each other, the first `at` in the first row; `left` and `right` from one are those beside it.
template <int EACH>
struct Columns {
  Offset* at;
  int left, right;
  Round<M_ROWS> made{0}, mismatch{WAVEFRONT_X}, open1{WAVEFRONT_OE1}, open2{min2(WAVEFRONT_OE2, DEEPEST)};
  Round<max2(GAP1_ROWS, 1)> made1{0};
  Round<max2(GAP2_ROWS, 1)> made2{0};

  __device__ Columns(Offset* at, int left, int right) : at(at), left(left), right(right) {}

  // The columns in a row of a state that begins at these bytes.
  template <int STATE>
  __device__ Offset* row(int bytes) const {
    constexpr int first = first_row(STATE) * STRIDE;  // so that the compiler works it out
    return reinterpret_cast<Offset*>(reinterpret_cast<char*>(at) + bytes) + first;
  }

  // The cells of the row to be made, before matches are followed. The oldest row of a gap state, which it extends, is the one that is made next.
  __device__ void make(Cells<EACH>& cells) const {
    const Offset *const opened = row<M>(open1.at), *const opened2 = row<M>(open2.at), *const mismatched = row<M>(mismatch.at);
    const int extended = made1.next(), extended2 = made2.next();
#pragma unroll
    for (int j = 0; j < EACH; j++) {
      const int to_left = j * APART + left, to_right = j * APART + right;
      int h = mismatched[j * APART] + 1;
      if (WAVEFRONT_PIECES == 0) h = max(h, max(opened[to_right], opened[to_left] + 1));
      if (WAVEFRONT_PIECES >= 1) {
        cells.i1[j] = max(opened[to_right], row<I1>(extended)[to_right]);
        cells.d1[j] = max(opened[to_left], row<D1>(extended)[to_left]) + 1;
        h = max(h, max(cells.i1[j], cells.d1[j]));
      }
      if (WAVEFRONT_PIECES == 2) {
        cells.i2[j] = max(opened2[to_right], row<I2>(extended2)[to_right]);
        cells.d2[j] = max(opened2[to_left], row<D2>(extended2)[to_left]) + 1;
        h = max(h, max(cells.i2[j], cells.d2[j]));
      }
      cells.h[j] = h;
    }
  }

  __device__ void keep(const Cells<EACH>& cells) const {
#pragma unroll
    for (int j = 0; j < EACH; j++) {
      row<M>(made.at)[j * APART] = cells.h[j];
      if (WAVEFRONT_PIECES >= 1) row<I1>(made1.at)[j * APART] = cells.i1[j], row<D1>(made1.at)[j * APART] = cells.d1[j];
      if (WAVEFRONT_PIECES == 2) row<I2>(made2.at)[j * APART] = cells.i2[j], row<D2>(made2.at)[j * APART] = cells.d2[j];
    }
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
  int n, m;
  int k;

  __device__ Diagonal(const Part& part, int direction, int k, const unsigned* words, const unsigned* masks)
      : words(words),
        masks(masks),
        query((int)part.query[direction]),
        target((int)part.target[direction]),
        to_query((int)part.query_origin[direction] - k),
        to_target((int)part.target_origin[direction]),
        n((int)part.n),
        m((int)part.m),
        k(k) {}

  __device__ Diagonal right(int by) const {
    Diagonal other = *this;
    other.to_query -= by, other.k += by;
    return other;
  }

  // Its first column in the matrix, beyond all cells if there is none, and the last one.
  __device__ int first() const { return k < -n || k > m ? 1 << 30 : max(k, 0); }
  __device__ int last() const { return min(m, n + k); }

  // 16 letters from one on.
  __device__ static unsigned window(const unsigned* words, int place, int letter) {
    const unsigned* const word = words + (place + (letter >> 4));
    return __funnelshift_l(word[1], word[0], 2 * letter);
  }

  // How many of 16 letters from a column on are equal, `left` at most. `within`: it is a column of the matrix; what is found elsewhere means nothing.
  __device__ int equal(int h, int left, bool within) const {
    const int v = within ? h + to_query : 0, at = within ? h + to_target : 0;
    unsigned differ = window(words, query, v) ^ window(words, target, at);
    if (WAVEFRONT_AMBIGUOUS) {
      const unsigned ambiguous = window(masks, query, v) | window(masks, target, at);
      differ = WAVEFRONT_AMBIGUOUS == 1 ? differ | ambiguous : differ & ~ambiguous;
    }
    return min(__clz(differ) >> 1, left);  // clz(0) is 32: all 16
  }
};

// Follows matches on diagonals APART from each other, M's columns: NONE outside the matrix. furthest: the last columns that a state of their cells may be on.
template <int EACH>
__device__ inline void follow(const Diagonal& diagonal, Offset (&h)[EACH], Offset (&furthest)[EACH]) {
  Offset more[EACH];
  bool within[EACH], all = false;
#pragma unroll
  for (int j = 0; j < EACH; j++) {
    const Diagonal here = diagonal.right(j * APART);
    const int left = here.last() - h[j];
    within[j] = left >= 0 && h[j] >= here.first();
    more[j] = here.equal(h[j], left, within[j]);
    all |= within[j] && more[j] == 16;
  }
  if (all) {
#pragma unroll
    for (int j = 0; j < EACH; j++) {
      const Diagonal here = diagonal.right(j * APART);
      for (int found = more[j]; within[j] && found == 16; more[j] += found) found = here.equal(h[j] + more[j], here.last() - h[j] - more[j], true);
    }
  }
#pragma unroll
  for (int j = 0; j < EACH; j++) {
    furthest[j] = max(furthest[j], h[j] + more[j]);  // the diagonal's last column where M is beyond it, as a gap state may still hold a cell of the matrix
    h[j] = within[j] ? h[j] + more[j] : NONE;
  }
}

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
