// Parts of a known penalty, of which one direction was measured when they were cut off: a block makes all wavefronts of a part.
//
// A cell of penalty s counts only if the other direction comes to it with what is left of the penalty. Few diagonals have such cells. The direction that
// is not measured yet is made to the end of the part, which measures it, then the other one up to the middle; where they meet there the part is cut.
#pragma once
#include "bidirectional/column.cuh"

// A column for every diagonal modulo their number.
static_assert((BIDIRECTIONAL_COLUMNS & (BIDIRECTIONAL_COLUMNS - 1)) == 0, "columns go round");

// Rows of a direction that the other one may meet, as many as on chip, then the diagonal that each begins with.
constexpr int MET = ROWS * STRIDE;

// The first penalty at which a state is met: those of both directions are no further apart than a step.
__device__ inline int first_met(int state, int known) { return (known + opening(state) - (state == M ? DEEPEST : extension(state)) + 1) >> 1; }

__device__ inline int diagonal_of(int column, int base) { return base + ((column - base) & (BIDIRECTIONAL_COLUMNS - 1)); }

// Makes wavefronts 0 to `last` of a direction; false if they are too wide. far, met: null, or what it reaches and rows that the
// other direction may meet. bounds: three numbers on chip.
__device__ inline bool narrow(const Part& part, int direction, int last, const Reached& other, int* far, const unsigned* words, const unsigned* masks,
                              Offset* met, Offset* cells, int* bounds) {
  const Frame frame = frame_of(part, direction);
  const int n = frame.n, m = frame.m, thread = threadIdx.x;
  Columns<1> column(cells + thread, thread == 0 ? BIDIRECTIONAL_COLUMNS - 1 : -1, thread == BIDIRECTIONAL_COLUMNS - 1 ? 1 - BIDIRECTIONAL_COLUMNS : 1);
  for (int row = 0; row < ROWS; row++) {
    column.at[row * STRIDE] = NONE;
    if (met) met[row * STRIDE + thread] = NONE;
  }
  Diagonals held = {0, 0};
  for (int first = 0; first <= last; first += GRAIN) {
    if (held.high - held.low >= BIDIRECTIONAL_COLUMNS - 2 * NARROW_HALO - 2) return false;
    const int base = held.low - NARROW_HALO - 1, k = diagonal_of(thread, base);
    const bool within = k >= max(held.low - NARROW_HALO, -n) && k <= min(held.high + NARROW_HALO, m);
    const Diagonal diagonal(part, direction, k, words, masks);
    Offset furthest[1] = {NONE};
    for (int s = first; s < first + GRAIN; s++) {
      __syncthreads();
      if (within) {
        Cells<1> now;
        if (s == 0)
          now.begin(frame, k);
        else
          column.make(now);
        follow(diagonal, now.h, furthest);
        const int least = other.least(s);
        const bool meets = met && abs(2 * s - (int)part.known) <= DEEPEST + 1;
        int* const states[] = {now.h, now.i1, now.d1, now.i2, now.d2};
#pragma unroll
        for (int state = 0; state < STATES; state++) {
          int& h = states[state][0];
          if ((unsigned)h > (unsigned)m || (unsigned)(h - k) > (unsigned)n || 2 * h - k < least) h = NONE;
          const int row = s - first_met(state, (int)part.known);
          if (meets && (unsigned)row < (unsigned)rows_of(state)) {
            Offset* const to = met + (first_row(state) + row) * STRIDE;
            to[thread] = h;
            to[BIDIRECTIONAL_COLUMNS] = base;
          }
        }
        column.keep(now);
      }
      column.next();
    }
    bool live = false;
    for (int row = 0; row < ROWS; row++) live |= column.at[row * STRIDE] >= 0;
    const int most = __reduce_max_sync(0xffffffffu, furthest[0] < 0 ? -1 : 2 * furthest[0] - k);
    if (first == 0 && thread == 0) bounds[2] = -1;
    held = held_by(live ? k : 1 << 30, live ? k : -(1 << 30), bounds);
    if ((thread & 31) == 0) atomicMax(bounds + 2, most);
    __syncthreads();
    if (thread == 0 && far) far[first / GRAIN] = bounds[2];
    if (held.low > held.high) break;
  }
  return true;
}

// A thread: the best meeting on its column of forward's rows, and forward's column there.
__device__ inline unsigned long long meet_narrow(const Part& part, const Offset* ahead, const Offset* behind, int* column) {
  const int n = (int)part.n, m = (int)part.m, known = (int)part.known, thread = threadIdx.x;
  unsigned long long best = NO_KEY;
  for (int state = 0; state < STATES; state++) {
    const int open = opening(state), lowest = first_met(state, known);
    for (int row = 0; row < rows_of(state); row++) {
      const int f = lowest + row, r = known + open - f, back_row = r - lowest;
      if (f < 0 || r < 0 || (unsigned)back_row >= (unsigned)rows_of(state)) continue;
      const Offset* const from = ahead + (first_row(state) + row) * STRIDE;
      const Offset* const back_from = behind + (first_row(state) + back_row) * STRIDE;
      const int h = from[thread];
      if (h < 0) continue;
      const int k = diagonal_of(thread, from[BIDIRECTIONAL_COLUMNS]), back_k = m - n - k, back_column = back_k & (BIDIRECTIONAL_COLUMNS - 1);
      const int back_h = back_from[back_column];
      if (back_h < 0 || h + back_h < m || diagonal_of(back_column, back_from[BIDIRECTIONAL_COLUMNS]) != back_k) continue;
      const unsigned long long key = key_of(known, abs(f - r) + open, f <= r, state, k + n);
      if (key < best) best = key, *column = h;
    }
  }
  return best;
}
