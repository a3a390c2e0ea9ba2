// A sieve of hits: the best score that the columns around one can have, from two bits a letter (ungapped/vectors.py has the rule and why it holds).
#pragma once

constexpr unsigned SIEVE_PADDING = 128;        // letters before the first one and behind the last one
constexpr int SIEVE_LEFT = 8, SIEVE_RIGHT = 6; // words of 16 letters that are looked at on a side of a hit's right end, at most
constexpr unsigned REACH = 16 * SIEVE_RIGHT;   // columns beyond the right end after which the scan of a hit that does not pass has ended
constexpr int SIEVE_TABLE = 512;
constexpr unsigned SIEVE_QUERY = 128;           // words of the query that a block keeps at hand

// Letters of a query around the windows of a block: near at hand where they are few enough.
struct SieveQuery {
  const unsigned* words;  // from word `base` on
  unsigned base, count;   // count: of those that are near, or 0

  // end, last: right ends of the first window and of the last.
  __device__ SieveQuery(const unsigned* query, unsigned end, unsigned last, const unsigned* near) {
    base = (end + SIEVE_PADDING) / 16 - SIEVE_LEFT;
    count = (last + SIEVE_PADDING) / 16 + SIEVE_RIGHT + 1 - base;
    words = near;
    if (count > SIEVE_QUERY) words = query, base = count = 0;
  }
  __device__ void load(const unsigned* query, unsigned* near, int threads) const {
    for (unsigned i = threadIdx.x; i < count; i += threads) near[i] = query[base + i];
  }
  // The 16 letters from `at`.
  __device__ unsigned letters(unsigned at) const {
    const unsigned* word = words + (at / 16 - base);
    return __funnelshift_r(word[0], word[1], 2 * (at & 15));
  }
};

// table: of four columns' kinds (a byte), going right and then going left, the highest sum of the first ones (above) and the sum of all (16 bits each).
struct Sieve {
  const unsigned* target;
  SieveQuery query;
  const int* table;
  int xdrop, threshold;

  __device__ static void load(const int* table, int* on_chip, int threads) {
    for (int i = threadIdx.x; i < SIEVE_TABLE; i += threads) on_chip[i] = table[i];
  }

  __device__ static void add(int entry, int& sum, int& best) {
    best = max(best, sum + (entry >> 16));
    sum += (short)entry;
  }

  // What the letters of a word of the target and of the query differ in, two bits a column: their scores, going right; going left.
  __device__ void right(unsigned kinds, int& sum, int& best) const {
#pragma unroll
    for (int i = 0; i < 4; i++) add(table[kinds >> 8 * i & 255], sum, best);
  }
  __device__ void left(unsigned kinds, int& sum, int& best) const {
#pragma unroll
    for (int i = 3; i >= 0; i--) add(table[256 + (kinds >> 8 * i & 255)], sum, best);
  }

  // The 16 letters of the target from `at`.
  __device__ unsigned letters(unsigned at) const {
    const unsigned* word = target + at / 16;
    return __funnelshift_r(word[0], word[1], 2 * (at & 15));
  }

  // Whether a hit may reach the threshold, or is not known to end in sight. end, query_end: its right end.
  __device__ bool passes(unsigned end, unsigned query_end) const {
    if (threshold <= 0) return true;
    const unsigned at = end + SIEVE_PADDING, query_at = query_end + SIEVE_PADDING, turn = 2 * (at & 15);
    // Most scans end within NEAR words on each side: those of the target in three loads, around[NEAR] the one with the letter at `at`.
    constexpr int NEAR = 4;
    unsigned around[12];
    const uint4* four = (const uint4*)target + (at / 64 - 1);
#pragma unroll
    for (int i = 0; i < 3; i++) {
      const uint4 loaded = __ldg(four + i);
      around[4 * i] = loaded.x, around[4 * i + 1] = loaded.y, around[4 * i + 2] = loaded.z, around[4 * i + 3] = loaded.w;
    }
#pragma unroll
    for (int i = 0; i < 11; i++) around[i] = at & 16 ? around[i + 1] : around[i];
#pragma unroll
    for (int i = 0; i < 2 * NEAR + 1; i++) around[i] = at & 32 ? around[i + 2] : around[i];

    int sum = 0, most_right = 0, most_left = 0;
    bool ended = false;
#pragma unroll
    for (int i = 0; i < NEAR; i++) {
      if (ended) continue;
      right(__funnelshift_r(around[NEAR + i], around[NEAR + i + 1], turn) ^ query.letters(query_at + 16 * i), sum, most_right);
      ended = most_right - sum > xdrop;
    }
    for (int i = NEAR; i < SIEVE_RIGHT && !ended; i++) {
      right(letters(at + 16 * i) ^ query.letters(query_at + 16 * i), sum, most_right);
      ended = most_right - sum > xdrop;
    }
    if (!ended) return true;
    sum = 0;
#pragma unroll
    for (int i = 1; i <= NEAR; i++) {
      left(__funnelshift_r(around[NEAR - i], around[NEAR - i + 1], turn) ^ query.letters(query_at - 16 * i), sum, most_left);
      if (most_left + most_right >= threshold) return true;
      if (most_left - sum > xdrop) return false;
    }
    for (int i = NEAR + 1; i <= SIEVE_LEFT; i++) {
      left(letters(at - 16 * i) ^ query.letters(query_at - 16 * i), sum, most_left);
      if (most_left + most_right >= threshold) return true;
      if (most_left - sum > xdrop) return false;
    }
    return true;
  }
};
