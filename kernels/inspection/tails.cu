// Tails of sweeps: whether anything after a sweep's best cell can reach its value again, by an upper bound (tails.py says why it holds).
//
// A tail begins at a record in whose last rows there was no best value. Those of sides with one end and one checkpoint are bounded together, from the greatest
// of their live rows: alignments have many anchors, whose live rows are all but the same. A warp sweeps a tail in a window of COLUMNS columns, neighbouring
// ones a lane, two a word, HALF apart; the window moves on by a lane's columns as soon as those are dead.
#ifdef EXTENSION_PLAIN
#define INSPECTION_PLAIN EXTENSION_PLAIN
#else
#define INSPECTION_PLAIN 0
#endif
#include "extension/chain.cuh"
#include "extension/side.cuh"
#include "inspection/halves.cuh"

constexpr int COLUMNS = 768, BEFORE = 240;    // of the window at first; of them before the end
constexpr int OF_LANE = COLUMNS / 32, HALF = OF_LANE / 2;
constexpr int LINE = 4096;                    // the value of the line: what is as far below it is 0
constexpr int TURN = 4;                       // rows between two looks at how a tail is doing
constexpr int MOST_ROWS = 2048;
constexpr int UNFIT = -1, LATER = -2;         // tails: their live row is too wide for the window; there are too many at once
constexpr int PATIENCE = 2;                   // records after one that is unfit

struct Tail {
  Wide end_target, end_query, target, stop;   // the end of its sides, the checkpoint's target place, the target place beyond the last one
  int onward, rows, columns, unused;          // rows: that may be looked at, columns: one past the last; or rows < 0: a value may be as good after so many
};

// The tail of this end and checkpoint: one that there is, or a new one; LATER where there are `most`.
__device__ int tail_of(const Tail& wanted, Tail* tails, unsigned long long* table, unsigned long long slots, int most, int* made) {
  const unsigned hash = mixed(mixed((unsigned)wanted.end_target, (unsigned)wanted.end_query), mixed((unsigned)wanted.target, wanted.onward));
  int mine = -1;
  for (unsigned long long slot = hash & (slots - 1), probe = 0; probe < PROBES; probe++, slot = (slot + 1) & (slots - 1)) {
    unsigned long long entry = __ldcg(table + slot);
    if (entry == 0) {
      if (mine < 0) {
        mine = atomicAdd(made, 1);
        if (mine >= most) return LATER;
        tails[mine] = wanted;
        __threadfence();
      }
      entry = atomicCAS(table + slot, 0ull, (unsigned long long)hash << 32 | (unsigned)(mine + 1));
      if (entry == 0) return mine;
    }
    if (entry >> 32 == hash) {
      __threadfence();
      const Tail* other = tails + ((unsigned)entry - 1);
      if (__ldcg(&other->end_target) == wanted.end_target && __ldcg(&other->end_query) == wanted.end_query && __ldcg(&other->target) == wanted.target &&
          __ldcg(&other->stop) == wanted.stop && __ldcg(&other->onward) == wanted.onward)
        return (unsigned)entry - 1;
    }
  }
  return mine >= 0 ? mine : LATER;  // a crowded table
}

__device__ __forceinline__ Wide window_of_tail(Wide end_query, int onward) { return end_query - (Wide)onward * BEFORE; }

// Adds the live rows of the next records of sides `which` to tails: of_side, of each, or UNFIT or LATER. rows: C and D of each tail's window, 0 at first.
extern "C" __global__ void tails_join(const Memory* memory, const Side* sides, const int* which, int count, Tail* tails, unsigned* rows, unsigned long long* table,
                                      unsigned long long slots, int most, int* made, int* of_side) {
  const int lane = threadIdx.x % 32;
  for (int job = (blockIdx.x * blockDim.x + threadIdx.x) / 32; job < count; job += gridDim.x * blockDim.x / 32) {
    const Side& side = sides[which[job]];
    const unsigned id = (unsigned)side.record;
    const Record& record = *record_at(memory->pool, id);
    const Wide end_query = record.query - record.onward * (side.column - side.end_column);
    const Wide first = (record.query - window_of_tail(end_query, record.onward)) * record.onward;
    int tail = UNFIT;
    if (first >= 0 && first + record.width < COLUMNS) {
      if (lane == 0) {
        const Tail wanted = {record.target - record.onward * (side.row - side.end_row), end_query, record.target, record.stop, record.onward, 0, 0, 0};
        tail = tail_of(wanted, tails, table, slots, most, made);
      }
      tail = __shfl_sync(TEAM, tail, 0);
    }
    if (lane == 0) of_side[job] = tail;
    if (tail < 0) continue;
    unsigned* const values = rows + (Wide)tail * 2 * COLUMNS + first;
    for (int x = lane; x < record.width; x += 32) {
      const unsigned word = cells_of(memory->pool, id)[x];
      if (word & 0xFFFF) atomicMax(values + x, word & 0xFFFF);
      if (word >> 16) atomicMax(values + COLUMNS + x, word >> 16);
    }
  }
}

__device__ __forceinline__ int value_of(unsigned cell) { return cell ? (int)cell - EXTENSION_BIAS + LINE : 0; }

// What `bytes` takes to find the scores of a column on the left and one on the right, a half each.
__device__ __forceinline__ unsigned selector(const Genome& genome, Wide left, Wide right) {
  const unsigned a = left >= 0 && left < genome.query_length ? genome.query[left] : 0, b = right >= 0 && right < genome.query_length ? genome.query[right] : 0;
  return a | (a | 8) << 4 | b << 8 | (b | 8) << 12;
}

// Bounds tails, a warp each, however they end (Tail::rows).
extern "C" __global__ void __launch_bounds__(32 * WARP_TEAMS, 5) tails_sweep(const Memory* memory, Tail* tails, const unsigned* rows, int count, int* next) {
  __shared__ int scores[SCORES];
  load_scores(memory->genome, scores);
  const Genome genome = memory->genome;
  const int lane = threadIdx.x % 32, x0 = lane * OF_LANE, ramp = x0 * EXTENSION_EXTENDED;
  const unsigned opened = both(-EXTENSION_OPENED), extended = both(-EXTENSION_EXTENDED);
  while (true) {
    const int job = next_job(next, lane, nullptr, true);
    if (job >= count) return;
    const Tail tail = tails[job];
    const unsigned* const live = rows + (Wide)job * 2 * COLUMNS + x0;
    const Wide window = window_of_tail(tail.end_query, tail.onward), letters_left = (tail.stop - tail.target) * tail.onward;
    unsigned value[HALF], down[HALF], select[HALF];  // of two columns: the row before, gaps down into this row, letters of the query
#pragma unroll
    for (int k = 0; k < HALF; k++) {
      value[k] = (unsigned)value_of(live[k]) | (unsigned)value_of(live[k + HALF]) << 16;
      down[k] = (unsigned)value_of(live[COLUMNS + k]) | (unsigned)value_of(live[COLUMNS + k + HALF]) << 16;
      select[k] = selector(genome, window + (Wide)tail.onward * (x0 + k), window + (Wide)tail.onward * (x0 + k + HALF));
    }
    const int most_rows = letters_left < MOST_ROWS ? (int)letters_left : MOST_ROWS;
    bool failed = false, ended = false;
    int moved = 0, columns = 0, letter = 0, r = 0;
    unsigned top = 0, border = 0;  // greatest values since the last look: of all columns, of the last one
    while (r < most_rows && !failed && !ended) {
      if (r % 32 == 0) letter = r + lane < most_rows ? genome.target[tail.target + (Wide)tail.onward * (r + lane)] : 0;
      const int kind = __shfl_sync(TEAM, letter, r % 32);
      const unsigned low_scores = scores[2 * kind], high_scores = scores[2 * kind + 1];
      const unsigned neighbour = __shfl_up_sync(TEAM, value[HALF - 1], 1);
      unsigned diagonal = bytes(lane ? neighbour : 0, value[HALF - 1], 0x5432), from = 0;  // from: the best value a gap opens from, less what its letters cost since
#pragma unroll
      for (int k = 0; k < HALF; k++) {
        const unsigned before = value[k];
        value[k] = most_of_sum(diagonal, bytes(low_scores, high_scores, select[k]), down[k]);
        from = most_of_sum(from, extended, value[k]);
        diagonal = before;
      }
      const int left = (short)from, right = (int)from >> 16, first_half = HALF * EXTENSION_EXTENDED;
      const int lanes_before = __shfl_up_sync(TEAM, prefix_max(max(left - first_half, right) + ramp), 1);
      const int coming = lane ? max(lanes_before - (ramp - OF_LANE * EXTENSION_EXTENDED), 0) : 0;
      from = (unsigned)coming | (unsigned)max(coming - first_half, left) << 16;
      unsigned highest = 0;
#pragma unroll
      for (int k = 0; k < HALF; k++) {
        value[k] = most_of_sum(from, opened, value[k]);
        from = most_of_sum(from, extended, value[k]);
        down[k] = most_of_sum_or_0(down[k], extended, most_of_sum(value[k], opened, 0));
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
          const unsigned one = __shfl_down_sync(TEAM, value[k], dead), other = __shfl_down_sync(TEAM, down[k], dead), letters = __shfl_down_sync(TEAM, select[k], dead);
          const bool there = lane + dead < 32;
          const Wide column = window + (Wide)tail.onward * (moved * OF_LANE + x0 + k);
          value[k] = there ? one : 0;
          down[k] = there ? other : 0;
          select[k] = there ? letters : selector(genome, column, column + tail.onward * HALF);
        }
      }
    }
    failed |= !ended && r < letters_left;
    if (lane == 0) tails[job].rows = failed ? -r : r, tails[job].columns = columns;
  }
}

// Notes in the next records of sides `which` what was found of their tails.
extern "C" __global__ void tails_note(const Memory* memory, const Side* sides, const int* which, int count, const Tail* tails, const int* of_side, int* proven) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count || of_side[i] == LATER) return;
  const Side& side = sides[which[i]];
  Record& record = *record_at(memory->pool, (unsigned)side.record);
  record.tail = FAILED;
  record.patience = PATIENCE;
  if (of_side[i] == UNFIT) return;
  const Tail& tail = tails[of_side[i]];
  if (tail.rows < 0) {
    record.patience = -tail.rows / ROWS + 1;
  } else {
    const Wide end_query = record.query - record.onward * (side.column - side.end_column);
    record.tail = PROVEN;
    record.patience = 0;
    record.tail_rows = tail.rows;
    record.tail_columns = (int)(tail.columns - (record.query - window_of_tail(end_query, record.onward)) * record.onward);
    atomicAdd(proven, 1);
  }
}
