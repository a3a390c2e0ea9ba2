// One pair by wavefronts of which a heuristic keeps the promising diagonals, a warp a pair: the rules of kernels/wavefront/pruned.py and cuts.py.
//
// A row says on which diagonals it has cells, ends outside the matrix trimmed, and what is read elsewhere is NONE; so rows need no margin, whatever their
// widths.
#pragma once
#include "wavefront/wavefront.cuh"

// Set by the launcher:
//   WAVEFRONT_HEURISTIC   1 adaptive, 2 band, 3 adaptive-band, 4 xdrop, 5 zdrop
//   WAVEFRONT_FIRST, _SECOND, _STEPS   its parameters (`Heuristic.cut`)
//   WAVEFRONT_EDIT        penalties are edit distance: what a heuristic gives up is gone at once
//   WAVEFRONT_UNIT        what a unit costs

constexpr bool ADAPTIVE = WAVEFRONT_HEURISTIC == 1, BAND = WAVEFRONT_HEURISTIC == 2, ADAPTIVE_BAND = WAVEFRONT_HEURISTIC == 3;
constexpr bool XDROP = WAVEFRONT_HEURISTIC == 4, ZDROP = WAVEFRONT_HEURISTIC == 5;

constexpr int HELD_WORDS = 4 * ROWS;  // of a pair, in shared memory
constexpr int FAR = 1 << 30;          // how far from the end a cell is that is not there
constexpr int BEYOND = 32767;         // a gap past the target's end; targets are shorter (the kernel sees to it), so that 16 bits hold it
constexpr unsigned ALL = 0xffffffffu;

struct alignas(8) Held {  // of a row: limits of the cells that count for the next (1 and -1 where there is none); its cells, from `from` on
  int low, high, from, count;
  __device__ bool live() const { return low <= high; }
  __device__ bool has(int k) const { return (unsigned)(k - from) < (unsigned)count; }
  __device__ Held within(int left, int right) const {
    const Held kept = {max(low, left), min(high, right), from, count};
    return kept.live() ? kept : Held{1, -1, 0, 0};
  }
};

struct RoundRows {  // rows of each state; a diagonal's place in its row is k modulo the width
  Offset* at;
  int width;
  __device__ Offset& m(int row, int k) const { return at[row * width + (k & (width - 1))]; }
  __device__ Offset& i1(int row, int k) const { return m(M_ROWS + row, k); }
  __device__ Offset& d1(int row, int k) const { return m(M_ROWS + GAP1_ROWS + row, k); }
  __device__ Offset& i2(int row, int k) const { return m(M_ROWS + 2 * GAP1_ROWS + row, k); }
  __device__ Offset& d2(int row, int k) const { return m(M_ROWS + 2 * GAP1_ROWS + GAP2_ROWS + row, k); }
};

struct Earlier {  // a row that is read
  const Offset* at;
  Held held;
  __device__ int cell(int k, int mask) const { return held.has(k) ? at[k & mask] : NONE; }
};

// The ends of what is valid in a row, chunk after chunk of 32 diagonals.
struct Extent {
  int left = NOWHERE, right = -NOWHERE;
  __device__ void add(int base, bool valid) {
    const unsigned bits = __ballot_sync(ALL, valid);
    left = min(left, bits ? base + __ffs(bits) - 1 : NOWHERE);
    right = bits ? base + 31 - __clz(bits) : right;
  }
  __device__ Held held() const { return left == NOWHERE ? Held{1, -1, 0, 0} : Held{left, right, left, right - left + 1}; }
};

// The first diagonal from `k` on, in steps of `way` up to and including `stop`, for which `kept` holds; the one behind `stop` where there is none.
template <typename Kept>
__device__ inline int first_kept(int k, int stop, int way, int lane, const Kept& kept) {
  for (; way * (stop - k) >= 0; k += 32 * way) {
    const int mine = k + way * lane;
    const unsigned bits = __ballot_sync(ALL, way * (stop - mine) >= 0 && kept(mine));
    if (bits) return k + way * (__ffs(bits) - 1);
  }
  return stop + way;
}

// Penalty and end cell, the same in every lane; the penalty is NOWHERE where the heuristic leaves no path. `held`: shared memory for the pair.
__device__ inline Outcome pruned(const Pair& pair, const RoundRows& rows, const Scratch& scratch, const Free& ends, Held* held) {
  const int lane = threadIdx.x % 32, mask = rows.width - 1;
  const int n = pair.query_length, m = pair.target_length, goal = m - n;
  const Outcome dropped = {ALIGNED, NOWHERE, 0, 0};
  for (int i = lane; i < ROWS; i += 32) held[i] = {1, -1, 0, 0};
  __syncwarp();
  int row = 0, row1 = 0, row2 = 0, idle = 0, wait = WAVEFRONT_STEPS, top = 0;
  bool seen = false;
  long long place = 0;
  for (int s = 0;; s++) {
    int lo = -ends.query_begin, hi = ends.target_begin;
    bool live = true;
    Earlier from_x, from_o1, from_o2, from_i1, from_d1, from_i2, from_d2;
    if (s) {
      row = row + 1 == M_ROWS ? 0 : row + 1;
      if (WAVEFRONT_PIECES >= 1) row1 = row1 + 1 == GAP1_ROWS ? 0 : row1 + 1;
      if (WAVEFRONT_PIECES == 2) row2 = row2 + 1 == GAP2_ROWS ? 0 : row2 + 1;
      const auto source = [&](int place) { return Earlier{rows.at + place * rows.width, held[place]}; };
      const int old1 = back(row1, WAVEFRONT_E1, GAP1_ROWS), old2 = back(row2, WAVEFRONT_E2, GAP2_ROWS);
      from_x = source(back(row, WAVEFRONT_X, M_ROWS));
      from_o1 = source(back(row, WAVEFRONT_OE1, M_ROWS));
      // A row that is not there has the limits 1 and -1, which count (as in WFA2-lib) where another is.
      live = from_x.held.live() || from_o1.held.live();
      lo = min(from_x.held.low, from_o1.held.low - 1);
      hi = max(from_x.held.high, from_o1.held.high + 1);
      if (WAVEFRONT_PIECES >= 1) {
        from_i1 = source(M_ROWS + old1);
        from_d1 = source(M_ROWS + GAP1_ROWS + old1);
        live = live || from_i1.held.live() || from_d1.held.live();
        lo = min(lo, min(from_i1.held.low - 1, from_d1.held.low + 1));
        hi = max(hi, max(from_i1.held.high - 1, from_d1.held.high + 1));
      }
      if (WAVEFRONT_PIECES == 2) {
        from_o2 = source(back(row, WAVEFRONT_OE2, M_ROWS));
        from_i2 = source(M_ROWS + 2 * GAP1_ROWS + old2);
        from_d2 = source(M_ROWS + 2 * GAP1_ROWS + GAP2_ROWS + old2);
        live = live || from_o2.held.live() || from_i2.held.live() || from_d2.held.live();
        lo = min(min(lo, from_o2.held.low - 1), min(from_i2.held.low - 1, from_d2.held.low + 1));
        hi = max(max(hi, from_o2.held.high + 1), max(from_i2.held.high - 1, from_d2.held.high + 1));
      }
      if ((BAND || ADAPTIVE_BAND) && !WAVEFRONT_EDIT) lo = max(lo, WAVEFRONT_FIRST), hi = min(hi, WAVEFRONT_SECOND);
      lo = max(lo, -n);
      hi = min(hi, m);
      live = live && lo <= hi;
    }
    if (!live) hi = lo - 1;
    if (hi - lo + 1 > rows.width || s > scratch.steps || (WAVEFRONT_CIGAR && place + hi - lo + 1 > scratch.direction_bytes)) return {OUTGROWN, s, 0, 0};
    if (WAVEFRONT_CIGAR && lane == 0) scratch.row_start[s] = (int)(place - lo);
    Extent m_cells, i1_cells, d1_cells, i2_cells, d2_cells;
    int found = NOWHERE, least = max(n, m), best = -FAR;
    const long long paid = (long long)s * WAVEFRONT_UNIT;
    const auto distance = [&](int k, int h) { return h >= 0 ? max(n + k, m) - h : FAR; };
    const auto score = [&](int k, int h) { return h >= 0 ? (int)max((2 * h - k - paid) / 2, (long long)-FAR) : -FAR; };
    for (int base = lo; base <= hi; base += 32) {
      const int k = base + lane;
      const bool mine = k <= hi;
      int h = NONE, i1 = NONE, d1 = NONE, i2 = NONE, d2 = NONE;
      if (s == 0) {
        h = mine ? max(k, 0) : NONE;
      } else if (mine) {
        int direction = 0;
        if (WAVEFRONT_PIECES == 0) {
          i1 = from_o1.cell(k + 1, mask);
          d1 = from_o1.cell(k - 1, mask) + 1;
        } else {
          const int i_open = from_o1.cell(k + 1, mask), i_extend = from_i1.cell(k + 1, mask);
          const int d_open = from_o1.cell(k - 1, mask), d_extend = from_d1.cell(k - 1, mask);
          i1 = max(i_open, i_extend);
          d1 = max(d_open, d_extend) + 1;
          if (WAVEFRONT_CIGAR) direction = (i_open > i_extend) << (2 + FROM_I1) | (d_open > d_extend) << (2 + FROM_D1);
        }
        // Equal offsets: X before I2, I1, D2, D1.
        h = from_x.cell(k, mask) + 1;
        int origin = FROM_X;
        if (WAVEFRONT_PIECES == 2) {
          const int i_open = from_o2.cell(k + 1, mask), i_extend = from_i2.cell(k + 1, mask);
          const int d_open = from_o2.cell(k - 1, mask), d_extend = from_d2.cell(k - 1, mask);
          i2 = max(i_open, i_extend);
          d2 = max(d_open, d_extend) + 1;
          if (WAVEFRONT_CIGAR) direction |= (i_open > i_extend) << (2 + FROM_I2) | (d_open > d_extend) << (2 + FROM_D2);
          if (i2 > h) h = i2, origin = FROM_I2;
        }
        if (i1 > h) h = i1, origin = FROM_I1;
        if (WAVEFRONT_PIECES == 2 && d2 > h) h = d2, origin = FROM_D2;
        if (d1 > h) h = d1, origin = FROM_D1;
        if (WAVEFRONT_CIGAR) scratch.directions[place + k - lo] = direction | origin;
        if (WAVEFRONT_PIECES >= 1) rows.i1(row1, k) = i1, rows.d1(row1, k) = min(d1, BEYOND);
        if (WAVEFRONT_PIECES == 2) rows.i2(row2, k) = i2, rows.d2(row2, k) = min(d2, BEYOND);
      }
      const auto inside = [&](int h) { return mine && (unsigned)h <= (unsigned)m && (unsigned)(h - k) <= (unsigned)n; };
      h = inside(h) ? pair.extend(k, h) : NONE;
      if (mine) rows.m(row, k) = h;
      m_cells.add(base, h != NONE);
      if (WAVEFRONT_PIECES >= 1) i1_cells.add(base, inside(i1)), d1_cells.add(base, inside(d1));
      if (WAVEFRONT_PIECES == 2) i2_cells.add(base, inside(i2)), d2_cells.add(base, inside(d2));
      const unsigned ended = __ballot_sync(ALL, k >= goal - ends.target_end && k <= goal + ends.query_end && h >= min(m, n + k));
      found = min(found, ended ? base + __ffs(ended) - 1 : NOWHERE);
      if (ADAPTIVE) least = min(least, distance(k, h));
      if (XDROP || ZDROP) best = max(best, score(k, h));
    }
    __syncwarp();
    const Offset* cells = rows.at + row * rows.width;
    if (found != NOWHERE) return {ALIGNED, s, found, (int)cells[found & mask]};
    place += hi - lo + 1;

    Held m_held = m_cells.held();
    int low = m_held.low, high = m_held.high;
    if (m_held.live()) {
      if (BAND) {
        low = max(low, WAVEFRONT_FIRST);
        high = min(high, WAVEFRONT_SECOND);
      } else if (--wait <= 0) {
        const auto near = [&](int k) { return distance(k, cells[k & mask]) <= least; };
        if (ADAPTIVE && high - low + 1 >= WAVEFRONT_FIRST) {
          least = __reduce_min_sync(ALL, least) + WAVEFRONT_SECOND;
          const int stop = min(goal, high);
          if (low < stop) low = min(first_kept(low, stop, 1, lane, near), stop);
          const int halt = max(goal, low);
          if (high > halt) high = max(first_kept(high, halt, -1, lane, near), halt);
          wait = WAVEFRONT_STEPS;
        }
        const int width = high - low + 1, most = WAVEFRONT_SECOND - WAVEFRONT_FIRST + 1;
        if (ADAPTIVE_BAND && width >= 4) {
          if (width > most) {
            const int leeway = (width - most) / 2, quarter = width / 4;
            const auto left = [&](int k) { return distance(k, cells[k & mask]); };
            const int begin = low + (left(low) > left(high) ? leeway : 0) + (left(low + quarter) > left(low + 2 * quarter) ? leeway : 0);
            low = begin;
            high = min(high, begin + most - 1);
          }
          wait = WAVEFRONT_STEPS;
        }
        if (XDROP || ZDROP) {
          best = __reduce_max_sync(ALL, best);
          if (seen && ZDROP && top - best > WAVEFRONT_FIRST) return dropped;
          if (seen && XDROP) {
            const auto high_enough = [&](int k) { return cells[k & mask] >= 0 && score(k, cells[k & mask]) > top - WAVEFRONT_FIRST; };
            low = first_kept(low, high, 1, lane, high_enough);
            if (low <= high) high = first_kept(high, low, -1, lane, high_enough);
          }
          top = seen ? max(top, best) : best;
          seen = true;
          wait = WAVEFRONT_STEPS;
        }
      }
    }
    const Held i1_held = i1_cells.held(), d1_held = d1_cells.held(), i2_held = i2_cells.held(), d2_held = d2_cells.held();
    const bool some = m_held.live() || i1_held.live() || d1_held.live() || i2_held.live() || d2_held.live();
    idle = some ? 0 : idle + 1;
    if (idle > DEEPEST) return dropped;
    const bool cut = low != m_held.low || high != m_held.high;
    if (cut && WAVEFRONT_EDIT) m_held.from = low, m_held.count = max(high - low + 1, 0);
    if (cut && !WAVEFRONT_EDIT && s == 0) m_held.from = min(low, 0), m_held.count = max(high, 0) - m_held.from + 1;  // as WFA2-lib
    if (lane == 0) {
      held[row] = m_held.within(low, high);
      // A row that has no cell in M has no limits to hand on.
      const int left = cut ? low : -NOWHERE, right = cut ? high : NOWHERE;
      if (WAVEFRONT_PIECES >= 1) held[M_ROWS + row1] = i1_held.within(left, right), held[M_ROWS + GAP1_ROWS + row1] = d1_held.within(left, right);
      if (WAVEFRONT_PIECES == 2) {
        held[M_ROWS + 2 * GAP1_ROWS + row2] = i2_held.within(left, right);
        held[M_ROWS + 2 * GAP1_ROWS + GAP2_ROWS + row2] = d2_held.within(left, right);
      }
    }
    __syncwarp();
  }
}
