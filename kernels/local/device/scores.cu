// Alignment by scores, lane by lane: Gotoh's recurrences (1982, 10.1016/0022-2836(82)90398-9) with the query's rows in registers and the target streaming
// through the lanes of a team, a column a step (SALoBa, paper 002, IV; the cells are those of kernels/local/host.py). What a later way back needs is kept
// (LOCAL_KEEP): of each lane what leaves its last row, and every COLUMNS steps all of its rows. The way back makes again
// only the strips of cells that the path goes through.
#include "local/device/bars.cuh"
#include "local/device/end.cuh"
#include "local/device/layout.cuh"
#include "local/device/letters.cuh"

constexpr bool KEEP = LOCAL_KEEP, PRODUCT = LOCAL_PRODUCT, SEVERAL = LOCAL_SEVERAL;  // SEVERAL: queries may take several strips
// PRODUCT: every query with every target, a query a block, not query i with target i
constexpr int GANG = LOCAL_GANG;  // 1, or the teams of a block where blocks share a pair's strips: each takes a band of as many, a strip a team
constexpr bool BANDS = GANG > 1;
static_assert(!BOUNDED || (SEVERAL && ANYWHERE && !KEEP && !BANDS), "scores alone of local pairs have bars");

// Scores and ends of pairs. table: what letters score, lifted, [letters][letters]; fours: of each letter with the first four. The last letter is padding.
// first, more: costs of a gap's first letter and of each other, of both pieces. one: 1. room: where teams keep what the way back needs, each from kept_starts
// on; without LOCAL_KEEP a row a team, `row_room` cells each. With LOCAL_PRODUCT each query has blocks_a_query blocks, its scores lie row_scores_room apart,
// that with target i at slots[i]; count is of targets. bars: of pairs, or of queries with LOCAL_PRODUCT; worth: what the codes of all queries before each score
// at best, together. With bands of strips, bands_a_pair for each unit of pairs, `bands` is 0: how many were begun, how far each is, its End of each pair.
extern "C" __global__ void __launch_bounds__(LOCAL_THREADS, LOCAL_BLOCKS)
    local_scores(const unsigned char* queries, const long long* query_starts, const int* query_lengths, const unsigned char* targets,
        const long long* target_starts, const int* target_lengths, int count, const signed char* table, const unsigned* fours, int letters, int first1,
        int more1, int first2, int more2, int one, uint4* room, const long long* kept_starts, long long row_room, int* scores, int* columns, int* places,
        int blocks_a_query, const int* slots, long long row_scores_room, const int* bars, const long long* worth, int* bands, int bands_a_pair) {
  extern __shared__ uint4 shared[];
  const int query_row = PRODUCT ? blockIdx.x / blocks_a_query : 0, own_block = PRODUCT ? blockIdx.x % blocks_a_query : blockIdx.x;
  const int lane = threadIdx.x & 31, mate = lane % TEAM, warp = (own_block * blockDim.x + threadIdx.x) >> 5;
  const int warps = (PRODUCT ? blocks_a_query : gridDim.x) * blockDim.x >> 5;
  const int units = (count + PAIRS - 1) / PAIRS, teams = 32 / TEAM;
  const Costs costs = costs_of(first1, more1, first2, more2);
  Kept* kept_cells = (Kept*)room;
  const Steps taken_off(costs, one);
  const int lift = costs.lift();
  unsigned char* profiles = (unsigned char*)shared;
  if (TABLE && PRODUCT) {
    const int n = query_lengths[query_row], all = max(n, 1);
    const unsigned char* own = queries + query_starts[query_row];
    for (int row = 0; row < all; row += STRIP) profile_made(profiles + row / STRIP * letters * STRIP, own, n, row, table, letters, threadIdx.x, blockDim.x);
    __syncthreads();
  } else if (TABLE) {
    profiles += threadIdx.x / TEAM * PAIRS * letters * STRIP;
  }
  const int gang_team = threadIdx.x / TEAM % GANG;
  const unsigned team_mask = TEAM == 32 ? ~0u : (1u << TEAM) - 1 << lane / TEAM * TEAM;
  for (int turn = warp * teams; BANDS || turn < units; turn += warps * teams) {
    if (BANDS) {
      // In order, the first bands of all pairs first: a band waits for one that was begun before it, for long where pairs are few, and all come to an end
      // however many blocks there are at a time.
      __shared__ int begun;
      __syncthreads();
      if (threadIdx.x == 0) begun = atomicAdd(bands, 1);
      __syncthreads();
      turn = begun;
      if (turn / units >= bands_a_pair) break;
    }
    const int unit = BANDS ? turn % units : min(turn + lane / TEAM, units - 1), band = BANDS ? turn / units : 0;
    const unsigned char *query[PAIRS], *target[PAIRS];
    int pair[PAIRS], n[PAIRS], m[PAIRS], longest = 0, tallest = 0;
#pragma unroll
    for (int k = 0; k < PAIRS; k++) {
      pair[k] = min(unit * PAIRS + k, count - 1);
      const int row = PRODUCT ? query_row : pair[k];
      n[k] = query_lengths[row], m[k] = target_lengths[pair[k]];
      query[k] = queries + query_starts[row], target[k] = targets + target_starts[pair[k]];
      longest = max(longest, m[k]), tallest = max(tallest, n[k]);
    }
    const int own_strips = SEVERAL ? (tallest + STRIP - 1) / STRIP : 1;
    const Layout layout = layout_of(longest, own_strips, KEEP ? kept_starts[unit] : 0);
    const int steps = __reduce_max_sync(~0u, layout.steps), strips = SEVERAL ? __reduce_max_sync(~0u, own_strips) : 1;  // of all teams of the warp
    const int last_band = max(strips - 1, 0) / GANG;
    if (BANDS && band > last_band) continue;
    constexpr int OF_BAND = 1 + 3 * PAIRS;
    int *const own_band = bands + 1 + (long long)turn * OF_BAND, *const band_above = own_band - (long long)units * OF_BAND;
    // The row under a strip is written over by the strip below, which is behind.
    Kept* const row_kept = kept_cells + (BANDS ? unit : (blockIdx.x * (long long)blockDim.x + threadIdx.x) / TEAM) * row_room;
    End end[PAIRS];
#pragma unroll
    for (int k = 0; k < PAIRS; k++) end[k].score = ANYWHERE ? 0 : -(1 << 30), end[k].column = end[k].place = 0x7FFFFFFF;

    Columns at{0, steps, 0, longest};
    // The strip that a team is at.
    int strip_number = 0, row = 0;  // row: the first of this lane
    Strip strip;
    unsigned row_scores[PAIRS][TABLE ? 1 : ROWS], above = 0, gap[PIECES], selector = 0, best = 0, words[PAIRS], following[PAIRS];
    const unsigned char* profile[PAIRS];
    const unsigned padding = TABLE ? (letters - 1) * 0x01010101u : 0x08080808u;
    int column[PAIRS];
    const Kept* upper = nullptr;  // the row above the strip, TEAM cells of it at a time, a lane each
    Kept coming, later;
    const auto border_at = [&](int j, unsigned* of_gap) {
      const int score = boundary(j + 1, BEGIN_TARGET, costs);
      for (int piece = 0; piece < PIECES; piece++) of_gap[piece] = both(ANYWHERE ? lift : max(score - costs.first[piece], LOW) + lift);
      return both(score);
    };
    const auto upper_at = [&](int j) {
      unsigned gaps[PIECES];
      if (upper && j < longest && (!BOUNDED || (j >= at.above_from && j < at.above_to))) {
        const Kept* const at = upper + (long long)j * (KEEP ? TEAM : 1);
        return BANDS ? __ldcg(at) : *at;  // what another multiprocessor wrote is not in this one's cache, or is older there
      }
      const unsigned h = border_at(j, gaps);  // behind the target's end, too: lanes of 16 bits make cells there
      return kept(h, gaps);
    };
    const auto begin_strip = [&](int number) {
      strip_number = number, row = (number * TEAM + mate) * ROWS;
      if (TABLE) {
        __syncwarp(team_mask);
#pragma unroll
        for (int k = 0; k < PAIRS; k++) {
          profile[k] = profiles + (PRODUCT ? number : k) * letters * STRIP + mate * ROWS;
          if (!PRODUCT) profile_made(profiles + k * letters * STRIP, query[k], n[k], number * STRIP, table, letters, mate, TEAM);
        }
        __syncwarp(team_mask);
      } else {
#pragma unroll
        for (int k = 0; k < PAIRS; k++)
#pragma unroll
          for (int r = 0; r < ROWS; r++) row_scores[k][TABLE ? 0 : r] = fours[row + r < n[k] ? query[k][row + r] : letters - 1];  // with each of four letters
      }
#pragma unroll
      for (int r = 0; r < ROWS; r++) {
        const int score = boundary(row + r + 1, BEGIN_QUERY, costs);
        strip.h[r] = both(score);
        for (int piece = 0; piece < PIECES; piece++) strip.d[piece][r] = both(max(score - costs.first[piece], LOW) + lift);
      }
      strip.corner = both(boundary(row, BEGIN_QUERY, costs));
      above = 0, best = both(0), selector = TABLE ? (letters - 1) * 0x101u : 0xCC88u;
      for (int piece = 0; piece < PIECES; piece++) gap[piece] = both(lift);
#pragma unroll
      for (int k = 0; k < PAIRS; k++) column[k] = 0x7FFFFFFF, following[k] = four_letters(target[k], at.from, m[k], padding);
      if (SEVERAL) {
        upper = nullptr;
        const long long above = ((long long)min(number - 1, own_strips - 1) * layout.steps + TEAM - 1) * TEAM + TEAM - 1;
        if (number) upper = KEEP ? kept_cells + layout.rows + above : row_kept;
        __syncwarp(team_mask);
        coming = upper_at(at.from + mate), later = upper_at(at.from + mate + TEAM);
      }
    };
    const auto four_steps = [&](int block, bool active) {
#pragma unroll
      for (int k = 0; k < PAIRS; k++) {
        words[k] = following[k];
        following[k] = four_letters(target[k], block + 4, m[k], padding);
        if (!TABLE) words[k] = (words[k] | (words[k] << 4 & 0xF0F0F0F0u) | 0x80808080u) + (k ? 0x44444444u : 0u);
      }
      if (SEVERAL && block % TEAM == 0 && block != at.from) {
        coming = later;
        if (active) later = upper_at(block + TEAM + mate);
      }
#pragma unroll
      for (int k = 0; k < 4; k++) {
        const int step = block + k, j = step - mate;
        const bool inside = (unsigned)j < (unsigned)m[0], keeps = KEEP && active && step < layout.steps && strip_number < own_strips;
        if (KEEP && k == 0 && step % COLUMNS == 0 && step && keeps) {
          Kept* to = kept_cells + layout.columns + ((long long)strip_number * layout.checks + step / COLUMNS) * ROWS * TEAM + mate;
#pragma unroll
          for (int r = 0; r < ROWS; r++) {
            unsigned gaps[PIECES];
            for (int piece = 0; piece < PIECES; piece++) gaps[piece] = strip.d[piece][r];
            to[r * TEAM] = kept(strip.h[r], gaps);
          }
        }
        unsigned letter = __shfl_up_sync(~0u, selector, 1, TEAM), in = __shfl_up_sync(~0u, above, 1, TEAM), in_gap[PIECES], from_h = 0, from_gap[PIECES];
        for (int piece = 0; piece < PIECES; piece++) in_gap[piece] = __shfl_up_sync(~0u, gap[piece], 1, TEAM);
        if (SEVERAL) {
          taken(coming, from_h, from_gap);
          from_h = __shfl_sync(~0u, from_h, step % TEAM, TEAM);
          for (int piece = 0; piece < PIECES; piece++) from_gap[piece] = __shfl_sync(~0u, from_gap[piece], step % TEAM, TEAM);
        }
        if (mate == 0) {
          letter = prmt(words[0], words[PAIRS - 1], WIDE ? k * 0x11 : (4 + k) << 4 | k);
          if (WIDE && TABLE) letter &= 0xFF;
          if (WIDE && !TABLE) letter |= 0x0800;
          if (!SEVERAL) from_h = border_at(step, from_gap);
          in = from_h;
          for (int piece = 0; piece < PIECES; piece++) in_gap[piece] = from_gap[piece];
        }
        selector = letter;
        if (!WIDE || inside) {
          above = in;
          for (int piece = 0; piece < PIECES; piece++) gap[piece] = in_gap[piece];
          unsigned found = best;
          const auto track = [&](int r) {
            if (ANYWHERE) found = highest(found, strip.h[r], strip.h[r - 1]);
          };
          if (TABLE) {
            unsigned looked[PAIRS][ROWS / 4];
#pragma unroll
            for (int k = 0; k < PAIRS; k++) looked_up(looked[k], profile[k] + (letter >> 8 * k & 255) * STRIP);
            const auto score = [&](int r) {
              const int low = r & 3, high = WIDE ? 8 | low : 4 + low;
              return prmt(looked[0][r / 4], looked[PAIRS - 1][r / 4], WIDE ? low | high * 0x1110 : low | (8 | low) << 4 | high << 8 | (8 | high) << 12);
            };
            column_made(strip, above, gap, taken_off, score, track);
          } else {
            const auto score = [&](int r) { return prmt(row_scores[0][TABLE ? 0 : r], row_scores[PAIRS - 1][TABLE ? 0 : r], letter); };
            column_made(strip, above, gap, taken_off, score, track);
          }
          if (ANYWHERE && KEEP) {
            const unsigned changed = found ^ best;
            if (WIDE ? changed : changed & 0xFFFF) column[0] = j;
            if (!WIDE && changed >> 16) column[PAIRS - 1] = j;
          }
          best = found;
          if (END_QUERY && active && (unsigned)(n[0] - 1 - row) < (unsigned)ROWS) {
            int score = 0;
#pragma unroll
            for (int r = 0; r < ROWS; r++)
              if (row + r == n[0] - 1) score = (int)strip.h[r];
            end[0].meet(score, j, n[0] - 1);
          }
        }
        const Kept below = kept(above, gap);
        if (KEEP) {
          if (keeps) kept_cells[layout.rows + ((long long)strip_number * layout.steps + step) * TEAM + mate] = below;
        } else if (SEVERAL && active && mate == TEAM - 1 && j >= 0 && j < longest) {
          row_kept[j] = below;
        }
      }
    };
    const auto end_strip = [&]() {
      if (ANYWHERE)
#pragma unroll
        for (int k = 0; k < PAIRS; k++) end[k].meet(part(best, k), column[k], strip_number * TEAM + mate);
      if (END_TARGET || END_CORNER)
#pragma unroll
        for (int r = 0; r < ROWS; r++)
          if (m[0] > 0 && (END_TARGET ? row + r < n[0] : row + r == n[0] - 1)) end[0].meet((int)strip.h[r], m[0] - 1, row + r);
    };
    if (GANG == 1) {
      for (int number = 0; number < strips; number++) {
        begin_strip(number);
        for (int block = at.from; block < at.to; block += 4) four_steps(block, true);
        end_strip();
        if (!BOUNDED || number + 1 == strips) continue;
        const Bars of_queries{bars, worth, query_starts, PRODUCT ? query_row : -1};
        if (!needed(at, of_queries, pair, n, end, (number + 1) * STRIP, row_kept, longest, steps, mate, costs)) break;
      }
    } else {
      // Strips one under the other, each LAG blocks of steps behind the one above it: so the row above is there as far as this block looks ahead.
      constexpr int BLOCK = 32, LAG = 2;
      const int blocks = (steps + BLOCK - 1) / BLOCK, number = band * GANG + gang_team;
      int above_is_at = 0;  // blocks of steps that the band above has behind it
      const auto wait_for_above = [&](int blocks_of_it) {
        while (above_is_at < blocks_of_it) above_is_at = *(volatile int*)band_above;
        __threadfence();
      };
      begin_strip(number);  // teams that wait make cells too, which nobody sees: of something
      for (int time = 0; time < blocks + LAG * (GANG - 1); time++) {
        if (band && threadIdx.x == 0 && time < blocks) wait_for_above(min(time + LAG, blocks));
        __syncthreads();
        const int block = time - LAG * gang_team;
        const bool active = block >= 0 && block < blocks && number < strips;
        if (active && block == 0) begin_strip(number);
        if (!__any_sync(~0u, active)) continue;
        const int start = active ? block * BLOCK : 0;
        for (int step = 0; step < BLOCK; step += 4) four_steps(start + step, active);
        if (active && block == blocks - 1) end_strip();
        if (active && gang_team == GANG - 1 && mate == TEAM - 1) {
          __threadfence();
          *(volatile int*)own_band = block + 1;
        }
      }
      if (band && threadIdx.x == 0) wait_for_above(blocks + 1);  // which has its ends then
    }
#pragma unroll
    for (int k = 0; k < PAIRS; k++) {
      for (int apart = TEAM / 2; apart; apart /= 2) {
        const int score = __shfl_xor_sync(~0u, end[k].score, apart, TEAM), column = __shfl_xor_sync(~0u, end[k].column, apart, TEAM);
        end[k].meet(score, column, __shfl_xor_sync(~0u, end[k].place, apart, TEAM));
      }
      if (BANDS) {
        __shared__ End of_teams[GANG];
        __syncthreads();
        if (mate == 0) of_teams[gang_team] = end[k];
        __syncthreads();
        for (int team = 0; team < GANG; team++) end[k].meet(of_teams[team].score, of_teams[team].column, of_teams[team].place);
      }
      // Ends in row 0 and column 0, which no lane has.
      if (END_QUERY) end[k].meet(boundary(n[k], BEGIN_QUERY, costs), -1, n[k] - 1);
      if (END_TARGET) end[k].meet(boundary(m[k], BEGIN_TARGET, costs), m[k] - 1, -1);
      if (END_CORNER && n[k] == 0) end[k].meet(boundary(m[k], false, costs), m[k] - 1, -1);
      if (END_CORNER && m[k] == 0) end[k].meet(boundary(n[k], false, costs), -1, n[k] - 1);
      if (mate == 0 && gang_team == 0) {
        if (band) end[k].meet(__ldcg(band_above + 1 + 3 * k), __ldcg(band_above + 2 + 3 * k), __ldcg(band_above + 3 + 3 * k));
        if (BANDS && band < last_band)
          own_band[1 + 3 * k] = end[k].score, own_band[2 + 3 * k] = end[k].column, own_band[3 + 3 * k] = end[k].place;
        else if (PRODUCT)
          scores[query_row * row_scores_room + slots[pair[k]]] = end[k].score;
        else
          scores[pair[k]] = end[k].score, columns[pair[k]] = end[k].column, places[pair[k]] = end[k].place;
      }
    }
    if (BANDS && threadIdx.x == 0 && band < last_band) {
      __threadfence();
      *(volatile int*)own_band = (steps + 31) / 32 + 1;
    }
  }
}
