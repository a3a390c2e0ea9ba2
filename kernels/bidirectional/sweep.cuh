// Sweeps: wavefronts of many parts and of both directions, BIDIRECTIONAL_STEPS penalties a launch.
//
// A block owns some diagonals of one direction of one part and computes so many more on both sides as those can depend on meanwhile: no block waits for
// another.
#pragma once
#include "bidirectional/column.cuh"

constexpr int EACH = BIDIRECTIONAL_EACH;
constexpr int DIRECTIONS = BIDIRECTIONAL_FREE ? 1 : 2;
// Rows of a state in memory, of each direction: enough to go on from, and to hold every new one against the other direction's.
__device__ constexpr int ring_of(int state) {
  return state == M ? DEEPEST + BIDIRECTIONAL_STEPS : state <= D1 ? WAVEFRONT_E1 + BIDIRECTIONAL_STEPS : WAVEFRONT_E2 + BIDIRECTIONAL_STEPS;
}
__device__ constexpr int first_of_ring(int state) {
  int before = 0;
  for (int other = 0; other < state; other++) before += ring_of(other);
  return before;
}
constexpr int RING = first_of_ring(STATES);

// The rows of a direction in memory, from a diagonal on.
struct Rows {
  char* at;
  unsigned bytes;  // of a row

  __device__ Rows from(int k) const { return {at + k * (long long)sizeof(Offset), bytes}; }
  __device__ Offset& cell(unsigned row) const { return *reinterpret_cast<Offset*>(at + (unsigned long long)row * bytes); }
  __device__ Offset& cell(int state, unsigned s) const {
    unsigned row = s % ring_of(M);
    if (WAVEFRONT_PIECES >= 1 && state != M) row = first_of_ring(I1) + (state - I1) * ring_of(I1) + s % ring_of(I1);
    if (WAVEFRONT_PIECES == 2 && state >= I2) row = first_of_ring(I2) + (state - I2) * ring_of(I2) + s % ring_of(I2);
    return cell(row);
  }
};

__device__ inline Rows rows_in(const Part& part, int direction, Offset* rows) {
  return {reinterpret_cast<char*>(rows + part.place + direction * RING * part.width + part.centre), (unsigned)part.width * (unsigned)sizeof(Offset)};
}

// Sweeps whose rows the first of a sweep is made from.
constexpr int SWEEPS_BEFORE = (DEEPEST + BIDIRECTIONAL_STEPS - 1) / BIDIRECTIONAL_STEPS;

// Which of a thread's diagonals something holds for.
struct Mask {
  bool of[EACH];
};

// Brings the rows of a state that a sweep is made from on chip, `at` in the first row there. within: of which sweeps before there is a diagonal.
template <int STATE>
__device__ inline void load(const Rows& rows, Offset* at, int first_step, const Mask (&within)[SWEEPS_BEFORE]) {
  constexpr int ON_CHIP = rows_of(STATE), IN_MEMORY = ring_of(STATE), FIRST = first_row(STATE), FIRST_IN_MEMORY = first_of_ring(STATE);
  unsigned row = (unsigned)(first_step + IN_MEMORY - ON_CHIP + 1) % IN_MEMORY;
#pragma unroll
  for (int before = ON_CHIP - 1; before > 0; before--) {
    const Offset* const from = &rows.cell(FIRST_IN_MEMORY + row);
    Offset* const to = at + (FIRST + ON_CHIP - 1 - before) * STRIDE;
#pragma unroll
    for (int j = 0; j < EACH; j++) to[j * APART] = within[(before - 1) / BIDIRECTIONAL_STEPS].of[j] ? from[j * APART] : NONE;
    row = row == IN_MEMORY - 1 ? 0 : row + 1;
  }
}

// Keeps what the next sweep is made from, of rows before `kept` of own diagonals.
template <int STATE>
__device__ inline void store(const Rows& rows, const Offset* at, int first_step, int kept, const Mask& own) {
  constexpr int ON_CHIP = rows_of(STATE), IN_MEMORY = ring_of(STATE), FIRST = first_row(STATE), FIRST_IN_MEMORY = first_of_ring(STATE);
  constexpr int OLDEST = max2(BIDIRECTIONAL_STEPS - ON_CHIP + 1, 0);
  unsigned row = (unsigned)(first_step + OLDEST) % IN_MEMORY;
#pragma unroll
  for (int t = OLDEST; t < BIDIRECTIONAL_STEPS && first_step + t < kept; t++) {
    const Offset* const from = at + (FIRST + (ON_CHIP - 1 + t) % ON_CHIP) * STRIDE;
    Offset* const to = &rows.cell(FIRST_IN_MEMORY + row);
#pragma unroll
    for (int j = 0; j < EACH; j++)
      if (own.of[j]) to[j * APART] = from[j * APART];
    row = row == IN_MEMORY - 1 ? 0 : row + 1;
  }
}

// Brings all rows that a sweep is made from on chip, of the diagonals k, k + APART, ...
__device__ inline void load_rows(const Frame& frame, const Rows& rows, Offset* at, int k, int first_step) {
  Mask within[SWEEPS_BEFORE];
#pragma unroll
  for (int before = 0; before < SWEEPS_BEFORE; before++) {
    const int last = first_step - before * BIDIRECTIONAL_STEPS - 1;
    const Diagonals held = frame.reached(max(last, 0));  // all rows of a sweep are as wide as its last
#pragma unroll
    for (int j = 0; j < EACH; j++) within[before].of[j] = last >= 0 && k + j * APART >= held.low && k + j * APART <= held.high;
  }
  load<M>(rows, at, first_step, within);
  if constexpr (WAVEFRONT_PIECES >= 1) load<I1>(rows, at, first_step, within), load<D1>(rows, at, first_step, within);
  if constexpr (WAVEFRONT_PIECES == 2) load<I2>(rows, at, first_step, within), load<D2>(rows, at, first_step, within);
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
  const int k = own_low - HALO + (int)threadIdx.x;
  const Rows rows = rows_in(part, direction, memory).from(k);
  Mask own;
#pragma unroll
  for (int j = 0; j < EACH; j++) own.of[j] = k + j * APART >= own_low && k + j * APART <= own_high;
  // This thread's columns of the first row.
  Offset* const at = cells + 1 + threadIdx.x;
  for (int row = threadIdx.x; row < 2 * ROWS; row += APART) cells[(row >> 1) * STRIDE + (row & 1) * (STRIDE - 1)] = NONE;
  load_rows(frame, rows, at, k, first_step);
  Columns<EACH> columns(at, -1, 1);
  const Diagonal diagonal(part, direction, k, words, masks);
  // The first row that may be met: from it on all are kept.
  const int known = (int)part.known, end = first_step + BIDIRECTIONAL_STEPS;
  const int kept = BIDIRECTIONAL_FREE ? end : known >= 0 ? (known - DEEPEST + 1) / 2 : all_rows ? first_step : end;
  far += part.far[direction];
  const int slots = (int)part.slots[direction];
  int most = threadIdx.x == 0 && first_step > 0 && first_step / GRAIN <= slots ? far[first_step / GRAIN - 1] : -1;
  Offset furthest[EACH];
  for (Offset& column : furthest) column = NONE;
  const auto add = [&](int s, Cells<EACH>& made) {
    follow(diagonal, made.h, furthest);
    columns.keep(made);
    columns.next();
    if (BIDIRECTIONAL_FREE)
      for (int j = 0; j < EACH; j++)
        if (own.of[j] && k + j * APART >= part.goal_low && k + j * APART <= part.goal_high && made.h[j] >= diagonal.right(j * APART).last())
          atomicMin(key, (unsigned long long)s << TOTAL_AT | (unsigned)(k + j * APART + frame.n));
    if (s >= kept)
      for (int j = 0; j < EACH; j++)
        if (own.of[j]) {
          (&rows.cell(M, s))[j * APART] = made.h[j];
          if (WAVEFRONT_PIECES >= 1) (&rows.cell(I1, s))[j * APART] = made.i1[j], (&rows.cell(D1, s))[j * APART] = made.d1[j];
          if (WAVEFRONT_PIECES == 2) (&rows.cell(I2, s))[j * APART] = made.i2[j], (&rows.cell(D2, s))[j * APART] = made.d2[j];
        }
  };
  if (first_step == 0) {
    Cells<EACH> made;
    made.begin(frame, k);
    __syncthreads();
    add(0, made);
  }
  for (int slot = first_step / GRAIN; slot < end / GRAIN; slot++) {
    for (int s = max(slot * GRAIN, 1); s < (slot + 1) * GRAIN; s++) {
      __syncthreads();
      Cells<EACH> made;
      columns.make(made);
      add(s, made);
    }
    if (slot < slots) {
      for (int j = 0; j < EACH; j++)
        if (furthest[j] >= 0) most = max(most, 2 * furthest[j] - k - j * APART);
      const int of_warp = __reduce_max_sync(0xffffffffu, most);
      if ((threadIdx.x & 31) == 0) atomicMax(far + slot, of_warp);
    }
  }
  store<M>(rows, at, first_step, kept, own);
  if constexpr (WAVEFRONT_PIECES >= 1) store<I1>(rows, at, first_step, kept, own), store<D1>(rows, at, first_step, kept, own);
  if constexpr (WAVEFRONT_PIECES == 2) store<I2>(rows, at, first_step, kept, own), store<D2>(rows, at, first_step, kept, own);
}

// A column that no cell of a diagonal is beyond, `most` at most: rows that are not kept may hold anything.
__device__ inline int furthest_of(const Rows& rows, int most) {
  int furthest = NONE;
#pragma unroll 8
  for (int row = 0; row < RING; row++) furthest = max(furthest, rows.cell(row));
  return min(furthest, most);
}

// A thread: the best meeting on diagonals `from`, `from` + `apart`, ... of the sweep that began at `first_step`, if better than `best`; its column in *h.
__device__ inline unsigned long long meet(const Part& part, int first_step, int from, int apart, Offset* memory, unsigned long long best, int* column) {
  const Frame forward = frame_of(part, 0), backward = frame_of(part, 1);
  const Rows all = rows_in(part, 0, memory), all_back = rows_in(part, 1, memory);
  const int n = forward.n, m = forward.m, known = (int)part.known;
  const int last = first_step + BIDIRECTIONAL_STEPS - 1;
  const Diagonals ahead = forward.reached(last), behind = backward.reached(last);
  for (int k = max(ahead.low, m - n - behind.high) + from; k <= min(ahead.high, m - n - behind.low); k += apart) {
    const int back_k = m - n - k;
    const Rows rows = all.from(k), back_rows = all_back.from(back_k);
    if (furthest_of(rows, m) + furthest_of(back_rows, m) < m) continue;
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
            const int h = rows.cell(state, f), back_h = back_rows.cell(state, b);
            // Cells of gap states may lie outside the matrix.
            if (h + back_h >= m && h >= 0 && h <= m && h - k >= 0 && h - k <= n && back_h >= 0 && back_h <= m && back_h - back_k >= 0 &&
                back_h - back_k <= n)
              best = key, *column = h;
          }
        }
  }
  return best;
}
