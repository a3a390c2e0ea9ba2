// Which hits are used, and their gap-free extension (ungapped.py): sorted hits of a tile, a diagonal's (or slot's) a run that one lane goes along.
#include "hit_keys.cuh"

constexpr int THREADS = 128;
constexpr unsigned ALL = ~0u;
constexpr unsigned LONG = 1024;  // columns after which a scan has a whole warp
constexpr unsigned PADDING = 16;  // letters of four bits (seed.cu) before the first

// Where each run of hits with one slot begins, in no order. kept: null, or becomes NO_HIT for every hit.
extern "C" __global__ void __launch_bounds__(THREADS)
    hit_runs(const Key* keys, unsigned count, int exact, unsigned first, unsigned base, unsigned* run_count, unsigned* runs, Key* kept) {
  const Layout layout = {exact, first, base};
  const unsigned i = blockIdx.x * THREADS + threadIdx.x, lane = threadIdx.x & 31;
  bool begins = false;
  if (i < count) {
    const Key key = keys[i];
    begins = key != NO_HIT && (i == 0 || layout.slot(keys[i - 1]) != layout.slot(key));
    if (kept) kept[i] = NO_HIT;
  }
  const unsigned beginning = __ballot_sync(ALL, begins);
  unsigned at = 0;
  if (lane == 0 && beginning) at = atomicAdd(run_count, (unsigned)__popc(beginning));
  at = __shfl_sync(ALL, at, 0) + __popc(beginning & (1u << lane) - 1);
  if (begins) runs[at] = i;
}

// Without gap-free extension: kept[i] becomes the order of a hit that is used. records: null (they all begin at 0 and nobody asks afterwards), or the query
// place of each slot before which hits are passed over.
extern "C" __global__ void __launch_bounds__(THREADS)
    use_seeds(const Key* keys, unsigned count, int exact, unsigned first, unsigned base, const unsigned* runs, const unsigned* run_count, int span,
              unsigned* records, Key* kept, unsigned* kept_count) {
  const Layout layout = {exact, first, base};
  unsigned used = 0;
  for (unsigned run = blockIdx.x * THREADS + threadIdx.x; run < *run_count; run += gridDim.x * THREADS) {
    unsigned at = runs[run];
    Key key = keys[at];
    const Key slot = layout.slot(key);
    unsigned done = records ? records[slot] : 0;
    while (layout.slot(key) == slot) {
      const unsigned query = layout.query(key);
      if (query >= done) {
        kept[at] = layout.order(key);
        done = query + span;
        used++;
      }
      at = seek(keys, at, count, layout.bound(slot, done));
      key = at < count ? keys[at] : NO_HIT;
    }
    if (records) records[slot] = done;
  }
  for (int step = 16; step; step /= 2) used += __shfl_xor_sync(ALL, used, step);
  if (threadIdx.x % 32 == 0) atomicAdd(kept_count, used);
}

// The letters of both sides, of four bits and as codes, and the scores: of A, C, G and T on chip, the target's first, else by code.
struct Sides {
  const unsigned *target4, *query4;
  const unsigned char *target, *query;
  const int *table, *pairs;

  static __device__ unsigned window(const unsigned* words, unsigned place) {  // eight letters from `place`
    const unsigned at = place + PADDING;
    return __funnelshift_r(words[at >> 3], words[(at >> 3) + 1], 4 * (at & 7));
  }
};

__device__ inline void load_pairs(const int* table, int* pairs) {
  if (threadIdx.x < 16) pairs[threadIdx.x] = table[threadIdx.x / 4 << 6 | threadIdx.x % 4];
  __syncthreads();
}

// The segments of used hits, their orders sorted.
extern "C" __global__ void __launch_bounds__(THREADS)
    seed_segments(const Key* orders, unsigned count, unsigned first, int span, const unsigned* target4, const unsigned* query4, const int* table,
                  long long* targets, long long* queries, long long* scores) {
  __shared__ int pairs[16];
  load_pairs(table, pairs);
  const unsigned i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= count || orders[i] == NO_HIT) return;
  const unsigned t = ~(unsigned)orders[i], q = first + (unsigned)(orders[i] >> 32 + FLIP_BITS);
  long long score = 0;
  for (int column = 0; column < span; column += 8) {
    const unsigned both = (Sides::window(target4, t + column) & 0x33333333) << 2 | (Sides::window(query4, q + column) & 0x33333333);
    for (int j = 0; j < 8; j++) score += column + j < span ? pairs[both >> 4 * j & 15] : 0;
  }
  targets[i] = t;
  queries[i] = q;
  scores[i] = score;
}

// One scan of a hit from its right end, to the left or to the right: columns [0, limit).
struct Scan {
  unsigned target, query;  // the right end
  int left;
  unsigned limit;
  unsigned column;  // that is next
  int deficit;      // of the sum, to the highest before; `xdrop` at most
  long long best;
  unsigned place;  // columns of the best
};

struct Stop {
  unsigned columns;  // a bit for each column from where the scan stops
  unsigned ends;     // for each that is beyond an end
  int gain, place;   // what the best grows by, and with which column (-1: it does not)

  // Columns looked at; it must stop.
  __device__ unsigned looked(unsigned before) const {
    const int at = __ffs(columns) - 1;
    return before + at + !(ends >> at & 1);
  }
};

constexpr int OVER = 1 << 30;  // a deficit that nothing makes up for

// Scores of the eight columns from `column`; beyond an end, less than any scan goes on with.
__device__ inline unsigned score_columns(const Sides& sides, const Scan& scan, unsigned column, int xdrop, int (&scores)[8]) {
  const unsigned t = scan.left ? scan.target - 8 - column : scan.target + column, q = scan.left ? scan.query - 8 - column : scan.query + column;
  unsigned x = Sides::window(sides.target4, t), y = Sides::window(sides.query4, q), ends = 0;
  if (scan.left) {
    x = __byte_perm(x, 0, 0x0123);
    y = __byte_perm(y, 0, 0x0123);
    x = x >> 4 & 0x0f0f0f0f | (x & 0x0f0f0f0f) << 4;
    y = y >> 4 & 0x0f0f0f0f | (y & 0x0f0f0f0f) << 4;
  }
  const unsigned both = (x & 0x33333333) << 2 | (y & 0x33333333), odd = (x | y) & 0xcccccccc;
#pragma unroll
  for (int i = 0; i < 8; i++) scores[i] = sides.pairs[both >> 4 * i & 15];
  if (odd || scan.limit - column < 8) {
#pragma unroll
    for (int i = 0; i < 8; i++) {
      const int at = scan.left ? 7 - i : i;
      if (column + i >= scan.limit || odd >> 4 * i & 8) {
        scores[i] = -max(xdrop, 0) - 1;
        ends |= 1u << i;
      } else if (odd >> 4 * i & 4) {
        scores[i] = sides.table[sides.target[t + at] << 6 | sides.query[q + at]];
      }
    }
  }
  return ends;
}

__device__ inline Stop drop(const int (&scores)[8], unsigned ends, int xdrop, int& deficit) {
  Stop stop = {0, ends, 0, -1};
#pragma unroll
  for (int i = 0; i < 8; i++) {
    deficit -= scores[i];
    if (deficit < 0) stop.place = i;
    stop.gain -= min(deficit, 0);
    deficit = max(deficit, 0);
    if (deficit > xdrop) {
      stop.columns |= 1u << i;
      deficit = OVER;
    }
  }
  return stop;
}

// All lanes take the scan of `owner` to its end, 256 columns at a time; returns how many columns were looked at.
__device__ inline unsigned scan_together(const Sides& sides, Scan& own, int owner, int xdrop) {
  const unsigned lane = threadIdx.x & 31;
  Scan scan = {__shfl_sync(ALL, own.target, owner), __shfl_sync(ALL, own.query, owner),   __shfl_sync(ALL, own.left, owner), __shfl_sync(ALL, own.limit, owner),
               __shfl_sync(ALL, own.column, owner), __shfl_sync(ALL, own.deficit, owner), __shfl_sync(ALL, own.best, owner), __shfl_sync(ALL, own.place, owner)};
  while (true) {
    const unsigned column = scan.column + 8 * lane;
    int scores[8], sum = 0, highest = 0;
    unsigned ends = 0xff;
    if (column < scan.limit) {
      ends = score_columns(sides, scan, column, xdrop, scores);
    } else {
#pragma unroll
      for (int i = 0; i < 8; i++) scores[i] = -max(xdrop, 0) - 1;
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
      sum += scores[i];
      highest = i ? max(highest, sum) : sum;
    }
    // The sum before this lane's columns, and the highest one before them; that of before this round is 0.
    int before = sum;
    for (int step = 1; step < 32; step *= 2) {
      const int other = __shfl_up_sync(ALL, before, step);
      if (lane >= step) before += other;
    }
    before -= sum + scan.deficit;
    int peak = max(before + highest, 0);
    for (int step = 1; step < 32; step *= 2) {
      const int other = __shfl_up_sync(ALL, peak, step);
      if (lane >= step) peak = max(peak, other);
    }
    peak = __shfl_up_sync(ALL, peak, 1);
    if (lane == 0) peak = 0;
    int deficit = peak - before;
    const Stop stop = drop(scores, ends, xdrop, deficit);
    const unsigned stopping = __ballot_sync(ALL, stop.columns != 0), last = stopping ? __ffs(stopping) - 1 : 31;
    const unsigned gaining = __ballot_sync(ALL, stop.place >= 0) & ALL >> 31 - last;
    if (gaining) {
      const int by = 31 - __clz(gaining);
      scan.best += __shfl_sync(ALL, peak + stop.gain, by);
      scan.place = __shfl_sync(ALL, column + stop.place + 1, by);
    }
    scan.deficit = __shfl_sync(ALL, deficit, last);
    const unsigned looked = __shfl_sync(ALL, stop.columns ? stop.looked(column) : 0, last);
    if (stopping) {
      if (lane == owner) own = scan;
      return looked;
    }
    scan.column += 256;
  }
}

constexpr int WANTS_RUN = 0, WANTS_HIT = 1, SCANS = 2, RESTS = 3;

// HSPs of used hits whose score, before entropy, is at least `threshold`. counts: of runs, of those taken, of rows; a row is the order of a hit, the columns
// to the left of its right end and (above) to the right, and the score. Scores and `xdrop` are small enough for 256 columns to fit an int; those of `table`
// are at least -xdrop - 1 (and negative: `xdrop` may be). records: as for use_seeds.
extern "C" __global__ void __launch_bounds__(THREADS)
    extend_hits(const Key* keys, unsigned count, int exact, unsigned first, unsigned base, const unsigned* runs, unsigned* counts, int span,
                unsigned* records, const unsigned* target4, const unsigned* query4, const unsigned char* target, const unsigned char* query,
                unsigned target_length, unsigned query_length, const int* table, int xdrop, long long threshold, long long* rows) {
  __shared__ int pairs[16];
  load_pairs(table, pairs);
  const Sides sides = {target4, query4, target, query, table, pairs};
  const Layout layout = {exact, first, base};
  const unsigned lane = threadIdx.x & 31, run_count = counts[0];
  int state = WANTS_RUN;
  unsigned at = 0, done = 0;
  Key slot = 0, key = NO_HIT;
  Scan scan = {};
  long long left_best = 0;
  unsigned left_place = 0;
  while (true) {
    const unsigned wanting = __ballot_sync(ALL, state == WANTS_RUN);
    if (wanting) {
      const int leader = __ffs(wanting) - 1;
      unsigned run = 0;
      if (lane == leader) run = atomicAdd(counts + 1, (unsigned)__popc(wanting));
      run = __shfl_sync(ALL, run, leader) + __popc(wanting & (1u << lane) - 1);
      if (state == WANTS_RUN) {
        state = run < run_count ? WANTS_HIT : RESTS;
        if (state == WANTS_HIT) {
          at = runs[run];
          slot = layout.slot(keys[at]);
          done = records ? records[slot] : 0;
        }
      }
      if (__all_sync(ALL, state == RESTS)) return;
    }
    if (state == WANTS_HIT) {
      key = at < count ? keys[at] : NO_HIT;
      const Key bound = layout.bound(slot, done);
      if (key < bound) {
        at = seek(keys, at, count, bound);
        key = at < count ? keys[at] : NO_HIT;
      }
      if (layout.slot(key) == slot) {
        scan = {layout.target(key) + span, layout.query(key) + span, 1};
        scan.limit = min(scan.target, scan.query - done);
        state = SCANS;
      } else {
        if (records) records[slot] = done;
        state = WANTS_RUN;
      }
    }
    bool stopped = false;
    unsigned looked = 0;
    if (state == SCANS && scan.column < LONG) {
      int scores[8];
      const unsigned ends = score_columns(sides, scan, scan.column, xdrop, scores);
      const Stop stop = drop(scores, ends, xdrop, scan.deficit);
      scan.best += stop.gain;
      if (stop.place >= 0) scan.place = scan.column + stop.place + 1;
      stopped = stop.columns != 0;
      if (stopped) looked = stop.looked(scan.column);
      scan.column += 8;
    }
    for (unsigned waiting = __ballot_sync(ALL, state == SCANS && scan.column >= LONG && !stopped); waiting; waiting &= waiting - 1) {
      const int owner = __ffs(waiting) - 1;
      const unsigned seen = scan_together(sides, scan, owner, xdrop);
      if (lane == owner) {
        looked = seen;
        stopped = true;
      }
    }
    bool found = false;
    Key order = 0;
    long long columns = 0, score = 0;
    if (stopped) {
      if (scan.left) {
        left_best = scan.best;
        left_place = scan.place;
        scan = {scan.target, scan.query, 0, min(target_length - scan.target, query_length - scan.query)};
      } else {
        done = max(done, scan.query + looked);
        score = left_best + scan.best;
        found = score >= threshold;
        order = layout.order(key);
        columns = left_place | (long long)scan.place << 32;
        at++;
        state = WANTS_HIT;
      }
    }
    const unsigned finding = __ballot_sync(ALL, found);
    if (finding) {
      unsigned row = 0;
      if (lane == 0) row = atomicAdd(counts + 2, (unsigned)__popc(finding));
      row = __shfl_sync(ALL, row, 0) + __popc(finding & (1u << lane) - 1);
      if (found) {
        long long* mine = rows + 3ll * row;
        mine[0] = order;
        mine[1] = columns;
        mine[2] = score;
      }
    }
  }
}
