// The tail of a sweep: whether anything after its best cell can reach that value again, by an upper bound that is cheaper than the sweep to the cell.
//
// A y-drop sweep goes on for some 600 rows after the best cell of its side, until all cells are under the line, and mostly finds nothing: nine tenths of its
// cells. Let U be the values of ordinary affine gaps from a live row on, over the cells from its first column on; as in device.py, U is never below LASTZ's
// values. As long as U stays under the best value, LASTZ's line stays where it is, and where no value of U in a row reaches the line, LASTZ has stopped. So
// if U dies before it reaches the best value, the side's score, end and path are known without the rows in between; what the sweep would have looked at is
// known as an upper bound alone. Where U reaches the best value, or leaves the window, the sweep goes on as if nothing had been tried.
//
// A warp has a window of columns, neighbouring ones a lane, two a word, HALF apart; it moves on by a lane's columns as soon as those are dead. A row takes two
// passes, as in extension/rows.cuh: 3 operations of the integer pipe for two cells in the first, 3.5 in the second, and some 40 a row and lane beside them.
#pragma once
#ifdef EXTENSION_PLAIN
#define INSPECTION_PLAIN EXTENSION_PLAIN
#else
#define INSPECTION_PLAIN 0
#endif
#include "extension/chain.cuh"
#include "inspection/halves.cuh"

namespace tail {

constexpr int OF_LANE = 24, HALF = OF_LANE / 2, COLUMNS = 32 * OF_LANE;
constexpr int LINE = 4096;       // the value of the line: what is as far below it is 0
constexpr int TURN = 4;          // rows between two looks at how a tail is doing
constexpr int MOST_ROWS = 2048;  // more are swept
constexpr int PATIENCE = 2;      // records after one that is too wide

__device__ __forceinline__ int value_of(unsigned cell) { return cell ? (int)cell - EXTENSION_BIAS + LINE : 0; }

// What `bytes` takes to find the scores of a column on the left and one on the right, a half each. Any letter does where there is none.
__device__ __forceinline__ unsigned selector(const Genome& genome, Wide left, Wide right) {
  const unsigned a = left >= 0 && left < genome.query_length ? genome.query[left] : 0, b = right >= 0 && right < genome.query_length ? genome.query[right] : 0;
  return a | (a | 8) << 4 | b << 8 | (b | 8) << 12;
}

// Words of the live row of columns x and x + HALF: C on the right of each, D on the left.
__device__ __forceinline__ unsigned word_of(const unsigned* live, int width, int x) { return x < width ? live[x] : 0; }

struct Bounded {
  int rows, columns;  // that may be looked at: rows, and one past the last column; rows < 0: after so many a value may be as good as the best, or is not known
};

// Bounds the tail of a record with this live row. Apart from its caller, whose registers are full.
__device__ __noinline__ Bounded bounded(const Record* record, const Genome* letters_of, const int* scores, const unsigned* live) {
  const Record& from = *record;
  const Genome& genome = *letters_of;
  const int lane = threadIdx.x % 32, x0 = lane * OF_LANE, ramp = x0 * EXTENSION_EXTENDED, width = from.width;
  const unsigned opened = both(-EXTENSION_OPENED), extended = both(-EXTENSION_EXTENDED), one = genome.one;
  const Wide letters_left = rows_left(from);
  unsigned value[HALF], down[HALF], select[HALF];  // of two columns: the row before, gaps down into this row, letters of the query
#pragma unroll
  for (int k = 0; k < HALF; k++) {
    const unsigned left = word_of(live, width, x0 + k), right = word_of(live, width, x0 + k + HALF);
    value[k] = (unsigned)value_of(left & 0xFFFF) | (unsigned)value_of(right & 0xFFFF) << 16;
    down[k] = (unsigned)value_of(left >> 16) | (unsigned)value_of(right >> 16) << 16;
    select[k] = selector(genome, from.query + (Wide)from.onward * (x0 + k), from.query + (Wide)from.onward * (x0 + k + HALF));
  }
  const int most_rows = letters_left < MOST_ROWS ? (int)letters_left : MOST_ROWS;
  bool failed = false, ended = false;
  int moved = 0, columns = 0, letter = 0, r = 0;
  unsigned top = 0, border = 0;  // greatest values since the last look: of all columns, of the last one
  while (r < most_rows && !failed && !ended) {
    if (r % 32 == 0) letter = r + lane < most_rows ? genome.target[from.target + (Wide)from.onward * (r + lane)] : 0;
    const int kind = __shfl_sync(TEAM, letter, r % 32);
    const unsigned low_scores = scores[2 * kind], high_scores = scores[2 * kind + 1];
    const unsigned neighbour = __shfl_up_sync(TEAM, value[HALF - 1], 1);
    unsigned diagonal = bytes(lane ? neighbour : 0, value[HALF - 1], 0x5432);
    unsigned gap = 0;  // the best value a gap opens from, less what its letters cost since
#pragma unroll
    for (int k = 0; k < HALF; k++) {
      const unsigned before = value[k];
      value[k] = most_of_sum(diagonal, bytes(low_scores, high_scores, select[k]), down[k]);
      gap = most_of_sum(gap, extended, value[k]);
      diagonal = before;
    }
    const int left = (short)gap, right = (int)gap >> 16, first_half = HALF * EXTENSION_EXTENDED;
    const int lanes_before = __shfl_up_sync(TEAM, prefix_max(max(left - first_half, right) + ramp), 1);
    const int coming = lane ? max(lanes_before - (ramp - OF_LANE * EXTENSION_EXTENDED), 0) : 0;
    gap = (unsigned)coming | (unsigned)max(coming - first_half, left) << 16;
    unsigned highest = 0;
#pragma unroll
    for (int k = 0; k < HALF; k++) {
      value[k] = most_of_sum(gap, opened, value[k]);
      gap = most_of_sum(gap, extended, value[k]);
      down[k] = most_of_sum_or_0(down[k], extended, value[k] * one + opened);  // a carry makes the right one greater by 1
      highest = k % 2 ? most(highest, value[k - 1], value[k]) : highest;
    }
    top = most(top, highest);
    border = most(border, value[HALF - 1]);
    r++;
    if (r % TURN && r < most_rows) continue;
    const unsigned alive = __ballot_sync(TEAM, reaches(highest, LINE)), looked_at = __ballot_sync(TEAM, reaches(top, LINE));
    failed = __any_sync(TEAM, reaches(top, LINE + EXTENSION_YDROP) || (lane == 31 && (int)border >> 16 >= LINE));
    ended = alive == 0;
    top = border = 0;
    columns = max(columns, (moved + 32 - __clz(looked_at)) * OF_LANE + 2);
    const int dead = __ffs(alive) - 1;
    if (dead > 0 && !failed) {
      moved += dead;
#pragma unroll
      for (int k = 0; k < HALF; k++) {
        const unsigned values = __shfl_down_sync(TEAM, value[k], dead), gaps = __shfl_down_sync(TEAM, down[k], dead);
        const unsigned letters = __shfl_down_sync(TEAM, select[k], dead);
        const bool there = lane + dead < 32;
        const Wide column = from.query + (Wide)from.onward * (moved * OF_LANE + x0 + k);
        value[k] = there ? values : 0;
        down[k] = there ? gaps : 0;
        select[k] = there ? letters : selector(genome, column, column + from.onward * HALF);
      }
    }
  }
  return {failed || (!ended && r < letters_left) ? -r : r, columns};
}

// Whether it is proven now that the record `id`, with this live row, brings nothing more, which is noted in it. One that was tried is swept: proven before, its
// tail is too large for a side's room. counts: of the proven, of the others.
__device__ __forceinline__ bool proven(const Memory* memory, const int* scores, unsigned id, const unsigned* live, int quiet, unsigned long long* counts) {
  Record& record = *record_at(memory->pool, id);
  if (record.tail != UNTRIED || !in_tail(record, quiet)) return false;
  Bounded found = {-ROWS * (PATIENCE - 1), 0};
  if (record.width < COLUMNS) found = bounded(&record, &memory->genome, scores, live);
  __syncwarp();
  if (threadIdx.x % 32 == 0) {
    record.tail = found.rows < 0 ? FAILED : PROVEN;
    record.patience = found.rows < 0 ? -found.rows / ROWS + 1 : 0;
    record.tail_rows = found.rows;
    record.tail_columns = found.columns;
    atomicAdd(counts + (found.rows < 0), 1ull);
  }
  __syncwarp();
  return found.rows >= 0;
}

}  // namespace tail
