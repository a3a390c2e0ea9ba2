// Sweeps: wavefronts of many parts and of both directions, BIDIRECTIONAL_STEPS penalties a launch.
//
// A block owns some diagonals of one direction of one part and computes so many more on both sides as those can depend on meanwhile: no block waits for
// another.
#pragma once
#include "bidirectional/column.cuh"

constexpr int DIRECTIONS = BIDIRECTIONAL_FREE ? 1 : 2;
// Rows in memory, of each direction: enough to go on from, and to hold every new one against the other direction's.
constexpr int M_RING = DEEPEST + BIDIRECTIONAL_STEPS;
constexpr int GAP1_RING = WAVEFRONT_PIECES >= 1 ? WAVEFRONT_E1 + BIDIRECTIONAL_STEPS : 0;
constexpr int GAP2_RING = WAVEFRONT_PIECES == 2 ? WAVEFRONT_E2 + BIDIRECTIONAL_STEPS : 0;
constexpr int RING = M_RING + 2 * GAP1_RING + 2 * GAP2_RING;

// The rows of a direction in memory.
struct Rows {
  Offset* at;  // diagonal 0 of the first
  int width;

  __device__ Offset& cell(int state, int s, int k) const {
    int row = s % M_RING;
    if (WAVEFRONT_PIECES >= 1 && state != M) row = M_RING + (state - I1) * GAP1_RING + s % max2(GAP1_RING, 1);
    if (WAVEFRONT_PIECES == 2 && state >= I2) row = M_RING + 2 * GAP1_RING + (state - I2) * GAP2_RING + s % max2(GAP2_RING, 1);
    return at[row * (long long)width + k];
  }
};

__device__ inline Rows rows_in(const Part& part, int direction, Offset* rows) {
  return {rows + part.place + direction * RING * part.width + part.centre, (int)part.width};
}

// What of a part's rows is kept: all that may be met; of an unknown penalty no more than the next sweep reads until the directions have come near each
// other; all of them, made again, of the sweep in which they have.
enum Keep { ALL = 0, LAST = 1, AGAIN = 2 };

// Whether cells of the two directions may meet up to `slot`.
__device__ inline bool near(const Part& part, const int* far, int slot) {
  return slot >= 0 && (slot >= min(part.slots[0], part.slots[1]) || far[part.far[0] + slot] + far[part.far[1] + slot] >= part.n + part.m);
}

__device__ inline void sweep(const Part& part, int direction, int tile, int first_step, bool all_rows, const unsigned* words, const unsigned* masks,
                             Offset* memory, int* far, unsigned long long* key, Offset* cells) {
  const Frame frame = frame_of(part, direction);
  const Diagonals all = frame.reached(first_step + BIDIRECTIONAL_STEPS - 1);
  const int own_low = all.low + tile * OWN, own_high = min(own_low + OWN - 1, all.high);
  if (own_low > own_high) return;
  const int n = frame.n, m = frame.m;
  const int k = own_low - HALO + (int)threadIdx.x;
  const bool own = k >= own_low && k <= own_high;
  const int goal_low = (int)part.goal_low, goal_high = (int)part.goal_high;
  const Rows rows = rows_in(part, direction, memory);
  const Letters letters(part, direction, words, masks);

  // This thread's column of the first row.
  Offset* const at = cells + 1 + threadIdx.x;
  for (int row = threadIdx.x; row < 2 * ROWS; row += BIDIRECTIONAL_COLUMNS) cells[(row >> 1) * STRIDE + (row & 1) * (STRIDE - 1)] = NONE;
  for (int state = 0; state < STATES; state++)
    for (int back = 0; back < rows_of(state); back++) {  // 0: the row to be made, empty yet
      const int s = first_step - back;
      Offset h = NONE;
      if (back > 0 && s >= 0) {
        const Diagonals held = frame.reached(s);
        if (k >= held.low && k <= held.high) h = rows.cell(state, s, k);
      }
      at[(first_row(state) + (s + rows_of(state)) % rows_of(state)) * STRIDE] = h;
    }
  Column column(at, -1, 1, first_step);
  // The first row that may be met.
  const int known = (int)part.known, middle = max((known - DEEPEST + 1) / 2 - first_step, 0);
  const int met = BIDIRECTIONAL_FREE ? BIDIRECTIONAL_STEPS : known >= 0 ? middle : all_rows ? 0 : BIDIRECTIONAL_STEPS;
  far += part.far[direction];
  int furthest = threadIdx.x == 0 && first_step > 0 && first_step / GRAIN <= part.slots[direction] ? far[first_step / GRAIN - 1] : -1;
  for (int t = 0; t < BIDIRECTIONAL_STEPS; t++) {
    const int s = first_step + t;
    __syncthreads();
    const Diagonals here = frame.reached(s);
    if (k >= here.low && k <= here.high) {
      Cells now;
      if (s == 0)
        now.begin(frame, k);
      else
        column.make(now);
      now.h = letters.follow(k, now.h, n, m, furthest);
      column.keep(now);
      if (BIDIRECTIONAL_FREE && own && k >= goal_low && k <= goal_high && now.h >= min(m, n + k))
        atomicMin(key, (unsigned long long)s << TOTAL_AT | (unsigned)(k + n));
      if (own) {
        const bool meets = t >= met, last = t >= BIDIRECTIONAL_STEPS - DEEPEST;  // the next sweep reads the last rows
        if (meets || last) rows.cell(M, s, k) = now.h;
        if (WAVEFRONT_PIECES >= 1 && (meets || t >= BIDIRECTIONAL_STEPS - WAVEFRONT_E1)) rows.cell(I1, s, k) = now.i1, rows.cell(D1, s, k) = now.d1;
        if (WAVEFRONT_PIECES == 2 && (meets || t >= BIDIRECTIONAL_STEPS - WAVEFRONT_E2)) rows.cell(I2, s, k) = now.i2, rows.cell(D2, s, k) = now.d2;
      }
    }
    column.next();
    const int slot = s / GRAIN;
    if ((t + 1) % GRAIN == 0 && slot < part.slots[direction]) {
      const int most = __reduce_max_sync(0xffffffffu, furthest);
      if ((threadIdx.x & 31) == 0) atomicMax(far + slot, most);
    }
  }
}

// A thread: the best meeting on diagonals `from`, `from` + `apart`, ... of the sweep that began at `first_step`, if better than `best`; its column in *h.
__device__ inline unsigned long long meet(const Part& part, int first_step, int from, int apart, Offset* memory, unsigned long long best, int* column) {
  const Frame forward = frame_of(part, 0), backward = frame_of(part, 1);
  const Rows rows = rows_in(part, 0, memory), back_rows = rows_in(part, 1, memory);
  const int n = forward.n, m = forward.m, known = (int)part.known;
  const int last = first_step + BIDIRECTIONAL_STEPS - 1;
  const Diagonals ahead = forward.reached(last), behind = backward.reached(last);
  for (int k = max(ahead.low, m - n - behind.high) + from; k <= min(ahead.high, m - n - behind.low); k += apart) {
    const int back_k = m - n - k;
    for (int s = first_step; s <= last; s++)
      for (int made = 0; made < 2; made++)  // 0: forward's wavefront s with backward's s - 1 and older; 1: backward's with forward's s and older
        for (int state = 0; state < STATES; state++) {
          const int open = opening(state);
          int newest = made == 0 ? 1 : 0, oldest = min(state == M ? DEEPEST : extension(state), s);
          if (known >= 0) newest = max(newest, 2 * s - open - known), oldest = min(oldest, 2 * s - open - known);
          for (int back = newest; back <= oldest; back++) {
            const int total = 2 * s - back - open;
            if (total < 0) continue;
            const unsigned long long key = key_of(total, back + open, made, state, k + n);
            if (key >= best) continue;
            const int f = made == 0 ? s : s - back, b = made == 0 ? s - back : s;
            const Diagonals held = forward.reached(f), back_held = backward.reached(b);
            if (k < held.low || k > held.high || back_k < back_held.low || back_k > back_held.high) continue;
            const int h = rows.cell(state, f, k), back_h = back_rows.cell(state, b, back_k);
            // Cells of gap states may lie outside the matrix.
            if (h + back_h >= m && h >= 0 && h <= m && h - k >= 0 && h - k <= n && back_h >= 0 && back_h <= m && back_h - back_k >= 0 &&
                back_h - back_k <= n)
              best = key, *column = h;
          }
        }
  }
  return best;
}
