// A team of warps that sweeps a row together: what it works on, what its warps tell each other, and steps on single cells and on all lanes.
#pragma once
#include "extension/record.cuh"

constexpr int DEAD = -(1 << 29);
constexpr unsigned TEAM = 0xFFFFFFFFu;
constexpr int MOST_WARPS = 4;

struct Genome {
  const unsigned char *target, *query;  // classes of letters that score alike
  Wide query_length;
  const int* scores;  // of a class of target letters against those of the query: 8 bytes a class, or EXTENSION_GENERAL: 64 int32
  // Factors 1, 2 and -DEAD that the compiler does not know: sums by way of them go to the pipe of multiplications, and the crowded one is spared.
  int one, two, raise, unused;
};

// What the warps of a team tell each other in a row; once more where a new best changes it.
struct Board {
  int total[MOST_WARPS], top[MOST_WARPS], column[MOST_WARPS], low[2][MOST_WARPS], last[2][MOST_WARPS], edge[2][MOST_WARPS];
};

__device__ __forceinline__ int add_max(int a, int b, int c) {
#if __CUDA_ARCH__ >= 900 && !defined(EXTENSION_PLAIN)
  return __viaddmax_s32(a, b, c);
#else
  return max(a + b, c);
#endif
}

__device__ __forceinline__ int max_of(int a, int b, int c) {
#if __CUDA_ARCH__ >= 900 && !defined(EXTENSION_PLAIN)
  return __vimax3_s32(a, b, c);
#else
  return max(max(a, b), c);
#endif
}

// One of four signed bytes, added.
__device__ __forceinline__ int add_byte(int bytes, int which, int sum) { return __dp4a(bytes, 1 << 8 * which, sum); }

template <int WARPS>
__device__ __forceinline__ void team_sync() {
  if (WARPS == 1)
    __syncwarp();
  else
    __syncthreads();
}

template <int WARPS>
__device__ __forceinline__ int team_rank() {
  return WARPS == 1 ? threadIdx.x & 31 : threadIdx.x;
}

__device__ __forceinline__ int prefix_max(int value) {
#pragma unroll
  for (int step = 1; step < 32; step *= 2) value = max(value, __shfl_up_sync(TEAM, value, step));
  return value;
}

// Columns that are not dead, the thread's first one on top. dead: what mark_dead left.
__device__ __forceinline__ unsigned alive_columns(int dead, unsigned inside) { return ~(unsigned)-dead & inside; }

// The warp's first and last column alive; beyond the window and -1 if there is none.
template <int COLUMNS>
__device__ __forceinline__ void alive_bounds(int dead, unsigned inside, int x0, int& low, int& last) {
  const unsigned columns = alive_columns(dead, inside), lanes = __ballot_sync(TEAM, columns != 0);
  low = __shfl_sync(TEAM, x0 + COLUMNS - 32 + __clz(columns), __ffs(lanes) - 1 & 31);
  last = __shfl_sync(TEAM, x0 + COLUMNS - __ffs(columns), 31 - __clz(lanes) & 31);
  if (lanes == 0) low = 1 << 30, last = -1;
}

// Kills a value below the line, and notes it.
__device__ __forceinline__ int mark_dead(int value, int line, const Genome& f, int& dead) {
  const int below = (f.one * value - line) >> 31;
  dead = f.two * dead + below;
  return below * f.raise + value;
}

__device__ __forceinline__ unsigned add_sign(unsigned bits, int value) { return __funnelshift_l((unsigned)value, bits, 1); }
