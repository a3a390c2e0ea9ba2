// Two cells at a time: signed 16-bit arithmetic in the halves of a word, with Hopper's DPX instructions where there are any.
#pragma once

// Set by the launcher:
//   INSPECTION_PLAIN   1: without DPX, as on GPUs that have none
#if !INSPECTION_PLAIN && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900)
#define INSPECTION_DPX 1
#else
#define INSPECTION_DPX 0
#endif

__device__ __forceinline__ unsigned both(int value) { return (unsigned)(value & 0xffff) * 0x10001u; }

// Bytes of `low` (0..3) and `high` (4..7) by the nibbles of `select`; with 8 added, a nibble stands for the byte's sign. __byte_perm drops that bit.
__device__ __forceinline__ unsigned bytes(unsigned low, unsigned high, unsigned select) {
  unsigned found;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(found) : "r"(low), "r"(high), "r"(select));
  return found;
}

__device__ __forceinline__ unsigned most(unsigned a, unsigned b) { return __vmaxs2(a, b); }

__device__ __forceinline__ unsigned most(unsigned a, unsigned b, unsigned c) {
#if INSPECTION_DPX
  return __vimax3_s16x2(a, b, c);
#else
  return __vmaxs2(__vmaxs2(a, b), c);
#endif
}

// max(a + b, c)
__device__ __forceinline__ unsigned most_of_sum(unsigned a, unsigned b, unsigned c) {
#if INSPECTION_DPX
  return __viaddmax_s16x2(a, b, c);
#else
  return __vmaxs2(__vadd2(a, b), c);
#endif
}

// max(a + b, c, 0)
__device__ __forceinline__ unsigned most_of_sum_or_0(unsigned a, unsigned b, unsigned c) {
#if INSPECTION_DPX
  return __viaddmax_s16x2_relu(a, b, c);
#else
  return __vmaxs2(__vmaxs2(__vadd2(a, b), c), 0);
#endif
}

// Whether either half of a reaches the value.
__device__ __forceinline__ bool reaches(unsigned a, int value) { return (short)a >= value || ((int)a >> 16) >= value; }
