// Rows of a y-drop sweep in order, LASTZ's rule to the cell (LASTZ.md 10): a team of WARPS warps holds a window of columns in registers, COLUMNS neighbouring
// ones a thread.
//
// A row takes two passes. The first forms diagonal values and what gap along the row each thread sends on: a maximum of opened gaps, each raised by what
// later columns will have paid (a plain prefix maximum over the team). The second settles cells. The line below which cells are dead rises within a row only
// where a cell reaches the best value: then the columns right of it are held to the higher line by a prefix maximum.
#pragma once
#include "extension/cells.cuh"
#include "extension/team.cuh"

#define EXTENSION_SPARE (EXTENSION_YDROP / EXTENSION_EXTENDED + 6)

enum Outcome { ALIVE, ENDED, WIDER, CUT };

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

// live: shared memory of the team, the live row's words at the start (unless it is row 0) and, where the outcome is ALIVE, those of the row after the last.
// ranges: columns looked at in every row. trace: 4 bits a cell, rows of the window's width; null but for TRACE.
template <int WARPS, int COLUMNS, bool TRACE>
__device__ __forceinline__ Swept sweep_rows(const Start& start, const Genome& genome, const int* scores, Board& board, unsigned* live, int2* ranges,
                                            unsigned* trace) {
  constexpr int WINDOW = 32 * WARPS * COLUMNS;
  constexpr bool KEPT = COLUMNS < 32;
  static_assert(ROWS <= 64, "a lane holds two letters of the target");
  const int opened = EXTENSION_OPENED, extended = EXTENSION_EXTENDED, ydrop = EXTENSION_YDROP;
  // Columns beyond a best cell that a gap from there keeps above its line.
  const int reach = ydrop < opened ? 0 : (ydrop - opened) / extended + 1;
  const int lane = threadIdx.x & 31, warp = WARPS == 1 ? 0 : threadIdx.x >> 5, x0 = team_rank<WARPS>() * COLUMNS;
  const int ramp = x0 * extended;
  const bool edge = WINDOW > start.columns;
  const int columns_inside = min(max(start.columns + 1 - x0, 0), COLUMNS);
  const unsigned inside = columns_inside ? ~0u << (32 - columns_inside) >> (32 - COLUMNS) : 0;
  const Genome f = genome;
#ifdef EXTENSION_SPILLED  // what registers are worth (tests/benchmarks)
  volatile int C[COLUMNS], D[COLUMNS];
#else
  int C[COLUMNS], D[COLUMNS];
#endif
  unsigned letters[COLUMNS / 4];  // of 4 columns: selectors of their scores' bytes where those fit
  const int letter_1 = lane < start.rows ? f.target[start.target + (Wide)start.onward * lane] : 0;
  const int letter_2 = lane + 32 < start.rows ? f.target[start.target + (Wide)start.onward * (lane + 32)] : 0;
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
    if (x > 0 && x <= start.columns) letter = f.query[start.query + (Wide)start.onward * x];
    if (k % 4 == 0) letters[k / 4] = 0;
    letters[k / 4] |= letter << (EXTENSION_GENERAL ? 8 : 4) * (k % 4);
  }
  Swept swept = {ALIVE, 0, ydrop, 0, 0, start.width, 0, 0, start.width, 0, 0, 0};
  int best = ydrop, first = 0, end = start.width, cells = 0, range_first = 0, range_end = 0, turn_of_edges = 0, r = 1;
  int kind = __shfl_sync(TEAM, letter_1, 0);
  if (WARPS > 1 && lane == 31) board.edge[0][warp] = C[COLUMNS - 1];
  team_sync<WARPS>();
#if !EXTENSION_GENERAL
  unsigned low_scores = scores[2 * kind], high_scores = scores[2 * kind + 1];
#endif
  for (; r <= start.rows; r++) {
    if (cells + (end - first) + EXTENSION_SPARE >= start.room) {
      swept.outcome = CUT;
      break;
    }
    const int turn = (r - 1) & 31, next_kind = __shfl_sync(TEAM, r < 32 ? letter_1 : letter_2, r & 31);
    int diagonal = __shfl_up_sync(TEAM, C[COLUMNS - 1], 1);
    if (lane == 0) diagonal = WARPS > 1 && warp > 0 ? board.edge[turn_of_edges][warp - 1] : DEAD;
    int across = DEAD, opened_before[COLUMNS];  // best gap opened in the thread's columns before each; found again where registers are short
#pragma unroll
    for (int k = 0; k < COLUMNS; k++) {
      const int before = C[k];
      if (KEPT) opened_before[k] = across;
#if EXTENSION_GENERAL
      C[k] = diagonal + scores[64 * kind + (letters[k / 4] >> 8 * (k % 4) & 255)];
#else
      C[k] = add_byte(__byte_perm(low_scores, high_scores, letters[k / 4]), k % 4, diagonal);
#endif
      diagonal = before;
      if (C[k] >= D[k]) across = add_max(C[k], extended * (k + 1) - opened, across);
    }
    kind = next_kind;
#if !EXTENSION_GENERAL
    low_scores = scores[2 * kind], high_scores = scores[2 * kind + 1];
#endif
    const int inclusive = prefix_max(across + ramp);
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
    int most = DEAD, dead = 0;
    unsigned gaps = 0, gaps_across = 0, opened_across = 0, opened_down = 0, pairs = 0;
#pragma unroll
    for (int k = 0; k < COLUMNS; k++) {
      const int pair = C[k], along = f.one * (-extended * k) + (KEPT ? max(across, opened_before[k]) : across), value = max_of(pair, D[k], along);
      const bool is_pair = pair == value;
      if (TRACE) {
        const int open = f.one * (extended - opened) + pair;
        gaps = add_sign(gaps, f.one * pair - value);
        gaps_across = add_sign(gaps_across, f.one * D[k] - along);
        opened_across = add_sign(opened_across, f.one * along - open);
        opened_down = add_sign(opened_down, f.one * D[k] - open);
      }
      D[k] = f.one * -extended + D[k];
      if (is_pair) {
        D[k] = add_max(pair, -opened, D[k]);
        if (!KEPT) across = add_max(pair, extended * (k + 1) - opened, across);
        if (!EXTENSION_TRIM) pairs |= 1u << k;
      }
      most = k % 2 ? max_of(most, C[k - 1], value) : most;
      if (k % 2) C[k - 1] = mark_dead(C[k - 1], line, f, dead);
      C[k] = k % 2 ? mark_dead(value, line, f, dead) : value;
    }
    if (TRACE) {
      // Beyond the reach of the row before: only gaps along the row lead there, and new ones may leave.
      const int reach = min(max(end - x0, 0), COLUMNS);
      const unsigned beyond = reach < COLUMNS ? ~0u >> (32 - COLUMNS + reach) : 0;
      const unsigned open = ~gaps;
      write_cells<COLUMNS>(trace + (Wide)(r - 1) * (WINDOW / 8) + x0 / 8, gaps | beyond, gaps_across | beyond, (opened_across & open) | beyond,
                           (opened_down & open) | beyond);
    }
    if (edge) {
      most = DEAD;
#pragma unroll
      for (int k = 0; k < COLUMNS; k++) {
        if (x0 + k > start.columns) C[k] = DEAD;
        most = max(most, C[k]);
      }
    }
    const int top = __reduce_max_sync(TEAM, most);
    int highest = top, low, last;
    alive_bounds<COLUMNS>(dead, inside, x0, low, last);
    if (WARPS > 1) {
      if (lane == 31) board.edge[0][warp] = C[COLUMNS - 1];
      if (lane == 0) board.top[warp] = top, board.low[0][warp] = low, board.last[0][warp] = last;
      __syncthreads();
#pragma unroll
      for (int w = 0; w < WARPS; w++) highest = max(highest, board.top[w]), low = min(low, board.low[0][w]), last = max(last, board.last[0][w]);
      turn_of_edges = 0;
    }
    if (highest >= best) {
      // A new best: the columns beyond it are held to a higher line.
      int before = best;
      if (WARPS > 1)
#pragma unroll
        for (int w = 0; w < WARPS - 1; w++)
          if (w < warp) before = max(before, board.top[w]);
      const unsigned sources = __ballot_sync(TEAM, most >= before);
      int column = -1;
      if (most == highest) {
        unsigned lower = 0;
#pragma unroll
        for (int k = 0; k < COLUMNS; k++) lower = add_sign(lower, C[k] - highest);
        column = x0 + COLUMNS - __ffs(~lower & inside);
      }
      column = __reduce_max_sync(TEAM, column);
      const bool alone = (sources & (sources - 1)) == 0;
      if (WARPS > 1 || !alone || COLUMNS > reach || last - column > reach) {
        if (!alone) {
          const int scanned = __shfl_up_sync(TEAM, prefix_max(most), 1);
          if (lane > 0) before = max(before, scanned);
        } else if (sources && lane >= __ffs(sources)) {
          before = top;
        }
        dead = 0;
#pragma unroll
        for (int k = 0; k < COLUMNS; k++) {
          const int value = C[k];
          C[k] = mark_dead(value, before - ydrop, f, dead);
          if (COLUMNS > reach) before = max(before, value);
        }
        alive_bounds<COLUMNS>(dead, inside, x0, low, last);
      }
      if (WARPS > 1) {
        if (lane == 31) board.edge[1][warp] = C[COLUMNS - 1];
        if (lane == 0) board.column[warp] = column, board.low[1][warp] = low, board.last[1][warp] = last;
        __syncthreads();
#pragma unroll
        for (int w = 0; w < WARPS; w++) column = max(column, board.column[w]), low = min(low, board.low[1][w]), last = max(last, board.last[1][w]);
        turn_of_edges = 1;
      }
      best = highest;
      swept.best_row = r;
      swept.best_column = column;
    }
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
      const unsigned c = C[k] < 0 ? 0 : C[k] - floor + EXTENSION_BIAS, d = D[k] < floor ? 0 : D[k] - floor + EXTENSION_BIAS;
      if (x >= first && x < end) live[x - first] = c | d << 16;
    }
    team_sync<WARPS>();
  }
  return swept;
}
