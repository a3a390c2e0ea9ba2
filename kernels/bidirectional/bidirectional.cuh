// Parts of long pairs, and what the kernels of the bidirectional algorithm share about them.
//
// Marco-Sola et al. 2023, Optimal gap-affine alignment in O(s) space (BiWFA, Bioinformatics 39:btad074), in the order that breakpoint.py gives.
// Coordinates are those of the part: v rows of the query, h columns of the target, k = h - v; the backward direction has its own, from the part's end.
#pragma once
#include "letters/bases.cuh"

// Set by the launcher; all penalties are divided by their greatest common divisor.
//   WAVEFRONT_PIECES, _X, _E1, _OE1, _E2, _OE2, _AMBIGUOUS   as for wavefront.cuh
//   BIDIRECTIONAL_STEPS     penalties that a sweep adds
//   BIDIRECTIONAL_COLUMNS   diagonals that a block of a sweep holds, a thread each
//   BIDIRECTIONAL_FREE      sweeps from free begins to the first free end, in one direction

typedef int Offset;
// No such cell. A chain of D climbs from it by one a diagonal and stays below 0.
constexpr int NONE = -(1 << 29);
constexpr unsigned long long NO_KEY = ~0ull;

__device__ constexpr int max2(int a, int b) { return a > b ? a : b; }
__device__ constexpr int min2(int a, int b) { return a < b ? a : b; }
constexpr int STATES = 1 + 2 * WAVEFRONT_PIECES;
constexpr int DEEPEST = WAVEFRONT_PIECES == 2 ? max2(max2(WAVEFRONT_X, WAVEFRONT_OE1), WAVEFRONT_OE2) : max2(WAVEFRONT_X, WAVEFRONT_OE1);
constexpr int LEAST_EXTEND = WAVEFRONT_PIECES == 2 ? min2(WAVEFRONT_E1, WAVEFRONT_E2) : WAVEFRONT_E1;
constexpr int LARGEST_OPEN = WAVEFRONT_PIECES == 0 ? 0 : max2(WAVEFRONT_OE1 - WAVEFRONT_E1, WAVEFRONT_PIECES == 2 ? WAVEFRONT_OE2 - WAVEFRONT_E2 : 0);
// A path of penalty p has its cells to be met at penalties of at most (p + SLACK) / 2.
constexpr int SLACK = DEEPEST + LARGEST_OPEN - 1;

// Penalties that it is told for how far directions have come by then, and after which narrow wavefronts are looked at; sweeps add a multiple of them.
constexpr int GRAIN = 16;
static_assert(BIDIRECTIONAL_STEPS % GRAIN == 0, "a sweep tells how far it has come");

// Rows of a state that a block keeps on chip, M first, then I1, D1, I2, D2.
constexpr int M_ROWS = DEEPEST + 1;
constexpr int GAP1_ROWS = WAVEFRONT_PIECES >= 1 ? WAVEFRONT_E1 + 1 : 0;
constexpr int GAP2_ROWS = WAVEFRONT_PIECES == 2 ? WAVEFRONT_E2 + 1 : 0;
constexpr int ROWS = M_ROWS + 2 * GAP1_ROWS + 2 * GAP2_ROWS;

enum State { M = 0, I1 = 1, D1 = 2, I2 = 3, D2 = 4 };

__device__ constexpr int extension(int state) { return state <= D1 ? WAVEFRONT_E1 : WAVEFRONT_E2; }
__device__ constexpr int opening(int state) { return state == M ? 0 : state <= D1 ? WAVEFRONT_OE1 - WAVEFRONT_E1 : WAVEFRONT_OE2 - WAVEFRONT_E2; }

struct Part {                                   // all indexed by direction where there are two
  long long query[2], target[2];                // places of the words of the whole sequences, forwards and backwards
  long long query_origin[2], target_origin[2];  // letters of those before the part
  long long n, m;                               // letters of the part
  long long state[2];                           // at its begin and at its end
  long long known;                              // sweeps: the penalty without the opening of the end's gap, -1: not known; leaves: the whole penalty
  long long place;                              // of a sweep's rows, or of a leaf's operations
  long long width, centre;                      // columns of a row, and that of diagonal 0
  long long first, last, goal_low, goal_high;   // diagonals on which it may begin and end
  long long far[2], slots[2];                   // where it is told how far a direction has come, by GRAIN penalties; how many of them
  long long measured;                           // the direction of which this was told when the part was cut off
};

// The letters of a direction. Pair counts from the sequences' own begins.
__device__ inline Pair letters_of(const Part& part, int direction, const unsigned* words, const unsigned* masks) {
  return {words + part.query[direction],
          words + part.target[direction],
          masks + part.query[direction],
          masks + part.target[direction],
          (int)(part.query_origin[direction] + part.n),
          (int)(part.target_origin[direction] + part.m)};
}

struct Diagonals {
  int low, high;
};

// A direction of a part.
struct Frame {
  int n, m, begin, first, last;

  // The diagonals that the wavefront of penalty s may have reached.
  __device__ Diagonals reached(int s) const {
    int w;
    if (WAVEFRONT_PIECES == 0) {
      w = s / WAVEFRONT_E1;
    } else {
      w = s < WAVEFRONT_OE1 ? 0 : (s - WAVEFRONT_OE1) / WAVEFRONT_E1 + 1;
      if (WAVEFRONT_PIECES == 2) w = max(w, s < WAVEFRONT_OE2 ? 0 : (s - WAVEFRONT_OE2) / WAVEFRONT_E2 + 1);
      if (begin != M) w = max(w, s / extension(begin));
    }
    return {max(first - w, -n), min(last + w, m)};
  }
};

__device__ inline Frame frame_of(const Part& part, int direction) {
  return {(int)part.n, (int)part.m, (int)part.state[direction], (int)part.first, (int)part.last};
}

// A meeting as a number: the smaller, the better or earlier in breakpoint.py's order. With the total given, the later penalty of the two
// is (total + lag) / 2, and going back from it means states of larger openings first.
constexpr int TOTAL_AT = 40, LAG_AT = 31, MADE_AT = 30, RANK_AT = 27;

__device__ constexpr int rank_of(int state) {
  int before = 0;
  for (int other = 0; other < STATES; other++) before += opening(other) > opening(state) || (opening(other) == opening(state) && other < state);
  return before;
}

__device__ inline unsigned long long key_of(int total, int lag, int made, int state, int place) {
  return (unsigned long long)total << TOTAL_AT | (unsigned long long)lag << LAG_AT | (unsigned long long)made << MADE_AT |
         (unsigned long long)rank_of(state) << RANK_AT | (unsigned)place;
}

// Whether a part needs no sweep beyond penalty `last`. (Blocks of one launch may see the end that another has just found: theirs may be an earlier one.)
__device__ inline bool finished(const Part& part, unsigned long long key, int last) {
  if (key == NO_KEY) return false;
  const int total = (int)(key >> TOTAL_AT);
  return BIDIRECTIONAL_FREE ? total <= last : part.known >= 0 || 2 * last >= total + SLACK;
}
