// Bars of pairs (kernels/local/bars.py): which pairs are given up after a strip, and which columns of the next one the others need.
#pragma once
#include "local/device/cells.cuh"
#include "local/device/end.cuh"

constexpr bool BOUNDED = LOCAL_BOUNDED;
constexpr int OVER = 0x7FFF - 127;  // a score of 16 bits from which on a sum may not have fitted

// Of each pair, or where all are of one query that one's: the bar, where the query's codes begin, and before each code of all queries what those before it
// score at best, together.
struct Bars {
  const int* least;
  const long long *worth, *starts;
  int query;  // or -1
};

// Steps of a strip, [from, to), the first of which is that of column `from` in lane 0; and columns of the row above that were made.
struct Columns {
  int from, to, above_from, above_to;
};

// With so many rows done and what lanes have found of a team's pairs so far, tell whether any pair of the warp can come to its bar, and set the columns that
// the next strip takes (kernels/local/host.py, needed): a cell of the row above is of use if what it scores and what all rows below score at best come to the
// bar.
__device__ __forceinline__ bool needed(Columns& at, const Bars& bars, const int* pair, const int* n, const End* end, int done, const Kept* above, int longest,
                                       int steps, int mate, const Costs& costs) {
  int least[PAIRS], afford = -1, first = 0x7FFFFFFF, last = -1;
  bool all_columns = false;
#pragma unroll
  for (int k = 0; k < PAIRS; k++) {
    const int own = bars.query < 0 ? pair[k] : bars.query;
    int score = end[k].score;
    for (int apart = TEAM / 2; apart; apart /= 2) score = max(score, __shfl_xor_sync(~0u, score, apart, TEAM));
    least[k] = 0x7FFFFFFF;
    if (done >= n[k] || (!WIDE && score >= OVER)) continue;  // it is done, or will be made again with 32 bits
    const int below = (int)(bars.worth[bars.starts[own] + n[k]] - bars.worth[bars.starts[own] + done]);
    if (score + below < bars.least[own]) continue;
    least[k] = bars.least[own] - below, afford = max(afford, score + below - bars.least[own]);
    all_columns |= least[k] <= 0;
  }
  if (!__any_sync(~0u, afford >= 0)) return false;
  at.above_from = at.from, at.above_to = at.to - TEAM + 1;  // those that the last lane has made
  if (__any_sync(~0u, all_columns)) return true;
  __syncwarp();
  for (int j = at.from + mate; j < min(at.above_to, longest); j += TEAM) {
    unsigned h, gaps[PIECES];
    taken(above[j], h, gaps);
#pragma unroll
    for (int k = 0; k < PAIRS; k++)
      if (part(h, k) >= least[k]) first = min(first, j), last = j;
  }
  first = __reduce_min_sync(~0u, first), last = __reduce_max_sync(~0u, last), afford = __reduce_max_sync(~0u, afford);
  at.from = first / TEAM * TEAM;
  at.to = min(steps, (last + STRIP + afford / min(costs.more[0], costs.more[PIECES - 1]) + TEAM + 3) & ~3);
  return last >= 0;
}
