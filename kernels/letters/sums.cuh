// Sums of what one block reads: for counts that are little beside what they count. For sums of its own CuPy compiles a kernel in every process.
#pragma once

// Calls take(i, give(0) + .. + give(i)) for every i below count. A value of a thread, EACH one after the other, is added to those of the threads before it.
template <typename Sum, typename Give, typename Take>
__device__ void running_sums(long long count, Give give, Take take) {
  constexpr int EACH = 8;
  __shared__ Sum sums[32];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  long long before = 0;
  for (long long start = 0; start < count; start += blockDim.x * EACH) {
    const long long first = start + threadIdx.x * EACH;
    Sum own[EACH], total = 0;
    for (int i = 0; i < EACH; i++) own[i] = total += first + i < count ? give(first + i) : 0;
    Sum upto = total;
    for (int step = 1; step < 32; step *= 2) {
      const Sum other = __shfl_up_sync(0xFFFFFFFF, upto, step);
      if (lane >= step) upto += other;
    }
    __syncthreads();  // all have read the sums of the round before
    if (lane == 31) sums[warp] = upto;
    __syncthreads();
    Sum below = upto - total, whole = 0;
    for (int w = 0; w < blockDim.x >> 5; w++) {
      if (w < warp) below += sums[w];
      whole += sums[w];
    }
    for (int i = 0; i < EACH; i++)
      if (first + i < count) take(first + i, before + (long long)(below + own[i]));
    before += whole;
  }
}
