// Keys in the order of some of their bits, those that have these alike in the order they were in: a pass for each digit, the lowest first (sort.py).
typedef unsigned long long Key;

constexpr int THREADS = 256, WARPS = THREADS / 32;
constexpr int EACH = 16;                // keys of a thread
constexpr int KEYS = THREADS * EACH;    // of a block
constexpr int DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS;
constexpr unsigned ALL = ~0u;

__device__ inline unsigned digit_of(Key key, int bit, unsigned mask) { return (unsigned)(key >> bit) & mask; }

// counts[digit][block]: how many keys of a block have a digit.
extern "C" __global__ void __launch_bounds__(THREADS) sort_counts(const Key* keys, unsigned count, int bit, unsigned mask, unsigned* counts) {
  __shared__ unsigned found[DIGITS];
  found[threadIdx.x] = 0;
  __syncthreads();
#pragma unroll 4
  for (int i = 0; i < EACH; i++) {
    const unsigned at = blockIdx.x * KEYS + i * THREADS + threadIdx.x;
    if (at < count) atomicAdd(found + digit_of(keys[at], bit, mask), 1u);
  }
  __syncthreads();
  counts[threadIdx.x * gridDim.x + blockIdx.x] = found[threadIdx.x];
}

// Keys to where their digit, their block and their place among the block's say. ends: running sums of `counts`, each with its own.
extern "C" __global__ void __launch_bounds__(THREADS, 3)
    sort_scatter(const Key* keys, unsigned count, int bit, unsigned mask, const unsigned* ends, Key* sorted) {
  __shared__ Key here[KEYS];
  __shared__ unsigned before[WARPS][DIGITS];  // keys of a digit in the warps before; then where in `here` a warp's begin
  __shared__ unsigned moved[DIGITS];          // from `here` to `sorted`
  __shared__ unsigned sums[WARPS];
  const unsigned lane = threadIdx.x & 31, warp = threadIdx.x / 32, first = blockIdx.x * KEYS;
  const unsigned valid = min(count - first, (unsigned)KEYS);
  for (int w = 0; w < WARPS; w++) before[w][threadIdx.x] = 0;
  __syncthreads();

  Key mine[EACH];
  unsigned rank[EACH];  // among the warp's keys of its digit
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    const unsigned at = warp * 32 * EACH + i * 32 + lane;
    mine[i] = at < valid ? keys[first + at] : ~0ull;  // behind all others: the last of the highest digit
  }
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    const unsigned digit = digit_of(mine[i], bit, mask);
    unsigned peers = ALL;
#pragma unroll
    for (int b = 0; b < DIGIT_BITS; b++) {
      const unsigned with = __ballot_sync(ALL, digit >> b & 1);
      peers &= digit >> b & 1 ? with : ~with;
    }
    const unsigned earlier = before[warp][digit];
    __syncwarp();
    if (lane == __ffs(peers) - 1) before[warp][digit] = earlier + __popc(peers);
    __syncwarp();
    rank[i] = earlier + __popc(peers & (1u << lane) - 1);
  }
  __syncthreads();

  const unsigned digit = threadIdx.x;  // a digit a thread
  unsigned total = 0;
  for (int w = 0; w < WARPS; w++) {
    const unsigned of_warp = before[w][digit];
    before[w][digit] = total;
    total += of_warp;
  }
  unsigned upto = total;  // keys of this digit and those below it
  for (int step = 1; step < 32; step *= 2) {
    const unsigned other = __shfl_up_sync(ALL, upto, step);
    if (lane >= step) upto += other;
  }
  if (lane == 31) sums[warp] = upto;
  __syncthreads();
  for (int w = 0; w < warp; w++) upto += sums[w];
  const unsigned start = upto - total, entry = digit * gridDim.x + blockIdx.x;
  for (int w = 0; w < WARPS; w++) before[w][digit] += start;
  moved[digit] = (entry ? ends[entry - 1] : 0) - start;
  __syncthreads();

#pragma unroll
  for (int i = 0; i < EACH; i++) here[before[warp][digit_of(mine[i], bit, mask)] + rank[i]] = mine[i];
  __syncthreads();
  for (unsigned i = threadIdx.x; i < valid; i += THREADS) {
    const Key key = here[i];
    sorted[moved[digit_of(key, bit, mask)] + i] = key;
  }
}
