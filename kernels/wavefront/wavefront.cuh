// One pair by wavefronts: the state of a cell, the rows it reads, and the walk back.
//
// Coordinates as on the host: v is a query row, h a target column, k = h - v a diagonal; an offset is the furthest h on its diagonal.
// I consumes the query (from diagonal k + 1), D the target (from k - 1, one column on), as in SAM.
#pragma once
#include "letters/bases.cuh"
#include "scoring/sources.cuh"
#include "wavefront/codes.cuh"
#include "wavefront/missing.cuh"
#include "wavefront/rows.cuh"

// Set by the launcher:
//   WAVEFRONT_PAIRS      pairs a block: 1 unless a pair has one warp
//   WAVEFRONT_CIGAR      keep directions and walk back
//   WAVEFRONT_FREE       ends-free
//   WAVEFRONT_LIMITED    pairs have a limit of the penalty, above which it is not asked for
//   WAVEFRONT_TRIM       a row is trimmed once in so many steps
//   WAVEFRONT_NARROW     only the diagonals that fit a row: exact where leaving them and coming back costs more, else an upper bound of the penalty

// Missing words say what is still to be paid for where both sides are aligned whole and no letter equals all others.
constexpr bool COUNTED = !WAVEFRONT_FREE && WAVEFRONT_AMBIGUOUS != 2;

constexpr int LEAST_BAND = 8;  // a narrow pass with fewer diagonals beside those that join begin and end is not worth its time

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

struct Scratch {  // of one pair at a time
  unsigned char* directions;
  long long direction_bytes;
  int* row_start;     // [steps + 1] place of diagonal 0 of each row of directions; may be negative
  unsigned char* ops; // [steps + 1]
  unsigned* runs;     // [run_words], at least 2 * steps + 3; until the way back, words of the target
  int run_words;
  int steps;          // largest penalty that fits
  unsigned* counts;   // [query / 32 + 2] missing words of the query
  __device__ void count(const Pair& pair) const { count_missing(pair, counts, runs, min(5 + 31 - __clz(run_words), 2 * WORD_LETTERS)); }
};

struct Outcome {
  int status, penalty, k, h, missing = 0;
};

// Penalty and end cell, the same in every thread of the pair. `bound`: an upper bound of the penalty, or NOWHERE; with WAVEFRONT_LIMITED also the limit.
// shared_found, shared_span: memory of the pair on chip, for a number and for two.
__device__ inline Outcome wavefront(const Pair& pair, Rows rows, const Scratch& scratch, const Free& ends, int bound, int* shared_found, int* shared_span) {
  const int thread = threadIdx.x % WAVEFRONT_THREADS;
  const int goal = pair.target_length - pair.query_length;
  const int first = -ends.query_begin, last = ends.target_begin;
  int floor = -pair.query_length, ceiling = pair.target_length;
  int exact_below = NOWHERE, outside = NOWHERE;
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
      outside = shares_of(first - floor + 1, goal_low - floor + 1);
    }
    if (high + band < ceiling) {
      ceiling = high + band;
      exact_below = min(exact_below, gap(ceiling + 1 - last) + gap(ceiling + 1 - goal_high));
      outside = min(outside, shares_of(ceiling + 1 - goal_high, ceiling + 1 - last));
    }
    rows.origin = floor - 1;
  } else {
    const bool bounded = bound != NOWHERE;
    const int low = bounded ? min(first, goal - ends.target_end) : first, high = bounded ? max(last, goal + ends.query_end) : last;
    const int beside = rows.width - 3 - (high - low);
    if (beside < 0) return {OUTGROWN, 0, 0, 0};
    if (COUNTED && bounded) scratch.count(pair);
    // A side has as many diagonals as gaps that come back from there can have letters, but none beyond the matrix.
    constexpr int LEFT = COUNTED ? 64 * LEAST_EXTEND + WAVEFRONT_INSERTED : 1, RIGHT = COUNTED ? 64 * LEAST_EXTEND + WAVEFRONT_DELETED : 1;
    const int left = bounded ? (int)((long long)beside * LEFT / (LEFT + RIGHT)) : beside / 2;
    rows.origin = max(floor, min(low - left, ceiling + 3 - rows.width)) - 1;
  }
  rows.clear(thread);
  group_sync();
  int found = NOWHERE;
  for (int k = first + thread; k <= last; k += WAVEFRONT_THREADS) {
    int h = pair.extend(k, max(k, 0));
    rows.at<Offset>(rows.m(0) + 2 * k) = h;
    if (WAVEFRONT_DEEP) rows.deep[rows.deep_m(0) + k] = h;
    if (WAVEFRONT_FREE && k >= goal - ends.target_end && k <= goal + ends.query_end && h >= min(pair.target_length, pair.query_length + k))
      found = min(found, k);
  }
  int row = 0, row1 = 0, row2 = 0, deep = 0, lo = first, hi = last, missing = -1, room = NOWHERE;
  // No path within the bound has a cell beside these diagonals at the penalties when they were found; from then on they are one more for every gap's letter.
  int low_kept = -NOWHERE / 2, low_at = 0, high_kept = NOWHERE / 2, high_at = 0;
  // A row is cleared where rows of this turn of the longest ring of M and the one before had cells; in a narrow pass, whose rows never grow narrower, nowhere.
  Span turn = {first, last}, turn_before = turn;
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
      if (found != NOWHERE) return {s < exact_below ? ALIGNED : BOUNDED, s, found, rows.offset(row, found)};
    } else {
      group_sync();
      if (goal >= lo && goal <= hi && rows.offset(row, goal) >= pair.target_length)
        return {s < exact_below ? ALIGNED : BOUNDED, s, goal, pair.target_length, missing};
    }
    if (WAVEFRONT_LIMITED && s >= bound) return {!WAVEFRONT_NARROW || bound < exact_below ? ABOVE : BOUNDED, bound, 0, 0, missing};
    if (COUNTED && !WAVEFRONT_NARROW && bound != NOWHERE && s % WAVEFRONT_TRIM == 0) {
      const Span live = trimmed(pair, rows, scratch.counts, s, lo, hi, bound, goal, shared_span);
      if (live.low > lo) low_kept = live.low, low_at = s;
      if (live.high < hi) high_kept = live.high, high_at = s;
    }
    s++;
    row = row + 1 == M_ROWS ? 0 : row + 1;
    if (WAVEFRONT_PIECES >= 1) row1 = row1 + 1 == GAP1_ROWS ? 0 : row1 + 1;
    if (WAVEFRONT_PIECES == 2) row2 = row2 + 1 == GAP2_ROWS ? 0 : row2 + 1;
    if (WAVEFRONT_DEEP) deep = deep + 1 == DEEP_ROWS ? 0 : deep + 1;
    const int w = reach(s);
    lo = max(first - w, floor), hi = min(last + w, ceiling);
    if (WAVEFRONT_NARROW) {
      if (COUNTED && s >= exact_below && missing < 0) {
        scratch.count(pair);
        missing = missing_from(scratch.counts, 0);
        exact_below = max(exact_below, WAVEFRONT_MISSING * missing + outside);
      }
      // Past the scratch the penalty is still a bound.
      if (WAVEFRONT_CIGAR && (s > scratch.steps || place + hi - lo + 1 > scratch.direction_bytes)) room = min(room, s);
      exact_below = min(exact_below, room);
    } else {
      if (bound != NOWHERE) {
        // Beyond these diagonals even an open gap is too dear to come back from (Castells-Rufas 2023); one more, which the way back reads beside its cells.
        const int left = (bound - s) / LEAST_EXTEND + 1;
        lo = max(lo, goal - ends.target_end - left);
        hi = min(hi, goal + ends.query_end + left);
        if (COUNTED) {
          lo = max(lo, low_kept - 1 - (s - low_at - 1) / LEAST_EXTEND);
          hi = min(hi, high_kept + 1 + (s - high_at - 1) / LEAST_EXTEND);
          if (WAVEFRONT_LIMITED && lo > hi) return {ABOVE, bound, 0, 0};
        }
      }
      if (lo <= rows.origin || hi + 1 >= rows.origin + rows.width || s > scratch.steps) return {OUTGROWN, s, 0, 0};
    }
    const bool keep = WAVEFRONT_CIGAR && (!WAVEFRONT_NARROW || s < exact_below);
    if (keep) {
      if (!WAVEFRONT_NARROW && place + hi - lo + 1 > scratch.direction_bytes) return {OUTGROWN, s, 0, 0};
      if (thread == 0) scratch.row_start[s] = (int)(place - lo);
    }
    Span stored = {lo, hi};
    if (!WAVEFRONT_NARROW) {
      if ((WAVEFRONT_DEEP ? deep : row) == 0) turn_before = turn, turn = stored;
      turn = {min(turn.low, lo), max(turn.high, hi)};
      stored = {min(turn.low, turn_before.low), max(turn.high, turn_before.high)};
    }
    // Places of diagonal 0.
    const int from_x = held(rows.m(back(row, WAVEFRONT_X, M_ROWS))), from_o1 = held(rows.m(back(row, WAVEFRONT_OE1, M_ROWS)));
    const int from_o2 = held(WAVEFRONT_DEEP ? rows.deep_m(back(deep, WAVEFRONT_OE2, DEEP_ROWS)) : rows.m(back(row, WAVEFRONT_OE2, M_ROWS)));
    const int from_e1 = held(rows.gap1(back(row1, WAVEFRONT_E1, GAP1_ROWS))), from_e2 = held(rows.gap2(back(row2, WAVEFRONT_E2, GAP2_ROWS)));
    const int to_m = held(rows.m(row)), to_gap1 = held(rows.gap1(row1)), to_gap2 = held(rows.gap2(row2));
    const int to_deep = held(rows.deep_m(deep));
    unsigned char* directions = held(scratch.directions + place - lo);
    for (int k = held(stored.low + thread), stop = held(stored.high); k <= stop; k += WAVEFRONT_THREADS) {
      int h = NONE;
      unsigned gap1 = NONE_TWICE, gap2 = NONE_TWICE;
      if (WAVEFRONT_NARROW || (k >= lo && k <= hi)) {
        int direction = 0, i1, d1, i2 = NONE, d2 = NONE;
        const int before_o1 = rows.load(from_o1 + 2 * k - 2), behind_o1 = rows.load(from_o1 + 2 * k + 2);
        if (WAVEFRONT_PIECES == 0) {
          i1 = behind_o1;
          d1 = before_o1 + 1;
        } else {
          const int i_extend = rows.load(from_e1 + 4 * k + 4), d_extend = rows.load(from_e1 + 4 * k - 2);
          i1 = max(behind_o1, i_extend);
          d1 = max(before_o1, d_extend) + 1;
          if (WAVEFRONT_CIGAR) direction = (behind_o1 > i_extend) << (2 + FROM_I1) | (before_o1 > d_extend) << (2 + FROM_D1);
        }
        // Equal offsets: X before I2, I1, D2, D1.
        h = rows.load(from_x + 2 * k) + 1;
        int source = FROM_X;
        if (WAVEFRONT_PIECES == 2) {
          const int i_open = WAVEFRONT_DEEP ? (int)rows.deep[from_o2 + k + 1] : rows.load(from_o2 + 2 * k + 2);
          const int d_open = WAVEFRONT_DEEP ? (int)rows.deep[from_o2 + k - 1] : rows.load(from_o2 + 2 * k - 2);
          const int i_extend = rows.load(from_e2 + 4 * k + 4), d_extend = rows.load(from_e2 + 4 * k - 2);
          i2 = max(i_open, i_extend);
          d2 = max(d_open, d_extend) + 1;
          if (WAVEFRONT_CIGAR) direction |= (i_open > i_extend) << (2 + FROM_I2) | (d_open > d_extend) << (2 + FROM_D2);
          if (i2 > h) h = i2, source = FROM_I2;
        }
        if (i1 > h) h = i1, source = FROM_I1;
        if (WAVEFRONT_PIECES == 2 && d2 > h) h = d2, source = FROM_D2;
        if (d1 > h) h = d1, source = FROM_D1;
        if (keep) directions[k] = direction | source;
        h = pair.extend_within(k, h);
        // A gap past the target's end leads nowhere: from the end, diagonals below are reached at less cost. So 16 bits are enough.
        if (d1 > pair.target_length) d1 = NONE;
        if (d2 > pair.target_length) d2 = NONE;
        gap1 = (i1 & 0xffff) | (unsigned)d1 << 16;
        gap2 = (i2 & 0xffff) | (unsigned)d2 << 16;
        if (WAVEFRONT_FREE && k >= goal - ends.target_end && k <= goal + ends.query_end && h >= min(pair.target_length, pair.query_length + k))
          found = min(found, k);
      }
      rows.at<Offset>(to_m + 2 * k) = h;
      if (WAVEFRONT_DEEP) rows.deep[to_deep + k] = h;
      if (WAVEFRONT_PIECES >= 1) rows.at<unsigned>(to_gap1 + 4 * k) = gap1;
      if (WAVEFRONT_PIECES == 2) rows.at<unsigned>(to_gap2 + 4 * k) = gap2;
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
