// Which hits are used, and their gap-free extension (ungapped.py): sorted hits of a tile, a diagonal's (or slot's) a run that one lane goes along.
#include "hit_keys.cuh"

constexpr int THREADS = 128;
constexpr unsigned ALL = ~0u;
constexpr int INT32_MOST = 0x7fffffff;
constexpr unsigned LONG = 128;  // columns after which a scan has a whole warp
constexpr unsigned PADDING = 16;  // letters of four bits (seed.cu) before the first

// Where each run of hits with one slot begins, in no order. kept: becomes `unused` for every hit.
extern "C" __global__ void __launch_bounds__(THREADS)
    hit_runs(const Key* keys, unsigned count, int exact, unsigned first, unsigned base, unsigned* run_count, unsigned* runs, unsigned long long unused,
             unsigned long long* kept) {
  const Layout layout = {exact, first, base};
  const unsigned i = blockIdx.x * THREADS + threadIdx.x, lane = threadIdx.x & 31;
  bool begins = false;
  if (i < count) {
    const Key key = keys[i];
    begins = key != NO_HIT && (i == 0 || layout.slot(keys[i - 1]) != layout.slot(key));
    kept[i] = unused;
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
  int deficit;      // of the sum, to the highest before
  long long best;
  unsigned place;   // columns of the best; only scans of a whole warp have it
  unsigned looked;  // columns looked at, when it has stopped; not of a lane's scan to the left
};

struct Hit {
  unsigned target, query;  // the right end
  unsigned target_length, query_length;

  __device__ Scan to_left(unsigned limit) const { return {target, query, 1, min(target, limit)}; }
  __device__ Scan to_right() const { return {target, query, 0, min(target_length - target, query_length - query)}; }
};

constexpr int OVER = 1 << 30;  // a deficit that nothing makes up for

// What stops a scan for certain.
__device__ inline int stopping_score(int xdrop) { return -max(xdrop, 0) - 1; }

// Where the eight columns from `column` begin.
__device__ inline unsigned eight(const Scan& scan, unsigned right_end, unsigned column) { return scan.left ? right_end - 8 - column : right_end + column; }

// Scores of the eight columns from `column`, whose letters are x and y, and which of them (a bit each) are beyond an end, which stops.
__device__ inline unsigned score_columns(const Sides& sides, const Scan& scan, unsigned column, unsigned x, unsigned y, int xdrop, int (&scores)[8]) {
  unsigned both = (x & 0x33333333) << 2 | (y & 0x33333333), odd = (x | y) & 0xcccccccc, ends = 0;
  if (scan.left) {
    both = __byte_perm(both, 0, 0x0123);
    both = both >> 4 & 0x0f0f0f0f | (both & 0x0f0f0f0f) << 4;
  }
#pragma unroll
  for (int i = 0; i < 8; i++) scores[i] = sides.pairs[both >> 4 * i & 15];
  if (odd || scan.limit - column < 8) {
    const unsigned t = eight(scan, scan.target, column), q = eight(scan, scan.query, column);
#pragma unroll
    for (int i = 0; i < 8; i++) {
      const int at = scan.left ? 7 - i : i;
      if (column + i >= scan.limit || odd >> 4 * at & 8) {
        scores[i] = stopping_score(xdrop);
        ends |= 1u << i;
      } else if (odd >> 4 * at & 4) {
        scores[i] = sides.table[sides.target[t + at] << 6 | sides.query[q + at]];
      }
    }
  }
  return ends;
}

struct Stop {
  unsigned columns;  // a bit for each column from where the scan stops
  int gain, place;   // what the best grows by, and with which column (-1: it does not)
};

__device__ inline Stop drop(const int (&scores)[8], int xdrop, int& deficit) {
  Stop stop = {0, 0, -1};
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

__device__ inline unsigned looked_at(unsigned column, unsigned stops, unsigned ends) {
  const int at = __ffs(stops) - 1;
  return column + at + !(ends >> at & 1);
}

// Eight letters after eight letters: a word is loaded once.
template <bool LEFT>
struct Reader {
  const unsigned* word;  // that is next
  unsigned held, shift;

  __device__ Reader(const unsigned* words, unsigned place) {
    const unsigned at = place + PADDING;
    word = words + (at >> 3) + !LEFT;
    held = word[LEFT ? 1 : -1];
    shift = 4 * (at & 7);
  }
  __device__ unsigned next() {
    const unsigned loaded = *word, letters = LEFT ? __funnelshift_r(loaded, held, shift) : __funnelshift_r(held, loaded, shift);
    word += LEFT ? -1 : 1;
    held = loaded;
    return letters;
  }
};

// A lane takes its scan to its end or to LONG columns; returns whether it has ended. after_stop: whether seven columns can gain more than `xdrop`. Else what
// follows the column of a stop changes no best, which is the sum of all eight and what it lacks in the end.
template <bool LEFT>
__device__ inline bool scan_alone(const Sides& sides, Scan& scan, int xdrop, bool after_stop) {
  scan.left = LEFT;
  Reader<LEFT> target(sides.target4, eight(scan, scan.target, scan.column)), query(sides.query4, eight(scan, scan.query, scan.column));
  for (; scan.column < LONG; scan.column += 8) {
    int scores[8], sum = 0, deficit = scan.deficit, deepest = 0, deepest_at[8];
    const unsigned x = target.next(), y = query.next(), ends = score_columns(sides, scan, scan.column, x, y, xdrop, scores);
#pragma unroll
    for (int i = 0; i < 8; i++) {
      sum += scores[i];
      deficit = max(deficit - scores[i], 0);
      deepest_at[i] = deepest = i ? max(deepest, deficit) : deficit;
    }
    if (deepest <= xdrop) {
      scan.best += sum + deficit - scan.deficit;
      scan.deficit = deficit;
      continue;
    }
    scan.best += after_stop ? drop(scores, xdrop, scan.deficit).gain : sum + deficit - scan.deficit;
    if (!LEFT) {
      unsigned stops = 0;
#pragma unroll
      for (int i = 0; i < 8; i++) stops |= (deepest_at[i] > xdrop) << i;
      scan.looked = looked_at(scan.column, stops, ends);
    }
    return true;
  }
  return false;
}

// All lanes take the scan of `owner` to its end, 256 columns at a time.
__device__ inline void scan_together(const Sides& sides, Scan& own, int owner, int xdrop) {
  const unsigned lane = threadIdx.x & 31;
  Scan scan = {__shfl_sync(ALL, own.target, owner), __shfl_sync(ALL, own.query, owner),   __shfl_sync(ALL, own.left, owner), __shfl_sync(ALL, own.limit, owner),
               __shfl_sync(ALL, own.column, owner), __shfl_sync(ALL, own.deficit, owner), __shfl_sync(ALL, own.best, owner)};
  unsigned x = 0, y = 0, column = scan.column + 8 * lane;
  if (column < scan.limit) {
    x = Sides::window(sides.target4, eight(scan, scan.target, column));
    y = Sides::window(sides.query4, eight(scan, scan.query, column));
  }
  while (true) {
    int scores[8], sum = 0, highest = 0;
    unsigned ends = 0xff, next_x = 0, next_y = 0;
    if (column + 256 < scan.limit) {  // on their way while these are looked at
      next_x = Sides::window(sides.target4, eight(scan, scan.target, column + 256));
      next_y = Sides::window(sides.query4, eight(scan, scan.query, column + 256));
    }
    if (column < scan.limit) {
      ends = score_columns(sides, scan, column, x, y, xdrop, scores);
    } else {
#pragma unroll
      for (int i = 0; i < 8; i++) scores[i] = stopping_score(xdrop);
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
    const Stop stop = drop(scores, xdrop, deficit);
    const unsigned stopping = __ballot_sync(ALL, stop.columns != 0), last = stopping ? __ffs(stopping) - 1 : 31;
    const unsigned gaining = __ballot_sync(ALL, stop.place >= 0) & ALL >> 31 - last;
    if (gaining) {
      const int by = 31 - __clz(gaining);
      scan.best += __shfl_sync(ALL, peak + stop.gain, by);
      scan.place = __shfl_sync(ALL, column + stop.place + 1, by);
    }
    scan.deficit = __shfl_sync(ALL, deficit, last);
    if (stopping) {
      scan.looked = __shfl_sync(ALL, stop.columns ? looked_at(column, stop.columns, ends) : 0, last);
      if (lane == owner) own = scan;
      return;
    }
    column += 256;
    x = next_x;
    y = next_y;
  }
}

// What is known of a hit between kernels: columns to the left up to its diagonal's record (0: it is not used), and (above) the best to the right, as far as
// it has room.
__device__ inline unsigned long long extended(unsigned limit, long long best) { return limit | (unsigned long long)min(best, (long long)INT32_MOST) << 32; }

// The scans to the right, on which records depend: a lane goes along a run. counts: of runs, and of those taken. xdrop and the scores that gain are small
// enough for 256 columns to fit an int; none in `table` is less than what stops. records: as for use_seeds. extensions: see `extended`; those of hits that
// are not used are 0 already.
extern "C" __global__ void __launch_bounds__(THREADS)
    extend_right(const Key* keys, unsigned count, int exact, unsigned first, unsigned base, const unsigned* runs, unsigned* counts, int span,
                 unsigned* records, const unsigned* target4, const unsigned* query4, const unsigned char* target, const unsigned char* query,
                 unsigned target_length, unsigned query_length, const int* table, int xdrop, int after_stop, unsigned long long* extensions) {
  __shared__ int pairs[16];
  load_pairs(table, pairs);
  const Sides sides = {target4, query4, target, query, table, pairs};
  const Layout layout = {exact, first, base};
  const unsigned lane = threadIdx.x & 31, run_count = counts[0];
  bool wants = true, rests = false;  // another run; there is none
  unsigned at = 0, done = 0;
  Key slot = 0, key = NO_HIT;
  while (true) {
    const unsigned wanting = __ballot_sync(ALL, wants);
    if (wanting) {
      const int leader = __ffs(wanting) - 1;
      unsigned run = 0;
      if (lane == leader) run = atomicAdd(counts + 1, (unsigned)__popc(wanting));
      run = __shfl_sync(ALL, run, leader) + __popc(wanting & (1u << lane) - 1);
      if (wants) {
        wants = false;
        rests = run >= run_count;
        if (!rests) {
          at = runs[run];
          key = keys[at];
          slot = layout.slot(key);
          done = records ? records[slot] : 0;
        }
      }
      if (__all_sync(ALL, rests)) return;
    }
    bool waits = false;
    Scan scan = {};
    Key next = NO_HIT;
    if (!rests) {
      const Key bound = layout.bound(slot, done);
      if (key < bound) {
        at = seek(keys, at, count, bound);
        key = at < count ? keys[at] : NO_HIT;
      }
      if (layout.slot(key) == slot) {
        if (at + 1 < count) next = keys[at + 1];  // is here when the scan ends
        scan = Hit{layout.target(key) + span, layout.query(key) + span, target_length, query_length}.to_right();
        waits = !scan_alone<false>(sides, scan, xdrop, after_stop);
      } else {
        if (records) records[slot] = done;
        wants = true;
      }
    }
    for (unsigned waiting = __ballot_sync(ALL, waits); waiting; waiting &= waiting - 1) scan_together(sides, scan, __ffs(waiting) - 1, xdrop);
    if (!rests && !wants) {
      extensions[at] = extended(scan.query - done, scan.best);
      done = max(done, scan.query + scan.looked);
      key = next;
      at++;
    }
  }
}

// The scans to the left. candidates, found: hits whose score is at least `threshold`, in no order, and how many; a few more where scores are beyond 31 bits.
extern "C" __global__ void __launch_bounds__(THREADS)
    extend_left(const Key* keys, unsigned count, int exact, unsigned first, unsigned base, int span, const unsigned* target4, const unsigned* query4,
                const unsigned char* target, const unsigned char* query, const int* table, int xdrop, int after_stop, long long threshold,
                const unsigned long long* extensions, unsigned* found, unsigned* candidates) {
  __shared__ int pairs[16];
  load_pairs(table, pairs);
  const Sides sides = {target4, query4, target, query, table, pairs};
  const Layout layout = {exact, first, base};
  const unsigned i = blockIdx.x * THREADS + threadIdx.x, lane = threadIdx.x & 31;
  const unsigned long long extension = i < count ? extensions[i] : 0;
  bool waits = false;
  Scan scan = {};
  if (extension) {
    scan = Hit{layout.target(keys[i]) + span, layout.query(keys[i]) + span}.to_left((unsigned)extension);
    waits = !scan_alone<true>(sides, scan, xdrop, after_stop);
  }
  for (unsigned waiting = __ballot_sync(ALL, waits); waiting; waiting &= waiting - 1) scan_together(sides, scan, __ffs(waiting) - 1, xdrop);
  const long long right = extension >> 32;
  const bool enough = extension && (right == INT32_MOST || scan.best + right >= threshold);
  const unsigned finding = __ballot_sync(ALL, enough);
  unsigned at = 0;
  if (lane == 0 && finding) at = atomicAdd(found, (unsigned)__popc(finding));
  at = __shfl_sync(ALL, at, 0) + __popc(finding & (1u << lane) - 1);
  if (enough) candidates[at] = i;
}

// A candidate a warp: its order; columns to the left of the hit's right end and (above) to the right; score; identical columns of A and C, of G and T.
extern "C" __global__ void __launch_bounds__(THREADS)
    hsp_rows(const Key* keys, int exact, unsigned first, unsigned base, int span, const unsigned* target4, const unsigned* query4,
             const unsigned char* target, const unsigned char* query, unsigned target_length, unsigned query_length, const int* table, int xdrop,
             const unsigned long long* extensions, const unsigned* candidates, unsigned count, long long* rows) {
  __shared__ int pairs[16];
  load_pairs(table, pairs);
  const Sides sides = {target4, query4, target, query, table, pairs};
  const Layout layout = {exact, first, base};
  const unsigned row = (blockIdx.x * THREADS + threadIdx.x) / 32, lane = threadIdx.x & 31;
  if (row >= count) return;
  const Key key = keys[candidates[row]];
  const Hit hit = {layout.target(key) + span, layout.query(key) + span, target_length, query_length};
  Scan left = hit.to_left((unsigned)extensions[candidates[row]]), right = hit.to_right();
  scan_together(sides, left, 0, xdrop);
  scan_together(sides, right, 0, xdrop);
  const unsigned before = __shfl_sync(ALL, left.place, 0), after = __shfl_sync(ALL, right.place, 0);
  unsigned counts[4] = {};
  for (unsigned column = 8 * lane; column < before + after; column += 256) {
    const unsigned x = Sides::window(target4, hit.target - before + column), y = Sides::window(query4, hit.query - before + column);
    unsigned same = (x ^ y) | (x & 0xcccccccc);  // 0 in the four bits of an identical upper-case column
    same |= same >> 2;
    same = ~(same | same >> 1) & 0x11111111;
    if (before + after - column < 8) same &= (1u << 4 * (before + after - column)) - 1;
    const unsigned low = x & same, high = x >> 1 & same;
    counts[0] += __popc(same & ~low & ~high);
    counts[1] += __popc(low & ~high);
    counts[2] += __popc(high & ~low);
    counts[3] += __popc(low & high);
  }
#pragma unroll
  for (int i = 0; i < 4; i++)
    for (int step = 16; step; step /= 2) counts[i] += __shfl_xor_sync(ALL, counts[i], step);
  if (lane) return;
  long long* mine = rows + 5ll * row;
  mine[0] = layout.order(key);
  mine[1] = before | (long long)after << 32;
  mine[2] = left.best + right.best;
  mine[3] = counts[0] | (long long)counts[1] << 32;
  mine[4] = counts[2] | (long long)counts[3] << 32;
}
