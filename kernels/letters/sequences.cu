// What surrounds the wavefront kernels on the device.

#include "letters/sums.cuh"

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

// Where the runs of each pair end in pair order; one block.
extern "C" __global__ void __launch_bounds__(1024) ends_of_runs(const unsigned short* counts, int count, long long* ends) {
  running_sums<unsigned>(count, [=](long long i) { return counts[i]; }, [=](long long i, long long end) { ends[i] = end; });
}
