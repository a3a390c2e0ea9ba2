// Which hits are used, and their gap-free extension (hsps.py): sorted hits of a tile, a diagonal's (or slot's) a run that one lane goes along.
#include "seed/hit_keys.cuh"
#include "seed/sieve.cuh"
#include "ungapped/xdrop.cuh"

constexpr int THREADS = 128;
constexpr int INT32_MOST = 0x7fffffff;
constexpr int AHEAD = 8; // hits of a run that are fetched together: two sectors

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

// What is known of a hit between kernels: columns to the left up to its diagonal's record, and (above) the best to the right, as far as it has room.
__device__ inline unsigned long long extended(unsigned limit, long long best) { return limit | (unsigned long long)min(best, (long long)INT32_MOST) << 32; }

// A run of hits of one slot, and which of them is scanned next. Only scans that a promising hit's own, or whether it is used, can depend on are done. Hits that
// are not promising stop looking within REACH columns of their right end: where none of those before a hit reaches it, it is used whatever they were, and from
// its scan on all is known. So before a promising hit (the goal) a chain of them is scanned: from the first one back that no other before it reaches.
// With records the last hit of a run is a goal as well.
struct Run {
  const Key* keys;
  unsigned count;
  Layout layout;
  unsigned reach;  // of hits that are not promising, from where they start

  Key slot;
  unsigned at, stop;  // the next hit; behind the last of the chain
  unsigned done;      // the query place before which hits are passed over, as far as it matters to hits from `at` on

  __device__ void begin(unsigned first, const unsigned* records) {
    at = stop = first;
    slot = layout.slot(keys[first]);
    done = records ? records[slot] : 0;
  }

  // The next hit that has to be scanned, or NO_HIT: the run is over.
  __device__ Key next(bool recorded) {
    do {
      for (; at < stop; at++) {
        const Key key = keys[at];
        if (layout.query(key) >= done) return key;
      }
    } while (find_chain(recorded));
    return NO_HIT;
  }

  __device__ bool find_chain(bool recorded) {
    if (at < count && keys[at] < layout.bound(slot, done)) at = seek(keys, at, count, layout.bound(slot, done));
    bool promising = false, over = false;
    for (stop = at; stop < count && !promising && !over;) {
      Key ahead[AHEAD];
#pragma unroll
      for (int i = 0; i < AHEAD; i++) ahead[i] = keys[min(stop + i, count - 1)];
#pragma unroll
      for (int i = 0; i < AHEAD; i++) {
        if (promising || over || stop == count) continue;
        over = layout.slot(ahead[i]) != slot;
        if (over) continue;
        promising = ahead[i] & PROMISING;
        stop++;
      }
    }
    if (!promising && (!recorded || stop == at)) {
      stop = at;
      return false;
    }
    // At least one before a promising hit: where its scan stopped bounds the scan to the left.
    unsigned from = stop - 1;
    if (promising && from > at) from--;
    while (from > at && layout.query(keys[from]) < layout.query(keys[from - 1]) + reach) from--;
    at = from;
    return true;
  }
};

// The scans to the right, on which records depend: a lane goes along a run. counts: of runs, of those taken, of promising hits that are used. xdrop and the
// scores that gain are small enough for 256 columns to fit an int; none in `table` is less than what stops. records: as for use_seeds. used, extensions: which
// promising hits are used, in no order, and what is known of each (`extended`).
extern "C" __global__ void __launch_bounds__(THREADS)
    extend_right(const Key* keys, unsigned count, int exact, unsigned first, unsigned base, const unsigned* runs, unsigned* counts, int span,
                 unsigned* records, const unsigned* target4, const unsigned* query4, const unsigned char* target, const unsigned char* query,
                 unsigned target_length, unsigned query_length, const int* table, int xdrop, int after_stop, unsigned* used, unsigned long long* extensions) {
  __shared__ int pairs[16];
  load_pairs(table, pairs);
  const Sides sides = {target4, query4, target, query, table, pairs};
  const unsigned lane = threadIdx.x & 31, run_count = counts[0];
  Run run = {keys, count, {exact, first, base}, span + REACH};
  bool wants = true, rests = false;  // another run; there is none
  while (true) {
    const unsigned wanting = __ballot_sync(ALL, wants);
    if (wanting) {
      const int leader = __ffs(wanting) - 1;
      unsigned number = 0;
      if (lane == leader) number = atomicAdd(counts + 1, (unsigned)__popc(wanting));
      number = __shfl_sync(ALL, number, leader) + __popc(wanting & (1u << lane) - 1);
      if (wants) {
        wants = false;
        rests = number >= run_count;
        if (!rests) run.begin(runs[number], records);
      }
      if (__all_sync(ALL, rests)) return;
    }
    bool waits = false;
    Scan scan = {};
    Key key = NO_HIT;
    if (!rests) {
      key = run.next(records);
      if (key == NO_HIT) {
        if (records) records[run.slot] = run.done;
        wants = true;
      } else {
        scan = Hit{run.layout.target(key) + span, run.layout.query(key) + span, target_length, query_length}.to_right();
        waits = !scan_alone<false>(sides, scan, xdrop, after_stop);
      }
    }
    for (unsigned waiting = __ballot_sync(ALL, waits); waiting; waiting &= waiting - 1) scan_together(sides, scan, __ffs(waiting) - 1, xdrop);
    const bool scanned = !rests && !wants, promising = scanned && key & PROMISING;
    const unsigned finding = __ballot_sync(ALL, promising);
    unsigned at = 0;
    if (lane == 0 && finding) at = atomicAdd(counts + 2, (unsigned)__popc(finding));
    at = __shfl_sync(ALL, at, 0) + __popc(finding & (1u << lane) - 1);
    if (promising) {
      used[at] = run.at;
      extensions[at] = extended(scan.query - run.done, scan.best);
    }
    if (scanned) {
      run.done = max(run.done, scan.query + scan.looked);
      run.at++;
    }
  }
}

// The scans to the left of used hits. counts: of these; then becomes that of those whose score is at least `threshold` (a few more where scores are beyond 31
// bits). candidates: which of them, in no order.
extern "C" __global__ void __launch_bounds__(THREADS)
    extend_left(const Key* keys, int exact, unsigned first, unsigned base, int span, const unsigned* target4, const unsigned* query4,
                const unsigned char* target, const unsigned char* query, const int* table, int xdrop, int after_stop, long long threshold,
                const unsigned* used, const unsigned long long* extensions, unsigned* counts, unsigned* candidates) {
  __shared__ int pairs[16];
  load_pairs(table, pairs);
  const Sides sides = {target4, query4, target, query, table, pairs};
  const Layout layout = {exact, first, base};
  const unsigned lane = threadIdx.x & 31, count = counts[0];
  for (unsigned here = blockIdx.x * THREADS + threadIdx.x - lane; here < count; here += gridDim.x * THREADS) {
    const unsigned i = here + lane;
    const bool mine = i < count;
    const unsigned long long extension = mine ? extensions[i] : 0;
    bool waits = false;
    Scan scan = {};
    if (mine) {
      const Key key = keys[used[i]];
      scan = Hit{layout.target(key) + span, layout.query(key) + span}.to_left((unsigned)extension);
      waits = !scan_alone<true>(sides, scan, xdrop, after_stop);
    }
    for (unsigned waiting = __ballot_sync(ALL, waits); waiting; waiting &= waiting - 1) scan_together(sides, scan, __ffs(waiting) - 1, xdrop);
    const long long right = extension >> 32;
    const bool enough = mine && (right == INT32_MOST || scan.best + right >= threshold);
    const unsigned finding = __ballot_sync(ALL, enough);
    unsigned at = 0;
    if (lane == 0 && finding) at = atomicAdd(counts + 1, (unsigned)__popc(finding));
    at = __shfl_sync(ALL, at, 0) + __popc(finding & (1u << lane) - 1);
    if (enough) candidates[at] = i;
  }
}

// A candidate a warp: its order; columns to the left of the hit's right end and (above) to the right; score; identical columns of A and C, of G and T.
extern "C" __global__ void __launch_bounds__(THREADS)
    hsp_rows(const Key* keys, int exact, unsigned first, unsigned base, int span, const unsigned* target4, const unsigned* query4,
             const unsigned char* target, const unsigned char* query, unsigned target_length, unsigned query_length, const int* table, int xdrop,
             const unsigned* used, const unsigned long long* extensions, const unsigned* candidates, unsigned count, long long* rows) {
  __shared__ int pairs[16];
  load_pairs(table, pairs);
  const Sides sides = {target4, query4, target, query, table, pairs};
  const Layout layout = {exact, first, base};
  const unsigned row = (blockIdx.x * THREADS + threadIdx.x) / 32, lane = threadIdx.x & 31;
  if (row >= count) return;
  const unsigned candidate = candidates[row];
  const Key key = keys[used[candidate]];
  const Hit hit = {layout.target(key) + span, layout.query(key) + span, target_length, query_length};
  Scan left = hit.to_left((unsigned)extensions[candidate]), right = hit.to_right();
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
