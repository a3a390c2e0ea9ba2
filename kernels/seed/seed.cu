// Words of seed windows, an index of a target's windows by word, and the hits of a query's (index.py).
#include "seed/hit_keys.cuh"
#include "seed/sieve.cuh"
#include "seed/words.cuh"

constexpr int THREADS = 256;
constexpr int HITS = 2048;   // that a block of seed_hits writes
constexpr unsigned END = 12;  // of letters of four bits: a separator, and what is beyond both ends

__device__ inline unsigned first_of_warp() { return blockIdx.x * THREADS + (threadIdx.x & ~31u); }

// The word of a target's window if it is indexed.
__device__ inline unsigned indexed_word(const unsigned char* codes, unsigned length, unsigned windows, int step, const Gather& gather) {
  const unsigned word = word_at(codes, length, first_of_warp(), gather);
  const unsigned window = blockIdx.x * THREADS + threadIdx.x;
  return window < windows && ((unsigned long long)window + gather.span) % step == 0 ? word : NO_WORD;
}

// sizes[bucket + 1] += how many windows a bucket has.
extern "C" __global__ void __launch_bounds__(THREADS) index_sizes(const unsigned char* codes, unsigned length, unsigned windows, const unsigned* pieces,
                                                                  int piece_count, int high_bits, int span, int step, int shift, unsigned* sizes) {
  const unsigned word = indexed_word(codes, length, windows, step, {pieces, piece_count, high_bits, span});
  if (word != NO_WORD) atomicAdd(sizes + (word >> shift) + 1, 1u);
}

// Windows in buckets [low, high), in no order: word and, falling, place.
extern "C" __global__ void __launch_bounds__(THREADS)
    index_keys(const unsigned char* codes, unsigned length, unsigned windows, const unsigned* pieces, int piece_count, int high_bits, int span, int step,
               int shift, unsigned low, unsigned high, unsigned long long* written, Key* keys) {
  const unsigned word = indexed_word(codes, length, windows, step, {pieces, piece_count, high_bits, span});
  const bool wanted = word != NO_WORD && word >> shift >= low && word >> shift < high;
  const unsigned lane = threadIdx.x & 31, wanting = __ballot_sync(ALL, wanted);
  unsigned long long at = 0;
  if (lane == 0 && wanting) at = atomicAdd(written, (unsigned long long)__popc(wanting));
  at = __shfl_sync(ALL, at, 0) + __popc(wanting & (1u << lane) - 1);
  if (wanted) keys[at] = (Key)word << 32 | ~(blockIdx.x * THREADS + threadIdx.x);
}

__device__ inline unsigned long long lower_bound(const Key* keys, unsigned long long count, Key bound) {
  unsigned long long low = 0;
  while (count > low) {
    const unsigned long long middle = (low + count) / 2;
    if (keys[middle] < bound)
      low = middle + 1;
    else
      count = middle;
  }
  return low;
}

// Sorted keys become places; tags: null, or words; alike: null, or how many entries have an entry's word.
extern "C" __global__ void __launch_bounds__(THREADS)
    index_places(const Key* keys, unsigned long long count, unsigned* places, unsigned* tags, unsigned* alike) {
  const unsigned long long i = (unsigned long long)blockIdx.x * THREADS + threadIdx.x;
  if (i >= count) return;
  const Key key = keys[i];
  places[i] = ~(unsigned)key;
  if (tags) tags[i] = key >> 32;
  if (alike) alike[i] = lower_bound(keys, count, (key >> 32) + 1 << 32) - lower_bound(keys, count, key >> 32 << 32);
}

// alike[i] becomes 1 where it is at most `limit`, else 0.
extern "C" __global__ void __launch_bounds__(THREADS) index_rare(unsigned* alike, unsigned long long count, unsigned limit) {
  const unsigned long long i = (unsigned long long)blockIdx.x * THREADS + threadIdx.x;
  if (i < count) alike[i] = alike[i] <= limit;
}

// The index without entries that `kept`, a running sum, does not count.
extern "C" __global__ void __launch_bounds__(THREADS)
    index_close_up(const unsigned* kept, unsigned long long count, const unsigned* places, const unsigned* tags, unsigned* new_places, unsigned* new_tags,
                   unsigned* begins, unsigned long long bucket_ends) {
  const unsigned long long i = (unsigned long long)blockIdx.x * THREADS + threadIdx.x;
  if (i < count && kept[i] > (i ? kept[i - 1] : 0)) {
    new_places[kept[i] - 1] = places[i];
    if (tags) new_tags[kept[i] - 1] = tags[i];
  }
  if (i < bucket_ends) begins[i] = begins[i] ? kept[begins[i] - 1] : 0;
}

struct Range {
  unsigned begin, end;
};

// Entries of the index with a word. tags: of buckets that hold several words, else null.
__device__ inline Range entries(unsigned word, int shift, const unsigned* __restrict__ begins, const unsigned* __restrict__ tags) {
  Range found = {__ldg(begins + (word >> shift)), __ldg(begins + (word >> shift) + 1)};
  for (int side = 0; tags && side < 2; side++) {  // the first that is not below the word, then the first that is above
    unsigned low = found.begin, high = found.end;
    while (high > low) {
      const unsigned middle = low + (high - low) / 2;
      if (__ldg(tags + middle) < word + side)
        low = middle + 1;
      else
        high = middle;
    }
    (side ? found.end : found.begin) = low;
  }
  return found;
}

// Words of a query's windows from `first`, and how many hits each window has.
extern "C" __global__ void __launch_bounds__(THREADS)
    seed_counts(const unsigned char* codes, unsigned length, unsigned first, unsigned windows, const unsigned* pieces, int piece_count, int high_bits, int span,
                const unsigned* __restrict__ flips, int flip_count, int shift, const unsigned* __restrict__ begins, const unsigned* __restrict__ tags,
                unsigned* words, long long* counts) {
  const unsigned word = word_at(codes, length, first + first_of_warp(), {pieces, piece_count, high_bits, span});
  const unsigned window = blockIdx.x * THREADS + threadIdx.x;
  if (window >= windows) return;
  long long count = 0;
  if (word != NO_WORD) {
#pragma unroll 4
    for (int i = 0; i < flip_count; i++) {
      const Range found = entries(word ^ __ldg(flips + i), shift, begins, tags);
      count += found.end - found.begin;
    }
  }
  words[window] = word;
  counts[window] = count;
}

// Which hits count: at the places `full` windows may differ by so many transitions only, and all their letters have so many matches, and so many
// transversions at most.
struct Wanted {
  const unsigned char *target, *query;
  const unsigned char* full;
  int full_count, transitions, matches, transversions, span, checked;

  __device__ bool hit(unsigned t, unsigned q) const {
    if (!checked) return true;
    int differing = 0, equal = 0, crossing = 0;
    for (int i = 0; i < full_count; i++) {
      const unsigned differ = target[t + full[i]] ^ query[q + full[i]];
      differing += (differ != 0) + 4 * (differ & 1);
    }
    for (int i = 0; i < span; i++) {
      const unsigned differ = target[t + i] ^ query[q + i];
      equal += differ == 0;
      crossing += differ & 1;
    }
    return differing <= transitions && equal >= matches && crossing <= transversions;
  }
};

// firsts[block]: the window that has the first hit of a block of seed_hits; behind the last block's, that of the last hit. A warp each.
extern "C" __global__ void __launch_bounds__(THREADS)
    seed_blocks(const long long* __restrict__ sums, unsigned windows, long long begin, long long end, unsigned* firsts, unsigned count) {
  const unsigned block = (blockIdx.x * THREADS + threadIdx.x) / 32, lane = threadIdx.x & 31;
  if (block >= count) return;
  const long long hit = min(begin + (long long)block * HITS, end - 1);
  unsigned low = 0, high = windows - 1;  // of the first window whose hits end beyond it
  while (high > low) {
    const unsigned step = (high - low) / 32 + 1, at = (unsigned)min((unsigned long long)low + (lane + 1ull) * step - 1, (unsigned long long)high);
    const int beyond = __ffs(__ballot_sync(ALL, at == high || sums[at] > hit)) - 1;
    high = __shfl_sync(ALL, at, beyond);
    if (beyond) low += beyond * step;
  }
  if (lane == 0) firsts[block] = low;
}

// Hits [begin, end) of a query's windows from `first`, in LASTZ's order, HITS a block: as keys, or as places where `keys` is null. Those that do not count
// are NO_HIT, or -1. sums: hits up to and with each window; firsts: of seed_blocks. target2, query2 and what follows: of the sieve (sieve.cuh); where target2
// is null no key says that its hit is promising.
extern "C" __global__ void __launch_bounds__(THREADS, 5)
    seed_hits(const unsigned* __restrict__ words, const long long* __restrict__ sums, const unsigned* __restrict__ firsts, unsigned first,
              const unsigned* __restrict__ flips, int flip_count, int shift, const unsigned* __restrict__ begins, const unsigned* __restrict__ tags,
              const unsigned* __restrict__ places, const unsigned char* target, const unsigned char* query, const unsigned char* full, int full_count,
              int transitions, int matches, int transversions, int span, int checked, long long begin, long long end, int exact, unsigned base,
              const unsigned* __restrict__ target2, const unsigned* __restrict__ query2, const int* table, int xdrop, int threshold, Key* keys,
              long long* targets, long long* queries) {
  // Of a run of hits of one word and window, where the run's first hit is: its entry of the index less its place here; its window and flip. owners: where
  // the run of each hit begins.
  __shared__ unsigned run_entries[HITS], run_windows[HITS];
  __shared__ unsigned short owners[HITS];
  __shared__ unsigned latest[THREADS / 32];
  __shared__ int sieve_table[SIEVE_TABLE];
  __shared__ unsigned near[SIEVE_QUERY];
  const Layout layout = {exact, first, base};
  const Wanted wanted = {target, query, full, full_count, transitions, matches, transversions, span, checked};
  const long long from = begin + (long long)blockIdx.x * HITS, here = min(end - from, (long long)HITS);
  const unsigned low = firsts[blockIdx.x], high = firsts[blockIdx.x + 1];
  const SieveQuery letters(query2, first + low + span, first + high + span, near);
  const Sieve sieve = {target2, letters, sieve_table, xdrop, threshold};

  for (int i = threadIdx.x; i < HITS; i += THREADS) owners[i] = 0;
  if (target2) {
    Sieve::load(table, sieve_table, THREADS);
    letters.load(query2, near, THREADS);
  }
  // As many lanes share the flips of a window as there are for the windows here, which may be a dozen or thousands.
  int lanes = 16;
  while (lanes > 1 && (high - low + 1) * lanes > THREADS) lanes /= 2;
  __syncthreads();
  const unsigned lane = threadIdx.x & lanes - 1;
  for (unsigned next = low; next <= high; next += THREADS / lanes) {
    const unsigned window = next + threadIdx.x / lanes;
    const unsigned word = window <= high ? words[window] : NO_WORD;
    long long at = window && word != NO_WORD ? sums[window - 1] - from : -from;
#pragma unroll 4
    for (int i = 0; i < flip_count; i += lanes) {
      Range found = {0, 0};
      if (word != NO_WORD && i + lane < flip_count) found = entries(word ^ __ldg(flips + i + lane), shift, begins, tags);
      long long upto = found.end - found.begin;
      for (int step = 1; step < lanes; step *= 2) {
        const long long other = __shfl_up_sync(ALL, upto, step, lanes);
        if (lane >= step) upto += other;
      }
      const long long begins_at = at + upto - (found.end - found.begin);
      if (at + upto > 0 && begins_at < here && found.end > found.begin) {
        const int start = begins_at < 0 ? 0 : (int)begins_at;
        owners[start] = start;
        run_entries[start] = found.begin - (unsigned)begins_at;
        run_windows[start] = window << FLIP_BITS | i + lane;
      }
      at += __shfl_sync(ALL, upto, lanes - 1, lanes);
    }
  }
  __syncthreads();
  {  // A running maximum: of eight hits a thread, then of those before them.
    constexpr int EACH = HITS / THREADS;
    unsigned short* mine = owners + EACH * threadIdx.x;
    const unsigned lane = threadIdx.x & 31;
    unsigned highest = 0, upto[EACH];
#pragma unroll
    for (int i = 0; i < EACH; i++) upto[i] = highest = max(highest, (unsigned)mine[i]);
    for (int step = 1; step < 32; step *= 2) {
      const unsigned other = __shfl_up_sync(ALL, highest, step);
      if (lane >= step) highest = max(highest, other);
    }
    if (lane == 31) latest[threadIdx.x / 32] = highest;
    highest = __shfl_up_sync(ALL, highest, 1);
    if (lane == 0) highest = 0;
    __syncthreads();
    for (int warp = 0; warp < threadIdx.x / 32; warp++) highest = max(highest, latest[warp]);
#pragma unroll
    for (int i = 0; i < EACH; i++) mine[i] = max(upto[i], highest);
  }
  __syncthreads();
  unsigned next = threadIdx.x < here ? __ldg(places + (run_entries[owners[threadIdx.x]] + threadIdx.x)) : 0;
  for (unsigned at = threadIdx.x; at < here; at += THREADS) {
    const unsigned run = run_windows[owners[at]], window = run >> FLIP_BITS, t = next, then = at + THREADS;
    if (then < here) next = __ldg(places + (run_entries[owners[then]] + then));  // while this one is looked at
    const bool counts = wanted.hit(t, first + window);
    const long long out = from - begin + at;
    if (keys) {
      const bool passes = counts && target2 && sieve.passes(t + span, first + window + span);
      keys[out] = counts ? layout.key(t, window, run & (1u << FLIP_BITS) - 1, passes) : NO_HIT;
    } else {
      targets[out] = counts ? (long long)t : -1ll;
      queries[out] = first + window;
    }
  }
}

// Letters of four bits, eight a word, the first lowest: upper-case ACGT, OTHER, or END for a separator and beyond both ends, of which there are PADDING.
extern "C" __global__ void __launch_bounds__(THREADS)
    seed_letters(const unsigned char* codes, unsigned length, int separator, int padding, unsigned* words, unsigned word_count) {
  const unsigned i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= word_count) return;
  unsigned word = 0;
  for (int j = 7; j >= 0; j--) {
    const long long place = 8ll * i + j - padding;
    const unsigned code = place >= 0 && place < length ? codes[place] : separator;
    word = word << 4 | (code < 4 ? code : code == separator ? END : OTHER);
  }
  words[i] = word;
}

// Letters of two bits, sixteen a word, the first lowest: bases in either case; other letters are as the first base. SIEVE_PADDING before and behind.
extern "C" __global__ void __launch_bounds__(THREADS) seed_bases(const unsigned char* codes, unsigned length, unsigned* words, unsigned word_count) {
  const unsigned i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= word_count) return;
  unsigned word = 0;
  for (int j = 15; j >= 0; j--) {
    const long long place = 16ll * i + j - SIEVE_PADDING;
    const unsigned code = place >= 0 && place < length ? codes[place] : 0;
    word = word << 2 | (code < 8 ? code & 3 : 0);
  }
  words[i] = word;
}
