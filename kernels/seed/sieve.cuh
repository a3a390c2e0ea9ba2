// A sieve of hits: the best score that the columns around one can have, from two bits a letter (ungapped/vectors.py has the rule and why it holds).
#pragma once

constexpr unsigned SIEVE_PADDING = 128;        // letters before the first one and behind the last one
constexpr int SIEVE_LEFT = 8, SIEVE_RIGHT = 6; // words of 16 letters that are looked at on a side of a hit's right end, at most
constexpr unsigned REACH = 16 * SIEVE_RIGHT;   // columns beyond the right end after which the scan of a hit that does not pass has ended
constexpr int SIEVE_TABLE = 512;

// table: of four columns' kinds (a byte), going right and then going left, the highest sum of the first ones (above) and the sum of all (16 bits each).
struct Sieve {
  const unsigned *target, *query;
  const int* table;
  int xdrop, threshold;

  __device__ static void load(const int* table, int* on_chip, int threads) {
    for (int i = threadIdx.x; i < SIEVE_TABLE; i += threads) on_chip[i] = table[i];
  }

  // What the 16 letters from `at` differ in, two bits a column.
  __device__ static unsigned differing(const unsigned* target, const unsigned* query, unsigned at, unsigned query_at) {
    const unsigned *t = target + (at >> 4), *q = query + (query_at >> 4);
    return __funnelshift_r(t[0], t[1], 2 * (at & 15)) ^ __funnelshift_r(q[0], q[1], 2 * (query_at & 15));
  }

  __device__ static void add(int entry, int& sum, int& best) {
    best = max(best, sum + (entry >> 16));
    sum += (short)entry;
  }

  // Whether a hit may reach the threshold, or is not known to end in sight. end, query_end: its right end.
  __device__ bool passes(unsigned end, unsigned query_end) const {
    if (threshold <= 0) return true;
    unsigned at = end + SIEVE_PADDING, query_at = query_end + SIEVE_PADDING;
    int sum = 0, right = 0, left = 0;
    bool ended = false;
    for (int word = 0; word < SIEVE_RIGHT && !ended; word++, at += 16, query_at += 16) {
      const unsigned kinds = differing(target, query, at, query_at);
#pragma unroll
      for (int i = 0; i < 4; i++) add(table[kinds >> 8 * i & 255], sum, right);
      ended = right - sum > xdrop;
    }
    if (!ended) return true;
    at = end + SIEVE_PADDING - 16, query_at = query_end + SIEVE_PADDING - 16;
    sum = 0;
    for (int word = 0; word < SIEVE_LEFT; word++, at -= 16, query_at -= 16) {
      const unsigned kinds = differing(target, query, at, query_at);
#pragma unroll
      for (int i = 3; i >= 0; i--) add(table[256 + (kinds >> 8 * i & 255)], sum, left);
      if (left + right >= threshold) return true;
      if (left - sum > xdrop) return false;
    }
    return true;
  }
};
