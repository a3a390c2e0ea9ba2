// Cells of a strip of an extension in a lane's registers, and the highest score that they come to on each antidiagonal.
#pragma once
#include "local/device/cells.cuh"

constexpr int PLACES = 512;          // scores are held so many times what they are, to bear a row of the strip
constexpr int RING = STRIP < 512 ? 2 * STRIP : 512;  // antidiagonals that lanes are apart, and 32 more before they are taken out
static_assert(STRIP <= PLACES && (TEAM - 1) * (ROWS - 1) + 40 <= RING && RING >= STRIP, "lanes meet");
constexpr int NONE = -(1 << 30), NO_SCORE = -(1 << 22);  // of cells that are none, as lanes hold scores and as they are

struct Prices {
  int first[PIECES], more[PIECES], one, scale;  // one, scale: 1 and PLACES, which the compiler must not know: it would not multiply by them
};

struct Rows {
  int h[ROWS], d[PIECES][ROWS], reached[ROWS + 1], corner;  // reached: the highest of the antidiagonal that the row's cell is on, of rows from it on
};

// Make one column. above, gap: H and I of the row above, and then of the last row. left_rows: how many rows of the lane there are, where it is the LAST strip.
// in_band: if MASKED, a bit for each row, unset where there is no cell.
template <bool LAST, bool MASKED = false, typename Score>
__device__ __forceinline__ void column_made(Rows& lane, int& above, int* gap, const Prices& prices, int left_rows, Score score, unsigned in_band = 0) {
  int diagonal = lane.corner;
  lane.corner = above;
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    int best = score(r) * prices.scale + diagonal;
    // I of the row above is what a row waits for: it comes last.
    best =
        PIECES == 2 ? __vimax3_s32(__vimax3_s32(best, lane.d[0][r], lane.d[PIECES - 1][r]), gap[0], gap[PIECES - 1]) : __vimax3_s32(best, lane.d[0][r], gap[0]);
    if (MASKED) best = in_band >> r & 1 ? best : NONE;
#pragma unroll
    for (int piece = 0; piece < PIECES; piece++) {
      const int opened = best * prices.one + prices.first[piece];
      lane.d[piece][r] = __viaddmax_s32(lane.d[piece][r], prices.more[piece], opened);
      gap[piece] = __viaddmax_s32(gap[piece], prices.more[piece], opened);
    }
    diagonal = lane.h[r];
    lane.h[r] = best;
    lane.reached[r] = !LAST || r < left_rows ? __viaddmax_s32(best, r, lane.reached[r + 1]) : lane.reached[r + 1];
  }
  above = lane.h[ROWS - 1];
}
