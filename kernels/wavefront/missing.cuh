// Words of the query that the target does not have: what the letters that a path has still to align cost at least (WAVEFRONT.md 8).
#pragma once
#include "letters/bases.cuh"
#include "wavefront/rows.cuh"

// Set by the launcher, as `shares` in kernels/letters/words.py has them:
//   WORD_LETTERS         letters of a word
//   WAVEFRONT_MISSING    units that a missing word costs
//   WAVEFRONT_INSERTED, _DELETED   64ths of a unit that each letter in a gap of the query, of the target, costs beside that

// What is missing in the query's letters from `letter` on, counted where 16 letters begin: those that begin at it or behind it.
__device__ inline int missing_from(const unsigned* counts, int letter) { return ((const unsigned short*)counts)[(letter + 15) >> 4]; }

// Units that letters of gaps in the query and in the target cost at least, beside missing words.
__device__ inline int shares_of(int inserted, int deleted) {
  return (int)(((long long)inserted * WAVEFRONT_INSERTED + (long long)deleted * WAVEFRONT_DELETED) / 64);
}

__device__ inline unsigned word_place(unsigned word, int places) { return word * 0x9e3779b1u >> (32 - places); }

// All threads of a pair: counts[n / 32 + 2] for `missing_from`. seen: memory of 1 << places bits, for words of the target; where two fall on one place words
// pass for seen.
__device__ inline void count_missing(const Pair& pair, unsigned* counts, unsigned* seen, int places) {
  const int thread = threadIdx.x % WAVEFRONT_THREADS, lane = thread % 32, last = (pair.query_length + 15) / 32;
  for (int i = thread; i < 1 << (places - 5); i += WAVEFRONT_THREADS) seen[i] = 0;
  group_sync();
  for (int h = thread; h + WORD_LETTERS <= pair.target_length; h += WAVEFRONT_THREADS) {
    const unsigned place = word_place(Pair::window(pair.target, h) >> 16, places);
    atomicOr(seen + (place >> 5), 1u << (place & 31));
  }
  group_sync();
  for (int i = thread / 32; i <= last; i += WAVEFRONT_THREADS / 32) {
    const int v = 32 * i + lane;
    bool missing = v + WORD_LETTERS <= pair.query_length;
    if (missing) {
      const unsigned place = word_place(Pair::window(pair.query, v) >> 16, places);
      missing = !(((volatile unsigned*)seen)[place >> 5] >> (place & 31) & 1);
    }
    const unsigned bits = __ballot_sync(0xffffffffu, missing);
    if (lane == 0) counts[i] = bits;
  }
  group_sync();
  if (thread < 32) {  // from the last word on, whichever begins last and ends before the one taken
    int count = 0, behind = pair.query_length;
    for (int i = last; i >= 0; i--) {
      unsigned bits = counts[i], halves = 0;
      for (int half = 1; half >= 0; half--) {
        const int begin = 32 * i + 16 * half;
        while (true) {
          const int most = behind - WORD_LETTERS - begin;  // the last place of the half that is free
          const unsigned within = most < 0 ? 0 : bits >> (16 * half) & ((2u << min(most, 15)) - 1) & 0xffff;
          if (!within) break;
          behind = begin + 31 - __clz(within);
          count++;
        }
        halves |= (unsigned)count << (16 * half);
      }
      __syncwarp();
      if (lane == 0) counts[i] = halves;
    }
  }
  group_sync();
}

struct Span {
  int low, high;
};

// The first and the last diagonal, of those from low - 1 to high + 1, on which a path that ends with at most `bound` can have a cell at penalty s or up to
// DEEPEST before; none: low above high. All threads of the pair; `found`: shared memory for two numbers.
__device__ inline Span trimmed(const Pair& pair, const Rows& rows, const unsigned* counts, int s, int low, int high, int bound, int goal, int* found) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x % WAVEFRONT_THREADS / 32;
  const int most = 64 * (min(bound - s, (1 << 25) - 4096) + DEEPEST + WAVEFRONT_MISSING);  // 31 bits, more than any cell asks for
  const auto live = [&](int k) {
    const int h = rows.furthest(k);
    if (h < 0) return false;
    const int v = max(min(h - k, pair.query_length), 0);
    return 64 * WAVEFRONT_MISSING * missing_from(counts, v) + (k < goal ? (goal - k) * WAVEFRONT_DELETED : (k - goal) * WAVEFRONT_INSERTED) <= most;
  };
  Span span = {NOWHERE, -NOWHERE};
  if (warp == 0)
    for (int k = low - 1; k <= high + 1; k += 32) {
      const unsigned bits = __ballot_sync(0xffffffffu, k + lane <= high + 1 && live(k + lane));
      if (bits) {
        span.low = k + __ffs(bits) - 1;
        break;
      }
    }
  if (warp == WAVEFRONT_THREADS / 32 - 1)
    for (int k = high + 1; k >= low - 1; k -= 32) {
      const unsigned bits = __ballot_sync(0xffffffffu, k - lane >= low - 1 && live(k - lane));
      if (bits) {
        span.high = k - __ffs(bits) + 1;
        break;
      }
    }
  if (WAVEFRONT_THREADS > 32) {
    if (threadIdx.x == 0) found[0] = span.low;
    if (threadIdx.x == WAVEFRONT_THREADS - 1) found[1] = span.high;
    __syncthreads();
    span = {found[0], found[1]};
  }
  return span;
}
