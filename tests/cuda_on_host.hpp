// CUDA C++ on the host, as far as kernels/inspection, local, search and wavefront need it: threads of a block are contexts that take turns wherever they wait for each other.
#pragma once
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
struct uint2 { unsigned x, y; }; struct ushort4 { unsigned short x, y, z, w; }; struct alignas(16) uint4 { unsigned x, y, z, w; };
inline uint2 make_uint2(unsigned a, unsigned b) { return {a, b}; }
inline uint4 make_uint4(unsigned a, unsigned b, unsigned c, unsigned d) { return {a, b, c, d}; }
struct Dim { unsigned x; };
static Dim threadIdx, blockIdx, blockDim, gridDim;
static uint4* dynamic_shared; static size_t dynamic_bytes;
// Stacks are full of high scores before a thread begins: who uses what it never set is found.
struct Fiber { ucontext_t context; bool done; std::vector<char> stack; };
static std::vector<Fiber> fibers; static ucontext_t scheduler; static int current; static long spins;
inline void yield_() { int me = current; swapcontext(&fibers[me].context, &scheduler); }
struct Bar { unsigned long long arrived = 0; long gen = 0; };
static std::map<unsigned long long, Bar> bars;  // by warp and mask
static Bar block_bar; static int alive;
static unsigned values[64][32];
inline void warp_bar(unsigned mask) {
  int warp = current / 32, lane = current % 32;
  if (!(mask >> lane & 1)) { printf("lane %d not in mask %x\n", lane, mask); abort(); }
  Bar& b = bars[(unsigned long long)warp << 32 | mask];
  b.arrived |= 1ull << lane;
  if (b.arrived == mask) { b.arrived = 0; b.gen++; return; }
  long g = b.gen;
  while (b.gen == g) { if (++spins > 2000000000L) { printf("deadlock\n"); abort(); } yield_(); }
}
inline void __syncwarp(unsigned mask = ~0u) { warp_bar(mask); }
inline void __syncthreads() {
  block_bar.arrived++;
  if ((int)block_bar.arrived == alive) { block_bar.arrived = 0; block_bar.gen++; return; }
  long g = block_bar.gen; while (block_bar.gen == g) yield_();
}
static unsigned long long wide[64][32];
template <typename T> T exchange(unsigned mask, T v, int from) {
  int warp = current / 32, lane = current % 32; unsigned long long u = 0; memcpy(&u, &v, sizeof(T)); wide[warp][lane] = u; warp_bar(mask);
  unsigned long long r = wide[warp][from]; warp_bar(mask); T out; memcpy(&out, &r, sizeof(T)); return out;
}
template <typename T> T __shfl_up_sync(unsigned m, T v, int d, int w = 32) { int l = current % 32; return exchange(m, v, l % w >= d ? l - d : l); }
template <typename T> T __shfl_sync(unsigned m, T v, int s, int w = 32) { int l = current % 32; return exchange(m, v, l / w * w + s % w); }
template <typename T> T __shfl_xor_sync(unsigned m, T v, int x, int w = 32) { int l = current % 32; return exchange(m, v, l ^ x); }
inline int __reduce_max_sync(unsigned m, int v) { int warp = current / 32; values[warp][current % 32] = v; warp_bar(m); int r = -2147483647; for (int i = 0; i < 32; i++) if (m >> i & 1) r = max(r, (int)values[warp][i]); warp_bar(m); return r; }
inline int __reduce_add_sync(unsigned m, int v) { int warp = current / 32; values[warp][current % 32] = v; warp_bar(m); int r = 0; for (int i = 0; i < 32; i++) if (m >> i & 1) r += (int)values[warp][i]; warp_bar(m); return r; }
inline unsigned __reduce_or_sync(unsigned m, unsigned v) { int warp = current / 32; values[warp][current % 32] = v; warp_bar(m); unsigned r = 0; for (int i = 0; i < 32; i++) if (m >> i & 1) r |= (unsigned)values[warp][i]; warp_bar(m); return r; }
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
static void entry_() { body(); fibers[current].done = true; alive--; swapcontext(&fibers[current].context, &scheduler); }
static void run_grid(unsigned grid, unsigned block, size_t bytes, std::function<void()> f) {
  body = f; gridDim.x = grid; blockDim.x = block; std::vector<char> smem(bytes + 64); dynamic_shared = (uint4*)(((uintptr_t)smem.data() + 15) & ~15ull); dynamic_bytes = bytes;
  for (unsigned b = 0; b < grid; b++) {
    memset(dynamic_shared, 0xEE, bytes); bars.clear(); block_bar = Bar(); fibers.assign(block, Fiber()); alive = block;
    for (unsigned t = 0; t < block; t++) { Fiber& x = fibers[t]; x.done = false; x.stack.assign(1 << 16, 0x7a); getcontext(&x.context); x.context.uc_stack.ss_sp = x.stack.data(); x.context.uc_stack.ss_size = x.stack.size(); x.context.uc_link = nullptr; makecontext(&x.context, entry_, 0); }
    while (alive) for (unsigned t = 0; t < block; t++) if (!fibers[t].done) { current = t; threadIdx.x = t; blockIdx.x = b; swapcontext(&scheduler, &fibers[t].context); }
  }
}
inline unsigned __ballot_sync(unsigned m, bool v) { int warp = current / 32; values[warp][current % 32] = v; warp_bar(m); unsigned r = 0; for (int i = 0; i < 32; i++) if (m >> i & 1) r |= (values[warp][i] & 1) << i; warp_bar(m); return r; }
inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __ffs(unsigned v) { return __builtin_ffs((int)v); }
inline int atomicMin(int* p, int v) { int o = *p; *p = min(o, v); return o; }
inline unsigned atomicOr(unsigned* p, unsigned v) { unsigned o = *p; *p |= v; return o; }
inline int __reduce_min_sync(unsigned m, int v) { return -__reduce_max_sync(m, -v); }
inline int __syncthreads_or(bool v) { static int some; some = 0; __syncthreads(); some |= v; __syncthreads(); int r = some; __syncthreads(); return r; }
inline void __threadfence_block() {}
inline void __threadfence() {}
template <typename T> T __ldcg(const T* p) { return *p; }
template <typename T> T __ldg(const T* p) { return *p; }
template <typename T, typename U> T atomicAdd(T* p, U v) { T o = *p; *p += (T)v; return o; }
inline bool __all_sync(unsigned m, bool v) { return !__any_sync(m, !v); }
inline unsigned __brev(unsigned v) { unsigned r = 0; for (int i = 0; i < 32; i++) r |= (v >> i & 1) << (31 - i); return r; }
inline int __clz(unsigned v) { return v ? __builtin_clz(v) : 32; }
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s) { return prmt_on_host(a, b, s); }
