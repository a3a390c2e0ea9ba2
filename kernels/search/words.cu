// Words that queries and sequences share (kernels/search/words.py): a block has those of a query, a bit each, and its warps go through sequences.

constexpr int LETTERS = WORD_LETTERS, WORDS = 1 << 2 * LETTERS, THREADS = 256, WARPS = THREADS / 32;
static_assert(LETTERS == 8, "a lane has twelve letters at a time: the words that begin with four of them");

// Two bits of each of four letters, the first in the lowest.
__device__ __forceinline__ unsigned four(unsigned codes) {
  unsigned bits = codes & 0x03030303u;
  bits = (bits | bits >> 6) & 0x000F000Fu;
  return (bits | bits >> 12) & 0xFFu;
}

// Codes of both sides, a byte a letter, sequences from multiples of four on. Blocks of a query share the sequences. shared_words, alike: [queries][sequences of
// all strands], those of this strand: how many words of a sequence the query has, too; the same, less those that any letters would share.
extern "C" __global__ void __launch_bounds__(THREADS) count_shared(const unsigned char* queries, const long long* query_starts, const int* query_lengths,
                                                                   const unsigned char* targets, const long long* target_starts, const int* target_lengths,
                                                                   int count, int blocks_a_query, int strand, int strands, int* shared_words, int* alike) {
  __shared__ unsigned has[WORDS / 32];
  __shared__ int different;
  const int query_row = blockIdx.x / blocks_a_query, lane = threadIdx.x & 31, warp = threadIdx.x >> 5, n = query_lengths[query_row];
  const unsigned char* query = queries + query_starts[query_row];
  for (int i = threadIdx.x; i < WORDS / 32; i += THREADS) has[i] = 0;
  if (threadIdx.x == 0) different = 0;
  __syncthreads();
  for (int i = threadIdx.x; i + LETTERS <= n; i += THREADS) {
    unsigned word = 0;
    for (int k = 0; k < LETTERS; k++) word |= (query[i + k] & 3u) << 2 * k;
    atomicOr(&has[word >> 5], 1u << (word & 31));
  }
  __syncthreads();
  int own = 0;
  for (int i = threadIdx.x; i < WORDS / 32; i += THREADS) own += __popc(has[i]);
  atomicAdd(&different, own);
  __syncthreads();
  for (int target = blockIdx.x % blocks_a_query * WARPS + warp; target < count; target += blocks_a_query * WARPS) {
    const unsigned* codes = (const unsigned*)(targets + target_starts[target]);
    const int m = target_lengths[target];
    int found = 0;
    for (int first = 4 * lane; first + LETTERS <= m; first += 4 * 32) {
      const unsigned* own_codes = codes + first / 4;
      const unsigned letters = four(own_codes[0]) | four(own_codes[1]) << 8 | (first + LETTERS < m ? four(own_codes[2]) << 16 : 0);
#pragma unroll
      for (int k = 0; k < 4; k++) {
        const unsigned word = letters >> 2 * k & WORDS - 1;
        if (first + k + LETTERS <= m) found += has[word >> 5] >> (word & 31) & 1;
      }
    }
    found = __reduce_add_sync(~0u, found);
    if (lane == 0) {
      const long long at = ((long long)query_row * count + target) * strands + strand;
      shared_words[at] = found;
      alike[at] = found - (int)((long long)m * different / WORDS);
    }
  }
}
