// Rows of a y-drop sweep in order, LASTZ's rule to the cell: a team of WARPS warps holds a window of columns in registers, COLUMNS neighbouring ones a thread.
//
// A row takes two passes. The first forms diagonal values and what gap along the row each thread sends on: a maximum of opened gaps, each raised by what
// later columns will have paid (a plain prefix maximum over the team). The second settles cells. The line below which cells are dead rises within a row only
// where a cell reaches the best value: then the columns right of it are held to the higher line by a prefix maximum.
#pragma once
#include "extension_record.cuh"

constexpr int DEAD = -(1 << 29);
constexpr unsigned TEAM = 0xFFFFFFFFu;
constexpr int MOST_WARPS = 8;
#define EXTENSION_SPARE (EXTENSION_YDROP / EXTENSION_EXTENDED + 6)

enum Outcome { ALIVE, ENDED, WIDER, CUT };

__device__ __forceinline__ int add_max(int a, int b, int c) {
#if __CUDA_ARCH__ >= 900 && !defined(EXTENSION_PLAIN)
  return __viaddmax_s32(a, b, c);
#else
  return max(a + b, c);
#endif
}

__device__ __forceinline__ int max_of(int a, int b, int c) {
#if __CUDA_ARCH__ >= 900 && !defined(EXTENSION_PLAIN)
  return __vimax3_s32(a, b, c);
#else
  return max(max(a, b), c);
#endif
}

// One of four signed bytes, added.
__device__ __forceinline__ int add_byte(int bytes, int which, int sum) {
#ifdef __CUDACC__
  return __dp4a(bytes, 1 << 8 * which, sum);
#else
  return sum + (signed char)(bytes >> 8 * which);
#endif
}

struct Genome {
  const unsigned char *target, *query;  // classes of letters that score alike
  Wide query_length;
  const int* scores;  // of a class of target letters against those of the query: 8 bytes a class, or EXTENSION_GENERAL: 64 int32
};

// What warps of a team tell each other.
struct Board {
  int total[MOST_WARPS], edge[MOST_WARPS], top[MOST_WARPS], low[MOST_WARPS], last[MOST_WARPS], column[MOST_WARPS];
};

struct Start {
  Wide target, query;
  int onward, rows, columns, width, fresh;
  int room;        // cells that may yet be looked at
  bool last_rows;  // the last of `rows` is the last row of all
};

struct Swept {
  Outcome outcome;
  int rows, best, best_row, best_column, widest, cells, first, end, border, border_row, border_column;
};

template <int WARPS>
__device__ __forceinline__ void team_sync() {
  if (WARPS == 1)
    __syncwarp();
  else
    __syncthreads();
}

template <int WARPS>
__device__ __forceinline__ int team_rank() {
  return WARPS == 1 ? threadIdx.x & 31 : threadIdx.x;
}

__device__ __forceinline__ int prefix_max(int value, int lane) {
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const int other = __shfl_up_sync(TEAM, value, step);
    if (lane >= step) value = max(value, other);
  }
  return value;
}

// live: shared memory of the team, the live row's words at the start (unless it is row 0) and, where the outcome is ALIVE, those of the row after the last.
// ranges: columns looked at in every row. trace: 4 bits a cell, rows of the window's width; null but for TRACE.
template <int WARPS, int COLUMNS, bool TRACE>
__device__ __forceinline__ Swept sweep_rows(const Start& start, const Genome& genome, const int* scores, Board& board, unsigned* live, int2* ranges, unsigned* trace) {
  constexpr int WINDOW = 32 * WARPS * COLUMNS;
  const int opened = EXTENSION_OPENED, extended = EXTENSION_EXTENDED, ydrop = EXTENSION_YDROP;
  const int lane = threadIdx.x & 31, warp = WARPS == 1 ? 0 : threadIdx.x >> 5, x0 = (WARPS == 1 ? lane : (int)threadIdx.x) * COLUMNS;
  const int ramp = x0 * extended;
  const bool edge = WINDOW > start.columns;
  int C[COLUMNS], D[COLUMNS];
  unsigned letters[COLUMNS / 4];  // of 4 columns; selectors of their scores' bytes where those fit
#pragma unroll
  for (int k = 0; k < COLUMNS; k++) {
    const int x = x0 + k;
    C[k] = D[k] = DEAD;
    if (x < start.width) {
      if (start.fresh) {
        const int value = x ? ydrop - (opened - extended) - x * extended : ydrop;
        if (value >= 0) C[k] = value, D[k] = value - opened;
      } else {
        const unsigned word = live[x];
        if (word & 0xFFFF) C[k] = (int)(word & 0xFFFF) - EXTENSION_BIAS;
        if (word >> 16) D[k] = (int)(word >> 16) - EXTENSION_BIAS;
      }
    }
    unsigned letter = 0;
    if (x > 0 && x <= start.columns) letter = genome.query[start.query + (Wide)start.onward * x];
    if (k % 4 == 0) letters[k / 4] = 0;
    letters[k / 4] |= letter << (EXTENSION_GENERAL ? 8 : 4) * (k % 4);
  }
  Swept swept = {ALIVE, 0, ydrop, 0, 0, start.width, 0, 0, start.width, 0, 0, 0};
  int best = ydrop, first = 0, end = start.width, cells = 0, letter = 0, range_first = 0, range_end = 0, r = 1;
  if (WARPS > 1 && lane == 31) board.edge[warp] = C[COLUMNS - 1];
  team_sync<WARPS>();
  for (; r <= start.rows; r++) {
    if (cells + (end - first) + EXTENSION_SPARE >= start.room) {
      swept.outcome = CUT;
      break;
    }
    const int turn = (r - 1) & 31;
    if (turn == 0) letter = r - 1 + lane < start.rows ? genome.target[start.target + (Wide)start.onward * (r - 1 + lane)] : 0;
    const int kind = __shfl_sync(TEAM, letter, turn);
    int diagonal = __shfl_up_sync(TEAM, C[COLUMNS - 1], 1);
    if (lane == 0) diagonal = WARPS > 1 && warp > 0 ? board.edge[warp - 1] : DEAD;
#if !EXTENSION_GENERAL
    const unsigned low_scores = scores[2 * kind], high_scores = scores[2 * kind + 1];
#endif
    int across = DEAD;
#pragma unroll
    for (int k = 0; k < COLUMNS; k++) {
      const int before = C[k];
#if EXTENSION_GENERAL
      C[k] = diagonal + scores[64 * kind + (letters[k / 4] >> 8 * (k % 4) & 255)];
#else
      C[k] = add_byte(__byte_perm(low_scores, high_scores, letters[k / 4]), k % 4, diagonal);
#endif
      diagonal = before;
      if (C[k] >= D[k]) across = add_max(C[k], extended * (k + 1) - opened, across);
    }
    const int inclusive = prefix_max(across + ramp, lane);
    across = __shfl_up_sync(TEAM, inclusive, 1);
    if (lane == 0) across = DEAD;
    if (WARPS > 1) {
      if (lane == 31) board.total[warp] = inclusive;
      __syncthreads();
#pragma unroll
      for (int w = 0; w < WARPS - 1; w++)
        if (w < warp) across = max(across, board.total[w]);
    }
    across -= ramp;
    const int line = best - ydrop;
    int most = DEAD;
    unsigned nibbles[(COLUMNS + 7) / 8], pairs = 0;
#pragma unroll
    for (int k = 0; k < COLUMNS; k++) {
      const int pair = C[k], along = across - extended * k, value = max_of(pair, D[k], along);
      const bool is_pair = pair == value;
      if (TRACE) {
        if (k % 8 == 0) nibbles[k / 8] = 0;
        unsigned nibble = (is_pair ? 0 : 1) | (along > D[k] ? 2 : 0);
        if (is_pair) nibble |= (pair - opened > along - extended ? 4 : 0) | (pair - opened > D[k] - extended ? 8 : 0);
        nibbles[k / 8] |= (x0 + k >= end ? 15u : nibble) << 4 * (k % 8);
      }
      D[k] -= extended;
      if (is_pair) {
        D[k] = add_max(pair, -opened, D[k]);
        across = add_max(pair, extended * (k + 1) - opened, across);
        if (!EXTENSION_TRIM) pairs |= 1u << k;
      }
      most = max(most, value);
      C[k] = value >= line ? value : DEAD;
    }
    if (TRACE)
#pragma unroll
      for (int k = 0; k < COLUMNS / 8; k++) trace[(long long)(r - 1) * (WINDOW / 8) + x0 / 8 + k] = nibbles[k];
    if (edge) {
      most = DEAD;
#pragma unroll
      for (int k = 0; k < COLUMNS; k++) {
        if (x0 + k > start.columns) C[k] = DEAD;
        most = max(most, C[k]);
      }
    }
    int top = __reduce_max_sync(TEAM, most), before = best, highest = top;
    if (WARPS > 1) {
      if (lane == 0) board.top[warp] = top;
      __syncthreads();
#pragma unroll
      for (int w = 0; w < WARPS; w++) {
        const int other = board.top[w];
        highest = max(highest, other);
        if (w < warp) before = max(before, other);
      }
    }
    int column = -1;
    if (highest >= best) {
      // A new best: the columns beyond it are held to a higher line.
      const int scanned = prefix_max(most, lane), left = __shfl_up_sync(TEAM, scanned, 1);
      if (lane > 0) before = max(before, left);
      const bool holds = most == highest;
      most = DEAD;
#pragma unroll
      for (int k = 0; k < COLUMNS; k++) {
        if (C[k] < before - ydrop) C[k] = DEAD;
        before = max(before, C[k]);
        most = max(most, C[k]);
      }
      if (holds)
#pragma unroll
        for (int k = 0; k < COLUMNS; k++)
          if (C[k] == highest) column = x0 + k;
      const unsigned holders = __ballot_sync(TEAM, column >= 0);
      column = holders ? __shfl_sync(TEAM, column, 31 - __clz(holders)) : -1;
      best = highest;
    }
    const unsigned alive = __ballot_sync(TEAM, most >= line);
    int low = WINDOW, last = -1;
    if (alive) {
      const int head = __ffs(alive) - 1, tail = 31 - __clz(alive);
      if (lane == head || lane == tail) {
        unsigned mask = 0;
#pragma unroll
        for (int k = COLUMNS - 1; k >= 0; k--) mask = __funnelshift_l((unsigned)C[k], mask, 1);
        mask = ~mask & (COLUMNS == 32 ? TEAM : (1u << COLUMNS % 32) - 1);
        low = x0 + __ffs(mask) - 1;
        last = x0 + 31 - __clz(mask);
      }
      low = __shfl_sync(TEAM, low, head);
      last = __shfl_sync(TEAM, last, tail);
    }
    if (WARPS > 1) {
      if (lane == 31) board.edge[warp] = C[COLUMNS - 1];
      if (lane == 0) board.low[warp] = low, board.last[warp] = last, board.column[warp] = column;
      __syncthreads();
#pragma unroll
      for (int w = 0; w < WARPS; w++) low = min(low, board.low[w]), last = max(last, board.last[w]), column = max(column, board.column[w]);
    }
    if (column >= 0) swept.best_row = r, swept.best_column = column;
    int new_end = last + 1;
    if (last < 0) {
      new_end = end;
    } else if (last >= end) {
      // Beyond the reach of the row before only a gap leads along the row; another may be opened from it.
#pragma unroll
      for (int k = 0; k < COLUMNS; k++)
        if (x0 + k >= end && C[k] >= 0) D[k] = add_max(C[k], -opened, D[k]);
    }
    if (!EXTENSION_TRIM && last >= 0) {
      // Untrimmed ends: the best cell of the last row or column that a pair of letters leads to, the last of equals.
      const bool last_row = start.last_rows && r == start.rows;
      const int from = last_row ? low : start.columns;
      if (last >= from) {
        int value = DEAD, at = -1;
#pragma unroll
        for (int k = 0; k < COLUMNS; k++)
          if (x0 + k >= from && x0 + k < end && C[k] >= 0 && (pairs >> k & 1) && C[k] >= value) value = C[k], at = x0 + k;
        int found = __reduce_max_sync(TEAM, value);
        if (WARPS > 1) {
          __syncthreads();
          if (lane == 0) board.top[warp] = found;
          __syncthreads();
#pragma unroll
          for (int w = 0; w < WARPS; w++) found = max(found, board.top[w]);
        }
        if (found >= 0 && (swept.border_row == 0 || found - ydrop >= swept.border)) {
          int place = __reduce_max_sync(TEAM, value == found ? at : -1);
          if (WARPS > 1) {
            if (lane == 0) board.column[warp] = place;
            __syncthreads();
#pragma unroll
            for (int w = 0; w < WARPS; w++) place = max(place, board.column[w]);
          }
          swept.border = found - ydrop;
          swept.border_row = r;
          swept.border_column = place;
        }
        if (WARPS > 1) __syncthreads();
      }
    }
    cells += max(end, new_end) - first;
    if (last >= 0 && new_end <= start.columns) new_end++;
    if (new_end > WINDOW) {
      swept.outcome = WIDER;
      break;
    }
    swept.widest = max(swept.widest, max(end, new_end));
    if (lane == turn) range_first = first, range_end = max(end, new_end);
    if (ranges && turn == 31 && warp == 0) ranges[r - 32 + lane] = make_int2(range_first, range_end);
    if (last < 0) {
      swept.outcome = ENDED;
      r++;
      break;
    }
    first = low;
    end = new_end;
  }
  swept.rows = r - 1;
  if (ranges && warp == 0 && lane < (swept.rows & 31)) ranges[(swept.rows & ~31) + lane] = make_int2(range_first, range_end);
  swept.best = best;
  swept.cells = cells;
  swept.first = first;
  swept.end = end;
  if (swept.outcome == ALIVE && !TRACE) {
    const int floor = best - ydrop;
    team_sync<WARPS>();
#pragma unroll
    for (int k = 0; k < COLUMNS; k++) {
      const int x = x0 + k;
      const unsigned c = C[k] == DEAD ? 0 : C[k] - floor + EXTENSION_BIAS, d = D[k] < floor ? 0 : D[k] - floor + EXTENSION_BIAS;
      if (x >= first && x < end) live[x - first] = c | d << 16;
    }
    team_sync<WARPS>();
  }
  return swept;
}
