// CUDA C++ on the host, as far as the kernels here need it: threads of a block are contexts that take turns wherever they wait for each other.
#pragma once
#include <csetjmp>
#include <ucontext.h>
#include <cstdint>
#include <cstring>
#include <cstdlib>
#include <cstdio>
#include <vector>
#include <map>
#include <functional>
#include <algorithm>
using std::min; using std::max;
#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
struct alignas(8) int2 { int x, y; }; struct alignas(16) int4 { int x, y, z, w; }; struct alignas(8) uint2 { unsigned x, y; }; struct ushort4 { unsigned short x, y, z, w; }; struct alignas(16) uint4 { unsigned x, y, z, w; };
inline int2 make_int2(int a, int b) { return {a, b}; }
inline uint2 make_uint2(unsigned a, unsigned b) { return {a, b}; }
inline uint4 make_uint4(unsigned a, unsigned b, unsigned c, unsigned d) { return {a, b, c, d}; }
struct Dim { unsigned x; };
static Dim threadIdx, blockIdx, blockDim, gridDim;
static uint4* dynamic_shared; static size_t dynamic_bytes;
// Stacks are full of high scores before a thread begins: who uses what it never set is found.
struct Fiber { ucontext_t begin; jmp_buf at; bool begun, done; std::vector<char> stack; };
static std::vector<Fiber> fibers; static jmp_buf scheduler; static int current; static long spins;
// Jumps, as swapcontext asks the kernel for signal masks each time.
inline void yield_() { if (!_setjmp(fibers[current].at)) _longjmp(scheduler, 1); }
__attribute__((noinline)) static void resume(int t) {
  current = t; if (_setjmp(scheduler)) return;
  Fiber& x = fibers[t]; if (x.begun) _longjmp(x.at, 1);
  x.begun = true; setcontext(&x.begin);
}
struct Bar { unsigned long long arrived = 0; long gen = 0; unsigned long long values[2][32]; };
static Bar whole[64]; static std::map<unsigned long long, Bar> parts;  // by warp; by warp and mask
static long block_gen; static int block_arrived, alive;
// Waits for the lanes of a mask: what each has brought. It stands until all have brought something the time after next.
inline const unsigned long long* meet_(unsigned mask, unsigned long long value) {
  int warp = current / 32, lane = current % 32;
  if (!(mask >> lane & 1)) { printf("lane %d not in mask %x\n", lane, mask); abort(); }
  Bar& b = mask == ~0u ? whole[warp] : parts[(unsigned long long)warp << 32 | mask];
  long g = b.gen; unsigned long long* all = b.values[g & 1]; all[lane] = value;
  b.arrived |= 1ull << lane;
  if (b.arrived == mask) { b.arrived = 0; b.gen++; return all; }
  while (b.gen == g) { if (++spins > 2000000000L) { printf("deadlock\n"); abort(); } yield_(); }
  return all;
}
inline void __syncwarp(unsigned mask = ~0u) { meet_(mask, 0); }
inline void __syncthreads() {
  long g = block_gen;
  if (++block_arrived == alive) { block_arrived = 0; block_gen++; return; }
  while (block_gen == g) yield_();
}
template <typename T> T exchange(unsigned mask, T v, int from) {
  unsigned long long u = 0; memcpy(&u, &v, sizeof(T)); const unsigned long long* all = meet_(mask, u); T out; memcpy(&out, &all[from], sizeof(T)); return out;
}
template <typename T> T __shfl_up_sync(unsigned m, T v, int d, int w = 32) { int l = current % 32; return exchange(m, v, l % w >= d ? l - d : l); }
template <typename T> T __shfl_sync(unsigned m, T v, int s, int w = 32) { int l = current % 32; return exchange(m, v, l / w * w + s % w); }
template <typename T> T __shfl_xor_sync(unsigned m, T v, int x, int w = 32) { int l = current % 32; return exchange(m, v, l ^ x); }
template <typename F> int folded(unsigned m, int v, int r, F f) { const unsigned long long* all = meet_(m, (unsigned)v); for (int i = 0; i < 32; i++) if (m >> i & 1) r = f(r, (int)all[i]); return r; }
inline int __reduce_max_sync(unsigned m, int v) { return folded(m, v, -2147483647 - 1, [](int a, int b) { return max(a, b); }); }
inline int __reduce_min_sync(unsigned m, int v) { return folded(m, v, 2147483647, [](int a, int b) { return min(a, b); }); }
inline int __reduce_add_sync(unsigned m, int v) { return folded(m, v, 0, [](int a, int b) { return (int)((unsigned)a + (unsigned)b); }); }
inline unsigned __reduce_or_sync(unsigned m, unsigned v) { return (unsigned)folded(m, (int)v, 0, [](int a, int b) { return a | b; }); }
inline bool __any_sync(unsigned m, bool v) { return __reduce_max_sync(m, v) > 0; }
inline short lo(unsigned v) { return (short)(v & 0xFFFF); } inline short hi(unsigned v) { return (short)(v >> 16); }
inline unsigned pk(int a, int b) { return (unsigned)(a & 0xFFFF) | (unsigned)(b & 0xFFFF) << 16; }
inline unsigned __vimax3_s16x2(unsigned a, unsigned b, unsigned c) { return pk(max(max(lo(a), lo(b)), lo(c)), max(max(hi(a), hi(b)), hi(c))); }
inline unsigned __viaddmax_s16x2(unsigned a, unsigned b, unsigned c) { return pk(max((short)(lo(a) + lo(b)), lo(c)), max((short)(hi(a) + hi(b)), hi(c))); }
inline unsigned __vadd2(unsigned a, unsigned b) { return pk(lo(a) + lo(b), hi(a) + hi(b)); }
inline unsigned __vmaxs2(unsigned a, unsigned b) { return pk(max(lo(a), lo(b)), max(hi(a), hi(b))); }
inline unsigned __viaddmax_s16x2_relu(unsigned a, unsigned b, unsigned c) { return __vmaxs2(__viaddmax_s16x2(a, b, c), 0); }
inline int __vimax3_s32(int a, int b, int c) { return max(max(a, b), c); }
inline int __viaddmax_s32(int a, int b, int c) { return max((int)((unsigned)a + (unsigned)b), c); }
inline unsigned __funnelshift_l(unsigned l, unsigned h, unsigned s) { s &= 31; return s ? h << s | l >> (32 - s) : h; }
inline unsigned __funnelshift_r(unsigned l, unsigned h, unsigned s) { s &= 31; return s ? l >> s | h << (32 - s) : l; }
inline unsigned prmt_on_host(unsigned a, unsigned b, unsigned s) {
  unsigned long long v = (unsigned long long)b << 32 | a; unsigned r = 0;
  for (int i = 0; i < 4; i++) { unsigned n = s >> 4 * i & 15, byte = v >> 8 * (n & 7) & 255; if (n & 8) byte = byte & 128 ? 255 : 0; r |= byte << 8 * i; } return r;
}
static std::function<void()> body;
static void entry_() { body(); fibers[current].done = true; if (fibers[current].stack[64] != 0x7a) { printf("a thread's stack is too small\n"); abort(); } if (--alive && block_arrived == alive) { block_arrived = 0; block_gen++; } _longjmp(scheduler, 1); }
static void run_grid(unsigned grid, unsigned block, size_t bytes, std::function<void()> f) {
  body = f; gridDim.x = grid; blockDim.x = block; std::vector<char> smem(bytes + 64); dynamic_shared = (uint4*)(((uintptr_t)smem.data() + 15) & ~15ull); dynamic_bytes = bytes;
  for (unsigned b = 0; b < grid; b++) {
    memset(dynamic_shared, 0xEE, bytes); for (Bar& b : whole) b.arrived = 0; parts.clear(); block_arrived = 0; fibers.assign(block, Fiber()); alive = block;
    for (unsigned t = 0; t < block; t++) { Fiber& x = fibers[t]; x.begun = x.done = false; x.stack.assign(1 << 14, 0x7a); getcontext(&x.begin); x.begin.uc_stack.ss_sp = x.stack.data(); x.begin.uc_stack.ss_size = x.stack.size(); x.begin.uc_link = nullptr; makecontext(&x.begin, entry_, 0); }
    while (alive) for (unsigned t = 0; t < block; t++) if (!fibers[t].done) { threadIdx.x = t; blockIdx.x = b; resume(t); }
  }
}
inline unsigned __ballot_sync(unsigned m, bool v) { const unsigned long long* all = meet_(m, v); unsigned r = 0; for (int i = 0; i < 32; i++) if (m >> i & 1) r |= (unsigned)all[i] << i; return r; }
inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __ffs(unsigned v) { return __builtin_ffs((int)v); }
template <typename T> T atomicExch(T* p, T v) { T o = *p; *p = v; return o; }
template <typename T> T atomicCAS(T* p, T old, T v) { T o = *p; if (o == old) *p = v; return o; }
template <typename T> T atomicMin(T* p, T v) { T o = *p; *p = min(o, v); return o; }
template <typename T> T atomicMax(T* p, T v) { T o = *p; *p = max(o, v); return o; }
inline unsigned atomicOr(unsigned* p, unsigned v) { unsigned o = *p; *p |= v; return o; }
inline int __syncthreads_or(bool v) { static int some; some = 0; __syncthreads(); some |= v; __syncthreads(); int r = some; __syncthreads(); return r; }
inline int __syncthreads_and(bool v) { return !__syncthreads_or(!v); }
inline void __threadfence_block() {}
inline void __threadfence() {}
template <typename T> T __ldcg(const T* p) { return *p; }
template <typename T> T __ldg(const T* p) { return *p; }
template <typename T, typename U> T atomicAdd(T* p, U v) { T o = *p; *p += (T)v; return o; }
inline bool __all_sync(unsigned m, bool v) { return !__any_sync(m, !v); }
inline int __dp4a(int a, int b, int c) { for (int i = 0; i < 4; i++) c += (signed char)(a >> 8 * i) * (signed char)(b >> 8 * i); return c; }
template <typename T> T __shfl_down_sync(unsigned m, T v, int d, int w = 32) { int l = current % 32; return exchange(m, v, l % w + d < w ? l + d : l); }
inline unsigned __brev(unsigned v) { unsigned r = 0; for (int i = 0; i < 32; i++) r |= (v >> i & 1) << (31 - i); return r; }
inline int __clz(unsigned v) { return v ? __builtin_clz(v) : 32; }
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s) { return prmt_on_host(a, b, s); }
