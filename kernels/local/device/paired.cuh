// Cells of a strip of two extensions in a lane's registers, 16 bits each, and how a column of them is made. A cell in column j, of which `lift` is the dearest
// first letter of a gap in the target, holds TOP + H - most * j, and `lift` where it would be less.
#pragma once
#include "local/device/cells.cuh"

constexpr int TOP = 0x7FFF;
constexpr int SAMPLED = ROWS;  // the last row of each lane is asked
constexpr int NO_SCORE = -(1 << 26), UNKNOWN = 1 << 28;

// The teams of a warp go together, those that are done make what nobody sees: shuffles of parts of a warp are slow.
constexpr unsigned ALL = ~0u;
__device__ __forceinline__ unsigned of_team(unsigned votes) { return TEAM == 32 ? votes : votes >> (threadIdx.x & 31) / TEAM * TEAM & (1u << TEAM % 32) - 1; }

__device__ __forceinline__ unsigned twice(int low, int high) { return (unsigned)low & 0xFFFF | (unsigned)high << 16; }

struct Prices {
  unsigned first_query[PIECES], more_query[PIECES], first_target[PIECES], more_target[PIECES], floor, a_column, one;
};

__device__ __forceinline__ Prices prices_of(const Costs& costs, int most, int one) {
  const int lift = costs.first[LOCAL_DEAREST] + most;
  Prices prices;
  prices.one = one, prices.floor = twice(lift, lift), prices.a_column = twice(-most, -most);
  for (int piece = 0; piece < PIECES; piece++) {
    const int first = costs.first[piece], more = costs.more[piece];
    prices.first_query[piece] = twice(first, first), prices.first_target[piece] = twice(first + most, first + most);
    prices.more_query[piece] = piece ? twice(-more, -more) : twice(more, more), prices.more_target[piece] = twice(-more - most, -more - most);
  }
  return prices;
}

struct Rows {
  unsigned h[ROWS], d[PIECES][ROWS], corner;  // h: of a cell less `lift`
};

// Make one column. in_band: at an EDGE of the band, a bit for each row, unset where there is no cell.
template <bool EDGE, typename Score>
__device__ __forceinline__ void column_made(Rows& lane, unsigned& above, unsigned* gap, unsigned& found, const Prices& prices, unsigned in_band, Score score) {
  unsigned diagonal = lane.corner;
  lane.corner = above;
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    unsigned best = __vimax3_s16x2(diagonal * prices.one + score(r), lane.d[0][r], gap[0]), less = 0;
    if (PIECES == 2) best = __vimax3_s16x2(best, lane.d[PIECES - 1][r], gap[PIECES - 1]);
    if (EDGE) best = in_band >> r & 1 ? best : prices.floor;
#pragma unroll
    for (int piece = 0; piece < PIECES; piece++) {
      const unsigned down = best * prices.one - prices.first_query[piece], right = best * prices.one - prices.first_target[piece];
      lane.d[piece][r] = __viaddmax_s16x2(lane.d[piece][r], prices.more_target[piece], right);
      if (piece == 0)  // no score of the next row is below the floor
        gap[piece] = __vimax3_s16x2(gap[piece] * prices.one - prices.more_query[piece], down, prices.floor);
      else
        gap[piece] = __viaddmax_s16x2(gap[piece], prices.more_query[piece], down);
      if (piece == LOCAL_DEAREST) less = right;
    }
    diagonal = lane.h[r];
    lane.h[r] = less;
    if (r & 1) found = __vimax3_s16x2(found, lane.h[r], lane.h[r - 1]);
  }
  above = lane.h[ROWS - 1];
}

// Rows of a lane's two pairs, kept where the highest of a pair's last grew: which row it is, is asked once the strip is made.
struct Grown {
  uint4* rows;  // of all lanes, in shared memory
  int at[2];    // columns

  __device__ __forceinline__ uint4& four(int half, int r) const { return rows[(half * ROWS + r) / 4 * LOCAL_THREADS + threadIdx.x]; }
  __device__ __forceinline__ void keep(int half, int column, const unsigned* h) {
    at[half] = column;
#pragma unroll
    for (int r = 0; r < ROWS; r += 4) four(half, r) = make_uint4(h[r], h[r + 1], h[r + 2], h[r + 3]);
  }
  // The highest score of these rows, and the first row that has it.
  __device__ __forceinline__ int2 highest(int half) const {
    int2 found = make_int2(-1, 0);
    for (int r = 0; r < ROWS; r++) {
      const int score = ((const unsigned short*)&four(half, r))[(r & 3) * 2 + half];
      if (score > found.x) found = make_int2(score, r);
    }
    return found;
  }
};

// What a team knows of one of its pairs, all lanes the same but for the loss.
struct Antidiagonals {
  int seen, stop, unknown, loss;  // the highest sample so far; the first antidiagonal that may stop; the first without a score; the most one lacks before that

  // Go on over the antidiagonals from `start` on, one a lane, which has a score or NO_SCORE if it is valid.
  __device__ __forceinline__ void go_on(int start, int mate, bool valid, int score, int zdrop, int most) {
    int before = valid ? score : NO_SCORE;
    for (int apart = 1; apart < TEAM; apart *= 2) {
      const int other = __shfl_up_sync(ALL, before, apart, TEAM);
      if (mate >= apart) before = max(before, other);
    }
    before = max(before, seen);
    const unsigned stops = of_team(__ballot_sync(ALL, valid && zdrop >= 0 && before + most * (SAMPLED - 1) - score > zdrop));
    const unsigned without = of_team(__ballot_sync(ALL, valid && score == NO_SCORE));
    if (stops) stop = min(stop, start + __ffs(stops) - 1);
    if (without) unknown = min(unknown, start + __ffs(without) - 1);
    loss = max(loss, valid && start + mate < unknown ? most * (start + mate) - 2 * score : 0);
    seen = __shfl_sync(ALL, before, TEAM - 1, TEAM);
  }
};
