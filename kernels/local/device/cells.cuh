// Cells of a strip of query rows in a lane's registers: what a lane holds of scores, and how a column of them is made.
//
// LOCAL_ROWS rows a lane, LOCAL_TEAM lanes a team, which takes LOCAL_TEAM * LOCAL_ROWS rows of the query at a time; LOCAL_PIECES of the gap; LOCAL_WIDE: 32
// bits a score and one pair a team, else 16 bits and two pairs; LOCAL_TABLE: scores of letters come from tables in shared memory, else from four bytes a row,
// which are enough where the target has no other letters than the first four codes; LOCAL_BEGIN_*, LOCAL_END_*: of the span (kernels/local/host.py).
#pragma once

constexpr int ROWS = LOCAL_ROWS, TEAM = LOCAL_TEAM, PIECES = LOCAL_PIECES, STRIP = ROWS * TEAM;
constexpr bool WIDE = LOCAL_WIDE, TABLE = LOCAL_TABLE;
constexpr bool BEGIN_QUERY = LOCAL_BEGIN_QUERY, BEGIN_TARGET = LOCAL_BEGIN_TARGET, END_QUERY = LOCAL_END_QUERY, END_TARGET = LOCAL_END_TARGET;
constexpr bool END_CORNER = LOCAL_END_CORNER, ANYWHERE = !END_QUERY && !END_TARGET && !END_CORNER;
constexpr int PAIRS = WIDE ? 1 : 2;  // of a team
constexpr int LOW = -(1 << 30);      // of a gap that is none

// Gaps are held LIFT above what they are, LIFT being the dearest first letter of a gap, and letters score as much more: so no half of a pair of scores is ever
// negative, a sum of pairs is one of 32 bits, which the unit for multiplication makes, and opening that gap takes off what H needs taken off as well.
// Without LOCAL_LIFTED, for gaps that scores of a byte cannot be lifted by, LIFT is 0 and a score has 32 bits.
constexpr bool LIFTED = LOCAL_LIFTED;
constexpr int DEAREST = LOCAL_DEAREST;  // piece with that first letter
static_assert(LIFTED || WIDE, "pairs of scores are lifted");

// Tells a function's template which of two forms is meant.
template <bool B>
struct Fixed {
  static constexpr bool value = B;
};

// Of a cell, what those below (H and I) or to the right (H and D) take, one value a piece of the gap.
#if LOCAL_PIECES == 1
typedef uint2 Kept;
__device__ __forceinline__ Kept kept(unsigned h, const unsigned* gap) { return make_uint2(h, gap[0]); }
__device__ __forceinline__ void taken(Kept from, unsigned& h, unsigned* gap) { h = from.x, gap[0] = from.y; }
#else
typedef uint4 Kept;
__device__ __forceinline__ Kept kept(unsigned h, const unsigned* gap) { return make_uint4(h, gap[0], gap[1], 0); }
__device__ __forceinline__ void taken(Kept from, unsigned& h, unsigned* gap) { h = from.x, gap[0] = from.y, gap[1] = from.z; }
#endif

struct Costs {
  int first[PIECES], more[PIECES];  // of a gap's first letter, and of each other
  __device__ __forceinline__ int lift() const { return LIFTED ? first[DEAREST] : 0; }
};

__device__ __forceinline__ Costs costs_of(int first1, int more1, int first2, int more2) {
  Costs costs;
  costs.first[0] = first1, costs.more[0] = more1;
  if (PIECES == 2) costs.first[PIECES - 1] = first2, costs.more[PIECES - 1] = more2;
  return costs;
}

// H of a cell in row or column 0 that so many letters lie before.
__device__ __forceinline__ int boundary(int letters, bool free, const Costs& costs) {
  if (free || letters == 0) return 0;
  int least = costs.first[0] + (letters - 1) * costs.more[0];
  if (PIECES == 2) least = min(least, costs.first[PIECES - 1] + (letters - 1) * costs.more[PIECES - 1]);
  return -least;
}

__device__ __forceinline__ unsigned prmt(unsigned a, unsigned b, unsigned selector) {  // __byte_perm drops the bit that repeats a sign
  unsigned result;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(selector));
  return result;
}

// ---- scores as lanes hold them: one of 32 bits, or two of 16

__device__ __forceinline__ unsigned both(int score) { return WIDE ? (unsigned)score : (unsigned)score * 0x10001u; }
__device__ __forceinline__ unsigned highest(unsigned a, unsigned b, unsigned c) {
  return WIDE ? (unsigned)__vimax3_s32((int)a, (int)b, (int)c) : __vimax3_s16x2(a, b, c);
}
__device__ __forceinline__ unsigned longer_or(unsigned gap, unsigned more, unsigned opened) {  // max(gap + more, opened), more of each half on its own
  return WIDE ? (unsigned)__viaddmax_s32((int)gap, (int)more, (int)opened) : __viaddmax_s16x2(gap, more, opened);
}
__device__ __forceinline__ int part(unsigned scores, int pair) { return WIDE ? (int)scores : (int)(short)(scores >> 16 * pair); }

// What a lane takes off or adds, as it holds scores. one: 1, which the compiler must not know: it would not multiply by it.
struct Steps {
  unsigned first[PIECES], more[PIECES], more_apart[PIECES], floor, one;
  __device__ __forceinline__ Steps(const Costs& costs, unsigned one) : floor(both(costs.lift())), one(one) {
    for (int piece = 0; piece < PIECES; piece++) {
      first[piece] = 0u - both(costs.first[piece]), more[piece] = 0u - both(costs.more[piece]);
      more_apart[piece] = WIDE ? more[piece] : (unsigned)(-costs.more[piece] & 0xFFFF) * 0x10001u;
    }
  }
  __device__ __forceinline__ unsigned sum(unsigned a, unsigned b) const { return a * one + b; }
};

// The state of a lane between two columns.
struct Strip {
  unsigned h[ROWS], d[PIECES][ROWS], corner;  // corner: H of the row above, one column to the left
};

// Make one column. score(r): what the letters of row r score; above, gap: H and I of the row above, and then of the last row; track(r): is told of each
// two rows when they are made.
template <typename Score, typename Track>
__device__ __forceinline__ void column_made(Strip& strip, unsigned& above, unsigned* gap, const Steps& steps, Score score, Track track) {
  unsigned diagonal = strip.corner;
  strip.corner = above;
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    unsigned lifted = highest(steps.sum(diagonal, score(r)), strip.d[0][r], gap[0]), opened[PIECES];
    if (PIECES == 2) lifted = highest(lifted, strip.d[PIECES - 1][r], gap[PIECES - 1]);
    if (ANYWHERE && !LIFTED) lifted = (unsigned)max((int)lifted, 0);
#pragma unroll
    for (int piece = 0; piece < PIECES; piece++) {
      opened[piece] = steps.sum(lifted, steps.first[piece]);
      strip.d[piece][r] = longer_or(strip.d[piece][r], steps.more_apart[piece], opened[piece]);
      if (ANYWHERE && LIFTED && piece == 0)  // no score of the next row is below 0
        gap[piece] = highest(steps.sum(gap[piece], steps.more[piece]), opened[piece], steps.floor);
      else
        gap[piece] = longer_or(gap[piece], steps.more_apart[piece], opened[piece]);
    }
    diagonal = strip.h[r];
    strip.h[r] = LIFTED ? opened[DEAREST] : lifted;
    if (r & 1) track(r);
  }
  above = strip.h[ROWS - 1];
}
