// The threads of a pair, and the rows that a step reads: rings of M and of both gap states of each piece.
#pragma once

// Set by the launcher; all penalties are divided by their greatest common divisor.
//   WAVEFRONT_THREADS    threads a pair: 32 (a warp) or a whole block
//   WAVEFRONT_PIECES     0: edit and linear (no gap state), 1: affine, 2: two-piece affine
//   WAVEFRONT_SHARED     rows lie in shared memory
//   WAVEFRONT_DEEP       but for those of M that are read where a gap of the second piece opens, the only ones of so long ago
//   WAVEFRONT_X, _E1, _OE1, _E2, _OE2   mismatch; extend and open + extend of each piece (linear: E1 = OE1 = a gap letter)

__device__ constexpr int max2(int a, int b) { return a > b ? a : b; }
__device__ constexpr int min2(int a, int b) { return a < b ? a : b; }

__device__ inline void group_sync() {
  if (WAVEFRONT_THREADS == 32)
    __syncwarp();
  else
    __syncthreads();
}

// A stored offset. Sides are at most 32,767 letters (the launcher sees to it), so 16 bits hold every offset.
typedef short Offset;
// No such cell. A chain of D climbs from it by one a diagonal, so on diagonal k it is below k - lo - 32768 < k: a row above the first, never a cell.
constexpr int NONE = -32768;
constexpr unsigned NONE_TWICE = (unsigned)NONE << 16 | (NONE & 0xffff);

constexpr int NOWHERE = 0x7fffffff;

constexpr int DEEPEST = WAVEFRONT_PIECES == 2 ? max2(max2(WAVEFRONT_X, WAVEFRONT_OE1), WAVEFRONT_OE2) : max2(WAVEFRONT_X, WAVEFRONT_OE1);
constexpr int NEAR_ROWS = max2(WAVEFRONT_X, WAVEFRONT_OE1) + 1, DEEP_ROWS = WAVEFRONT_DEEP ? DEEPEST + 1 : 0;
constexpr int M_ROWS = WAVEFRONT_DEEP ? NEAR_ROWS : DEEPEST + 1;
constexpr int GAP1_ROWS = WAVEFRONT_PIECES >= 1 ? WAVEFRONT_E1 + 1 : 0;
constexpr int GAP2_ROWS = WAVEFRONT_PIECES == 2 ? WAVEFRONT_E2 + 1 : 0;
constexpr int ROWS = M_ROWS + 2 * GAP1_ROWS + 2 * GAP2_ROWS;
constexpr int LEAST_EXTEND = WAVEFRONT_PIECES == 2 ? min2(WAVEFRONT_E1, WAVEFRONT_E2) : WAVEFRONT_E1;

extern __shared__ unsigned shared_words[];

// Keeps a value that was made outside a loop, or loaded, as it is: compilers make places of rows anew for every cell, and load 16 bits without their sign.
template <typename Value>
__device__ inline Value held(Value value) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(Value) == 8)
    asm("" : "+l"(value));
  else
    asm("" : "+r"(value));
#endif
  return value;
}

struct Rows {  // `width` diagonals from `origin` on; of a gap's states I lies below D in a word
  char* memory;              // not used where rows lie on chip
  Offset* deep;              // [DEEP_ROWS][width]
  int begin, width, origin;  // begin: of rows in memory, or on chip, in bytes

  template <typename Word>
  __device__ Word& at(int place) const {
    return *(Word*)((WAVEFRONT_SHARED ? (char*)shared_words : memory) + place);
  }
  __device__ int load(int place) const { return held((int)at<const Offset>(place)); }

  // The place of diagonal 0 in a row of M, of a gap; in a deep row.
  __device__ int m(int row) const { return begin + 2 * (row * width - origin); }
  __device__ int gap1(int row) const { return begin + 2 * M_ROWS * width + 4 * (row * width - origin); }
  __device__ int gap2(int row) const { return gap1(GAP1_ROWS + row); }
  __device__ int deep_m(int row) const { return row * width - origin; }

  __device__ int offset(int row, int k) const { return load(m(row) + 2 * k); }
  __device__ void clear(int thread) const {
    for (int i = thread; i < ROWS * width / 2; i += WAVEFRONT_THREADS) at<unsigned>(begin + 4 * i) = NONE_TWICE;
    for (int i = thread; i < DEEP_ROWS * width / 2; i += WAVEFRONT_THREADS) ((unsigned*)deep)[i] = NONE_TWICE;
  }
  // The furthest offset on a diagonal in any row and state.
  __device__ int furthest(int k) const {
    int h = NONE;
    for (int row = 0; row < (WAVEFRONT_DEEP ? 0 : M_ROWS); row++) h = max(h, offset(row, k));
    for (int row = 0; row < DEEP_ROWS; row++) h = max(h, (int)deep[deep_m(row) + k]);
    for (int row = 0; row < GAP1_ROWS + GAP2_ROWS; row++) {
      const int place = gap1(row) + 4 * k;
      h = max(h, max(load(place), load(place + 2)));
    }
    return h;
  }
};

__device__ inline int back(int row, int steps, int rows) { return row >= steps ? row - steps : row - steps + rows; }
