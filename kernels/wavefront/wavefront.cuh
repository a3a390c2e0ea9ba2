// One pair by wavefronts: the state of a cell, the rows it reads, and the walk back.
//
// Coordinates as on the host: v is a query row, h a target column, k = h - v a diagonal; an offset is the furthest h on its diagonal.
// I consumes the query (from diagonal k + 1), D the target (from k - 1, one column on), as in SAM.
#pragma once
#include "letters/bases.cuh"
#include "scoring/sources.cuh"
#include "wavefront/codes.cuh"

// Set by the launcher; all penalties are divided by their greatest common divisor.
//   WAVEFRONT_THREADS    threads a pair: 32 (a warp) or a whole block
//   WAVEFRONT_PAIRS      pairs a block: 1 unless a pair has one warp
//   WAVEFRONT_PIECES     0: edit and linear (no gap state), 1: affine, 2: two-piece affine
//   WAVEFRONT_X, _E1, _OE1, _E2, _OE2   mismatch; extend and open + extend of each piece (linear: E1 = OE1 = a gap letter)
//   WAVEFRONT_CIGAR      keep directions and walk back
//   WAVEFRONT_FREE       ends-free
//   WAVEFRONT_LIMITED    pairs have a limit of the penalty, above which it is not asked for
//   WAVEFRONT_NARROW     only the diagonals that fit a row: exact where leaving them and coming back costs more, else an upper bound of the penalty

// A stored offset. Sides are at most 32,767 letters (the launcher sees to it), so 16 bits hold every offset.
typedef short Offset;
// No such cell. A chain of D climbs from it by one a diagonal, so on diagonal k it is below k - lo - 32768 < k: a row above the first, never a cell.
constexpr int NONE = -32768;

constexpr int NOWHERE = 0x7fffffff;

__device__ constexpr int max2(int a, int b) { return a > b ? a : b; }
__device__ constexpr int min2(int a, int b) { return a < b ? a : b; }
constexpr int DEEPEST = WAVEFRONT_PIECES == 2 ? max2(max2(WAVEFRONT_X, WAVEFRONT_OE1), WAVEFRONT_OE2) : max2(WAVEFRONT_X, WAVEFRONT_OE1);
constexpr int M_ROWS = DEEPEST + 1;
constexpr int GAP1_ROWS = WAVEFRONT_PIECES >= 1 ? WAVEFRONT_E1 + 1 : 0;
constexpr int GAP2_ROWS = WAVEFRONT_PIECES == 2 ? WAVEFRONT_E2 + 1 : 0;
constexpr int ROWS = M_ROWS + 2 * GAP1_ROWS + 2 * GAP2_ROWS;
constexpr int LEAST_EXTEND = WAVEFRONT_PIECES == 2 ? min2(WAVEFRONT_E1, WAVEFRONT_E2) : WAVEFRONT_E1;
// A step reads rows as old as DEEPEST, whose diagonals were fewer; what they lack is stored as NONE on both sides. A narrow pass, whose diagonals
// never wrap around a row nor grow fewer, needs one beside the outermost instead, and all places NONE from the start.
constexpr int MARGIN = (DEEPEST + LEAST_EXTEND - 1) / LEAST_EXTEND + 1;
constexpr int STORED_MARGIN = WAVEFRONT_NARROW ? 0 : MARGIN;

constexpr int LEAST_BAND = 8;  // a narrow pass with fewer diagonals beside those that join begin and end is not worth its time

__device__ inline void group_sync() {
  if (WAVEFRONT_THREADS == 32)
    __syncwarp();
  else
    __syncthreads();
}

// Diagonals a gap can have reached on either side when the penalty is s.
__device__ inline int reach(int s) {
  if (WAVEFRONT_PIECES == 0) return s / WAVEFRONT_E1;
  int w = s < WAVEFRONT_OE1 ? 0 : (s - WAVEFRONT_OE1) / WAVEFRONT_E1 + 1;
  if (WAVEFRONT_PIECES == 2) w = max(w, s < WAVEFRONT_OE2 ? 0 : (s - WAVEFRONT_OE2) / WAVEFRONT_E2 + 1);
  return w;
}

// What a gap of `letters` > 0 costs; sums of gaps are never cheaper than one gap of as many letters.
__device__ inline int gap(int letters) {
  int cost = WAVEFRONT_OE1 + (letters - 1) * WAVEFRONT_E1;
  if (WAVEFRONT_PIECES == 2) cost = min(cost, WAVEFRONT_OE2 + (letters - 1) * WAVEFRONT_E2);
  return cost;
}

struct Free {
  int query_begin, query_end, target_begin, target_end;
};

struct Rows {  // a ring of rows for each state; a diagonal's place in its row is k modulo the width
  Offset* at;
  int width;
  __device__ Offset& m(int row, int k) const { return at[row * width + (k & (width - 1))]; }
  __device__ Offset& i1(int row, int k) const { return m(M_ROWS + row, k); }
  __device__ Offset& d1(int row, int k) const { return m(M_ROWS + GAP1_ROWS + row, k); }
  __device__ Offset& i2(int row, int k) const { return m(M_ROWS + 2 * GAP1_ROWS + row, k); }
  __device__ Offset& d2(int row, int k) const { return m(M_ROWS + 2 * GAP1_ROWS + GAP2_ROWS + row, k); }
};

__device__ inline int back(int row, int steps, int rows) { return row >= steps ? row - steps : row - steps + rows; }

struct Scratch {  // of one pair at a time
  unsigned char* directions;
  long long direction_bytes;
  int* row_start;     // [steps + 1] place of diagonal 0 of each row of directions; may be negative
  unsigned char* ops; // [steps + 1]
  unsigned* runs;     // [2 * steps + 3]
  int steps;          // largest penalty that fits
};

struct Outcome {
  int status, penalty, k, h;
};

// Penalty and end cell, the same in every thread of the pair. `bound`: an upper bound of the penalty, or NOWHERE; with WAVEFRONT_LIMITED also the limit.
__device__ inline Outcome wavefront(const Pair& pair, const Rows& rows, const Scratch& scratch, const Free& ends, int bound, int* shared_found) {
  const int thread = threadIdx.x % WAVEFRONT_THREADS;
  const int goal = pair.target_length - pair.query_length;
  const int first = -ends.query_begin, last = ends.target_begin;
  int floor = -pair.query_length, ceiling = pair.target_length;
  int exact_below = NOWHERE;
  if (WAVEFRONT_LIMITED) {  // with fewer letters in gaps than lengths make necessary no cell is within the bound
    const int apart = max(goal - ends.target_end - last, first - goal - ends.query_end);
    if (bound < 0 || (apart > 0 && gap(apart) > bound)) return {ABOVE, 0, 0, 0};
  }
  if (WAVEFRONT_NARROW) {
    const int goal_low = goal - ends.target_end, goal_high = goal + ends.query_end;
    const int low = min(first, goal_low), high = max(last, goal_high);
    const int band = (rows.width - 3 - (high - low)) / 2;
    if (band < LEAST_BAND) return {OUTGROWN, 0, 0, 0};
    // Whoever leaves the band pays a gap to get out and one to get back. What costs less never left it, and neither did anything it ties with.
    if (low - band > floor) {
      floor = low - band;
      exact_below = gap(first - floor + 1) + gap(goal_low - floor + 1);
    }
    if (high + band < ceiling) {
      ceiling = high + band;
      exact_below = min(exact_below, gap(ceiling + 1 - last) + gap(ceiling + 1 - goal_high));
    }
    for (int i = thread; i < ROWS * rows.width / 2; i += WAVEFRONT_THREADS) ((unsigned*)rows.at)[i] = (unsigned)NONE << 16 | (NONE & 0xffff);
  } else {
    if (last - first + 1 + 2 * MARGIN > rows.width) return {OUTGROWN, 0, 0, 0};
    for (int k = first - MARGIN + thread; k <= last + MARGIN; k += WAVEFRONT_THREADS)
      for (int row = 0; row < ROWS; row++) rows.m(row, k) = NONE;
  }
  group_sync();
  int found = NOWHERE;
  for (int k = first + thread; k <= last; k += WAVEFRONT_THREADS) {
    int h = pair.extend(k, max(k, 0));
    rows.m(0, k) = h;
    if (WAVEFRONT_FREE && k >= goal - ends.target_end && k <= goal + ends.query_end && h >= min(pair.target_length, pair.query_length + k)) found = min(found, k);
  }
  int row = 0, row1 = 0, row2 = 0;
  long long place = 0;
  for (int s = 0;;) {
    if (WAVEFRONT_FREE) {
      if (WAVEFRONT_THREADS == 32) {
        __syncwarp();
        found = __reduce_min_sync(0xffffffffu, found);
      } else if (__syncthreads_or(found != NOWHERE)) {
        if (thread == 0) *shared_found = NOWHERE;
        __syncthreads();
        if (found != NOWHERE) atomicMin(shared_found, found);
        __syncthreads();
        found = *shared_found;
      }
      if (found != NOWHERE) return {s < exact_below ? ALIGNED : BOUNDED, s, found, (int)rows.m(row, found)};
    } else {
      group_sync();
      // Outside [lo, hi] and its margin a place belongs to another diagonal.
      int w = reach(s);
      if (goal >= -w && goal <= w && rows.m(row, goal) >= pair.target_length) return {s < exact_below ? ALIGNED : BOUNDED, s, goal, pair.target_length};
    }
    if (WAVEFRONT_LIMITED && s >= bound) return {!WAVEFRONT_NARROW || bound < exact_below ? ABOVE : BOUNDED, bound, 0, 0};
    s++;
    row = row + 1 == M_ROWS ? 0 : row + 1;
    if (WAVEFRONT_PIECES >= 1) row1 = row1 + 1 == GAP1_ROWS ? 0 : row1 + 1;
    if (WAVEFRONT_PIECES == 2) row2 = row2 + 1 == GAP2_ROWS ? 0 : row2 + 1;
    const int w = reach(s);
    int lo = max(first - w, floor), hi = min(last + w, ceiling);
    if (WAVEFRONT_NARROW) {
      // Past the scratch the penalty is still a bound.
      if (WAVEFRONT_CIGAR && (s > scratch.steps || place + hi - lo + 1 > scratch.direction_bytes)) exact_below = min(exact_below, s);
    } else {
      if (bound != NOWHERE) {
        // Beyond these diagonals even an open gap is too dear to come back from (Castells-Rufas 2023); one more, which the way back reads beside its cells.
        const int left = (bound - s) / LEAST_EXTEND + 1;
        lo = max(lo, goal - ends.target_end - left);
        hi = min(hi, goal + ends.query_end + left);
      }
      if (hi - lo + 1 + 2 * MARGIN > rows.width || s > scratch.steps) return {OUTGROWN, s, 0, 0};
    }
    const bool keep = WAVEFRONT_CIGAR && s < exact_below;
    if (keep) {
      if (!WAVEFRONT_NARROW && place + hi - lo + 1 > scratch.direction_bytes) return {OUTGROWN, s, 0, 0};
      if (thread == 0) scratch.row_start[s] = (int)(place - lo);
    }
    const int row_x = back(row, WAVEFRONT_X, M_ROWS), row_o1 = back(row, WAVEFRONT_OE1, M_ROWS), row_e1 = back(row1, WAVEFRONT_E1, GAP1_ROWS);
    const int row_o2 = back(row, WAVEFRONT_OE2, M_ROWS), row_e2 = back(row2, WAVEFRONT_E2, GAP2_ROWS);
    for (int k = lo - STORED_MARGIN + thread; k <= hi + STORED_MARGIN; k += WAVEFRONT_THREADS) {
      int h = NONE, i1 = NONE, d1 = NONE, i2 = NONE, d2 = NONE;
      if (STORED_MARGIN == 0 || (k >= lo && k <= hi)) {
        int direction = 0;
        const int x = rows.m(row_x, k) + 1;
        if (WAVEFRONT_PIECES == 0) {
          i1 = rows.m(row_o1, k + 1);
          d1 = rows.m(row_o1, k - 1) + 1;
        } else {
          const int i_open = rows.m(row_o1, k + 1), i_extend = rows.i1(row_e1, k + 1);
          const int d_open = rows.m(row_o1, k - 1), d_extend = rows.d1(row_e1, k - 1);
          i1 = max(i_open, i_extend);
          d1 = max(d_open, d_extend) + 1;
          if (WAVEFRONT_CIGAR) direction = (i_open > i_extend) << (2 + FROM_I1) | (d_open > d_extend) << (2 + FROM_D1);
        }
        // Equal offsets: X before I2, I1, D2, D1.
        h = x;
        int source = FROM_X;
        if (WAVEFRONT_PIECES == 2) {
          const int i_open = rows.m(row_o2, k + 1), i_extend = rows.i2(row_e2, k + 1);
          const int d_open = rows.m(row_o2, k - 1), d_extend = rows.d2(row_e2, k - 1);
          i2 = max(i_open, i_extend);
          d2 = max(d_open, d_extend) + 1;
          if (WAVEFRONT_CIGAR) direction |= (i_open > i_extend) << (2 + FROM_I2) | (d_open > d_extend) << (2 + FROM_D2);
          if (i2 > h) h = i2, source = FROM_I2;
        }
        if (i1 > h) h = i1, source = FROM_I1;
        if (WAVEFRONT_PIECES == 2 && d2 > h) h = d2, source = FROM_D2;
        if (d1 > h) h = d1, source = FROM_D1;
        if (keep) scratch.directions[place + k - lo] = direction | source;
        if ((unsigned)h > (unsigned)pair.target_length || (unsigned)(h - k) > (unsigned)pair.query_length)
          h = NONE;
        else
          h = pair.extend(k, h);
        // A gap past the target's end leads nowhere: from the end, diagonals below are reached at less cost. So 16 bits are enough.
        if (d1 > pair.target_length) d1 = NONE;
        if (d2 > pair.target_length) d2 = NONE;
        if (WAVEFRONT_FREE && k >= goal - ends.target_end && k <= goal + ends.query_end && h >= min(pair.target_length, pair.query_length + k)) found = min(found, k);
      }
      rows.m(row, k) = h;
      if (WAVEFRONT_PIECES >= 1) rows.i1(row1, k) = i1, rows.d1(row1, k) = d1;
      if (WAVEFRONT_PIECES == 2) rows.i2(row2, k) = i2, rows.d2(row2, k) = d2;
    }
    place += hi - lo + 1;
  }
}

// One thread: the CIGAR's runs from the directions; returns their number, and the start on both sides.
__device__ inline int walk_back(const Pair& pair, const Scratch& scratch, const Outcome& end, int* query_start, int* target_start) {
  int s = end.penalty, k = end.k, state = FROM_X, ops = 0;
  while (s > 0) {
    const int direction = scratch.directions[scratch.row_start[s] + k];
    if (state == FROM_X) {
      state = direction & 7;
      if (state == FROM_X) {
        scratch.ops[ops++] = OP_X;
        s -= WAVEFRONT_X;
        continue;
      }
    }
    const bool second = WAVEFRONT_PIECES == 2 && state >= FROM_I2;
    const bool insertion = state == FROM_I1 || state == FROM_I2;
    const bool opened = WAVEFRONT_PIECES == 0 || (direction >> (2 + state) & 1);
    scratch.ops[ops++] = (insertion ? OP_I : OP_D) | (opened ? 0 : OP_GOES_ON);
    k += insertion ? 1 : -1;
    s -= opened ? (second ? WAVEFRONT_OE2 : WAVEFRONT_OE1) : (second ? WAVEFRONT_E2 : WAVEFRONT_E1);
    if (opened) state = FROM_X;
  }
  int h = max(k, 0), runs = 0, length = 0, kind = OP_EQUAL;
  *target_start = h;
  *query_start = h - k;
  for (int i = ops;; i--) {
    // Matches follow every operation but one whose gap goes on.
    if (i == 0 || i == ops || !(scratch.ops[i - 1] & OP_GOES_ON)) {
      const int further = pair.extend(k, h);
      if (further > h) {
        if (kind != OP_EQUAL && length) scratch.runs[runs++] = length << 4 | kind, length = 0;
        kind = OP_EQUAL;
        length += further - h;
        h = further;
      }
    }
    if (i == 0) break;
    const int op = scratch.ops[i - 1] & 15;
    if (op != kind && length) scratch.runs[runs++] = length << 4 | kind, length = 0;
    kind = op;
    length++;
    if (op == OP_I)
      k--;
    else
      h++, k += op == OP_D;
  }
  if (length) scratch.runs[runs++] = length << 4 | kind;
  return runs;
}
