// Which hits are used, and their gap-free extension (hsps.py): sorted hits of a tile, a diagonal's (or slot's) a run that one lane goes along.
#include "seed/hit_keys.cuh"
#include "ungapped/xdrop.cuh"

constexpr int THREADS = 128;
constexpr int INT32_MOST = 0x7fffffff;

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
