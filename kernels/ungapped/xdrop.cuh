// Gap-free scans of a hit by the x-drop rule, by a lane and by a warp (host.py has the rule).
#pragma once

constexpr unsigned ALL = ~0u;
constexpr unsigned LONG = 128;    // columns after which a scan has a whole warp
constexpr unsigned PADDING = 16;  // letters of four bits (seed.cu) before the first

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

// Scores of the eight columns from `column`, whose letters are x and y, and which of them (a bit each) are beyond the limit. Separators stop as these do.
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
        if (column + i >= scan.limit) ends |= 1u << i;  // a separator of the target is looked at
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
