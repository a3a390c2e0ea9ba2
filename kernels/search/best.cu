// The best of each row of scores, a block a row: the highest, and of equal ones the first.

constexpr int THREADS = 256, WARPS = THREADS / 32;

// How many of the threads before this one say yes, and how many of all do.
__device__ __forceinline__ int before(bool yes, int* sums, int& all) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const unsigned votes = __ballot_sync(~0u, yes);
  __syncthreads();
  if (lane == 0) sums[warp] = __popc(votes);
  __syncthreads();
  int found = __popc(votes & (1u << lane) - 1);
  all = 0;
  for (int each = 0; each < WARPS; each++) {
    if (each < warp) found += sums[each];
    all += sums[each];
  }
  return found;
}

// places, found: [rows][top], of each row the places and scores of its `top` best of `least` or more, by place; counts: how many there are.
extern "C" __global__ void __launch_bounds__(THREADS)
    best_of_rows(const int* scores, long long width, int top, int least, int* counts, int* places, int* found) {
  __shared__ int histogram[256], sums[WARPS], chosen[2];
  const int* row = scores + blockIdx.x * width;
  // The score of the last one taken, eight bits after eight; `wanted`: of those that have the bits so far, how many are taken.
  unsigned bound = 0, known = 0;
  int wanted = top;
  for (int shift = 24; shift >= 0 && width > top; shift -= 8) {
    for (int i = threadIdx.x; i < 256; i += THREADS) histogram[i] = 0;
    __syncthreads();
    for (long long i = threadIdx.x; i < width; i += THREADS) {
      const unsigned score = (unsigned)row[i] ^ 0x80000000u;
      if ((score & known) == bound) atomicAdd(&histogram[score >> shift & 255], 1);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      int digit = 255, above = 0;
      while (above + histogram[digit] < wanted) above += histogram[digit--];
      chosen[0] = digit, chosen[1] = wanted - above;
    }
    __syncthreads();
    bound |= (unsigned)chosen[0] << shift, known |= 255u << shift, wanted = chosen[1];
    __syncthreads();
  }
  const int lowest = max(least, width > top ? (int)(bound ^ 0x80000000u) : least);
  if (width <= top || lowest > (int)(bound ^ 0x80000000u)) wanted = top;  // all of `lowest` are taken
  int taken = 0, equal = 0;
  for (long long start = 0; start < width; start += THREADS) {
    const long long i = start + threadIdx.x;
    const int score = i < width ? row[i] : 0;
    int all;
    const bool same = i < width && score == lowest;
    const int rank = equal + before(same, sums, all);
    equal += all;
    const bool take = i < width && (score > lowest || (same && rank < wanted));
    const int place = taken + before(take, sums, all);
    taken += all;
    if (take) places[blockIdx.x * (long long)top + place] = (int)i, found[blockIdx.x * (long long)top + place] = score;
  }
  if (threadIdx.x == 0) counts[blockIdx.x] = taken;
}
