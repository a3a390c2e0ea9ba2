// What surrounds the wavefront kernels on the device.

// Runs of each pair from where its launch put them to their place in pair order; a warp a pair.
template <typename Run>
__device__ void gather(const unsigned* pool, const long long* places, const long long* ends, const unsigned short* counts, int count, Run* runs) {
  const int lane = threadIdx.x & 31;
  const long long warps = (long long)gridDim.x * (blockDim.x >> 5);
  for (long long i = (blockIdx.x * (long long)blockDim.x + threadIdx.x) >> 5; i < count; i += warps)
    for (int j = lane; j < counts[i]; j += 32) runs[ends[i] - counts[i] + j] = (Run)pool[places[i] + j];
}

extern "C" __global__ void gather_runs(const unsigned* pool, const long long* places, const long long* ends, const unsigned short* counts, int count,
                                       unsigned* runs) {
  gather(pool, places, ends, counts, count, runs);
}

// For pairs of at most 4,095 letters a side: length and code of a run fit 16 bits.
extern "C" __global__ void gather_short_runs(const unsigned* pool, const long long* places, const long long* ends, const unsigned short* counts, int count,
                                             unsigned short* runs) {
  gather(pool, places, ends, counts, count, runs);
}

constexpr int EACH = 8;  // counts of a thread

// Where the runs of each pair end in pair order. One block does it: the counts are little beside their pairs, and of CuPy's sums each process compiles a kernel.
extern "C" __global__ void ends_of_runs(const unsigned short* counts, int count, long long* ends) {
  __shared__ unsigned sums[32];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  long long before = 0;
  for (long long start = 0; start < count; start += blockDim.x * EACH) {
    const long long first = start + threadIdx.x * EACH;
    unsigned own[EACH], total = 0;
    for (int i = 0; i < EACH; i++) own[i] = total += first + i < count ? counts[first + i] : 0;
    unsigned upto = total;
    for (int step = 1; step < 32; step *= 2) {
      const unsigned other = __shfl_up_sync(0xFFFFFFFF, upto, step);
      if (lane >= step) upto += other;
    }
    __syncthreads();  // all have read the sums of the counts before
    if (lane == 31) sums[warp] = upto;
    __syncthreads();
    unsigned below = upto - total, whole = 0;
    for (int w = 0; w < blockDim.x >> 5; w++) {
      if (w < warp) below += sums[w];
      whole += sums[w];
    }
    for (int i = 0; i < EACH; i++)
      if (first + i < count) ends[first + i] = before + below + own[i];
    before += whole;
  }
}
