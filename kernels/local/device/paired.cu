// Extension from the corner with two pairs a team, a score of 16 bits each: for pairs of four letters without a bonus, of which it tells if it could not.
//
// What a path lacks of the highest score that target letters can bring never shrinks, so 16 bits hold it: a lane's cell in column j holds TOP + H - most * j,
// and FLOOR where it would be less. No cell of worth comes from one that holds the FLOOR. The highest score of an antidiagonal is taken of each SAMPLEDth row
// alone. That bounds it from both sides: it is no less, and no path gains more than most * (SAMPLED - 1) from such a row to the next. If by these bounds no
// antidiagonal before the end, or so near to it that the end itself bounds it, lies more than the z-drop below the highest so far, the extension does not stop
// before the end, which is the best of all cells. Pairs of which this is not so are left to extensions.cu. Of each strip only columns near the main diagonal
// are made, with LOCAL_MASKED those of the band and no others; whether that was enough is known as there.
#include "local/device/band.cuh"
#include "local/device/letters.cuh"
#include "local/device/paired.cuh"

constexpr bool MASKED = LOCAL_MASKED;
constexpr int RING = 2 * STRIP;  // antidiagonals that lanes are apart, and 32 more before they are taken out
static_assert((TEAM - 1) * (ROWS - 1) + ROWS + 40 <= RING && ROWS % 4 == 0, "lanes meet; rows go to memory by four");
constexpr unsigned NO_VALUES = 0x80008000u;

// Extend pairs, two a team, the next two that `next` counts. fours: what letters score with each of the first four, less `most` and lifted by the dearest first
// letter of a gap in the target; the last letter is padding. first1 .. more2: costs. bands, tails, rows, diagonals, enough: as of extensions.cu; losses: no
// less than there. sure: whether all of this holds.
extern "C" __global__ void __launch_bounds__(LOCAL_THREADS, LOCAL_BLOCKS)
    local_paired_extensions(const unsigned char* queries, const long long* query_starts, const int* query_lengths, const unsigned char* targets,
                            const long long* target_starts, const int* target_lengths, int count, const unsigned* fours, int letters, int first1, int more1,
                            int first2, int more2, int one, int zdrop, int most, const int* bands, const int* tails, int* next, uint4* rows, long long row_room,
                            long long* diagonals, long long diagonals_room, int* scores, int* query_ends, int* target_ends, int* losses, bool* enough,
                            bool* sure) {
  __shared__ unsigned rings[LOCAL_THREADS / TEAM * RING];
  __shared__ uint4 grown_rows[2 * (ROWS / 4) * LOCAL_THREADS];
  const int lane = threadIdx.x & 31, mate = lane % TEAM;
  const long long team = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / TEAM;
  unsigned* const ring = rings + threadIdx.x / TEAM * RING;
  Kept* const row_kept = (Kept*)rows + team * row_room;
  int2* const highest_of = (int2*)diagonals + team * diagonals_room;
  const Costs costs = costs_of(first1, more1, first2, more2);
  const int lift = costs.first[LOCAL_DEAREST] + most, floor = lift;
  const Prices prices = prices_of(costs, most, one);
  const int dearest = max(costs.first[0], costs.first[PIECES - 1]), longer = max(costs.more[0], costs.more[PIECES - 1]);
  // So many antidiagonals before the end its own score is bound enough.
  const int near_end = zdrop < 0 ? UNKNOWN : max(2 * (zdrop - dearest) / most - 1, 0);
  const unsigned half_of[2] = {0xFFFFu * one, 0xFFFF0000u * one};  // the compiler must not know them: it would test a half in more steps
  while (true) {
    int unit = 0;
    if (lane == 0) unit = atomicAdd(next, 32 / TEAM);
    unit = __shfl_sync(ALL, unit, 0);
    if (unit * 2 >= count) break;
    unit += lane / TEAM;
    int pair[2], n[2], m[2], band[2], tail[2], best[2] = {0, 0}, best_q[2] = {0, 0}, best_t[2] = {0, 0}, exits[2] = {-0x7FFFFFFF, -0x7FFFFFFF};
    const unsigned char *query[2], *target[2];
    Antidiagonals known[2];
#pragma unroll
    for (int k = 0; k < 2; k++) {
      pair[k] = min(unit * 2 + k, count - 1);
      n[k] = query_lengths[pair[k]], m[k] = target_lengths[pair[k]], band[k] = bands[pair[k]], tail[k] = tails[pair[k]];
      query[k] = queries + query_starts[pair[k]], target[k] = targets + target_starts[pair[k]];
      known[k] = {0, UNKNOWN, UNKNOWN, 0};
    }
    const int tallest = max(n[0], n[1]), longest = max(m[0], m[1]), widest = max(band[0], band[1]) + STRIP;
    int touched = -1, scanned = 0, above_right = -1;
    bool given_up = false;
    const Band wide[2] = {{n[0], band[0], tail[0]}, {n[1], band[1], tail[1]}};
    const auto left_of = [&](int first) { return max(0, first - max(wide[0].left(first), wide[1].left(first))) & ~3; };
    const auto right_of = [&](int last) { return min(longest - 1, last + max(wide[0].right(last), wide[1].right(last))); };
    const auto row_zero = [&](int j) {  // what a cell of row 0 holds
      return MASKED && j > band[0] ? floor : max(TOP + boundary(j, false, costs) - (int)min((long long)most * j, 1LL << 20), floor);
    };
    const auto column_zero = [&](int i) { return MASKED && i > band[0] ? floor : max(TOP + boundary(i, false, costs), floor); };

    // Take what lanes have met of antidiagonals [from, to] out of the ring.
    const auto taken_out = [&](int first, int from, int to) {
      __syncwarp(ALL);
      for (int start = from + mate; start <= to; start += 32) {
        int2 highest[32 / TEAM];  // read at once, as each takes long
#pragma unroll
        for (int i = 0; i < 32 / TEAM; i++) {
          const int a = start + i * TEAM;
          highest[i] = a <= min(to, touched) ? highest_of[a] : make_int2(NO_SCORE, NO_SCORE);
        }
#pragma unroll
        for (int i = 0; i < 32 / TEAM; i++) {
          const int a = start + i * TEAM;
          if (a > to) break;
          const unsigned values = ring[a & RING - 1];
          ring[a & RING - 1] = NO_VALUES;
          const int low = (short)values, high = (short)(values >> 16), rest = lift - TOP + most * (a - first + 1);
          if (low != -0x8000) highest[i].x = max(highest[i].x, low + rest);
          if (high != -0x8000) highest[i].y = max(highest[i].y, high + rest);
          highest_of[a] = highest[i];
        }
      }
      __syncwarp(ALL);
    };
    // Go on over the antidiagonals up to `limit`, all of whose cells are made.
    const auto scan = [&](int limit) {
      const auto made = [&](int a) { return a <= limit && a >= 2 && a - 2 <= touched ? highest_of[a - 2] : make_int2(NO_SCORE, NO_SCORE); };
      int2 following = made(scanned + 1 + mate);
      const int most_left = __reduce_max_sync(ALL, limit - scanned);
      for (int done = 0; done < most_left; done += TEAM) {
        const int start = scanned + done + 1, a = start + mate;
        const int2 highest = following;
        following = made(a + TEAM);
        const int edge = boundary(a, false, costs);
#pragma unroll
        for (int k = 0; k < 2; k++) {
          int score = k ? highest.y : highest.x;
          if (score <= floor - TOP + most * min(min(a, m[k]), (a + widest) / 2)) score = NO_SCORE;  // it may be that of a cell that holds the floor
          if (a <= max(n[k], m[k]) && (!MASKED || a <= band[0])) score = max(score, edge);
          known[k].go_on(start, mate, a <= limit && a <= n[k] + m[k], score, zdrop, most);
        }
      }
      scanned = max(scanned, limit);
    };
    // Tell whether a pair has come to where it may have stopped so long ago that its end may lie there.
    const auto hopeless = [&](int k) { return known[k].stop < UNKNOWN && (long long)known[k].stop + near_end + 2 * STRIP < scanned; };
    // Make the columns [left, right] of the strip from row `first` on.
    const auto strip_made = [&](int first, int left, int right) {
      const int row = first + mate * ROWS;
      Rows strip;
      unsigned row_scores[2][ROWS];
#pragma unroll
      for (int k = 0; k < 2; k++)
#pragma unroll
        for (int r = 0; r < ROWS; r++) row_scores[k][r] = fours[row + r < n[k] ? query[k][row + r] : letters - 1];
#pragma unroll
      for (int r = 0; r < ROWS; r++) {
        const int h = left ? floor : column_zero(row + r + 1);
        strip.h[r] = twice(h - lift, h - lift);
        for (int piece = 0; piece < PIECES; piece++) {
          const int opened = max(h - costs.first[piece] - most, 0);
          strip.d[piece][r] = twice(opened, opened);
        }
      }
      // Of the lane's last row: how far it lies below that of the first lane, and of which pairs it is one.
      const unsigned apart = twice(-most * (mate * ROWS + ROWS - 1), -most * (mate * ROWS + ROWS - 1));
      const unsigned is_row = (row + ROWS <= n[0] ? 0xFFFFu : 0) | (row + ROWS <= n[1] ? 0xFFFF0000u : 0);
      for (int a = mate; a < RING; a += TEAM) ring[a] = NO_VALUES;
      // What lanes must find more than, lest each cell counts: one less than the best of all lanes so far, which a cell further left takes the place of.
      int least[2];
#pragma unroll
      for (int k = 0; k < 2; k++) {
        least[k] = best[k];
        for (int apart = TEAM / 2; apart; apart /= 2) least[k] = max(least[k], __shfl_xor_sync(ALL, least[k], apart, TEAM));
        least[k] = (int)max((long long)least[k] - 1 + TOP - lift - (long long)most * left, 0LL);
      }
      unsigned found_before = twice(least[0], least[1]);
      __syncwarp(ALL);
      const auto upper_at = [&](int j) {
        unsigned of_gap[PIECES];
        if (first && j <= above_right) return row_kept[j];
        const int h = first || j > right ? floor : row_zero(j + 1);
        for (int piece = 0; piece < PIECES; piece++) {
          const int opened = max(h - costs.first[piece], floor);
          of_gap[piece] = twice(opened, opened);
        }
        return kept(twice(h - lift, h - lift), of_gap);
      };
      unsigned above = 0, gap[PIECES] = {}, selector = 0, of_h, of_gap[PIECES], following[2];
      int out = first + left;  // the first antidiagonal that was not taken out
      for (int k = 0; k < 2; k++) following[k] = four_letters(target[k], left, m[k], 0x08080808u);
      const int corner = left ? floor : row ? column_zero(row) : TOP;
      strip.corner = twice(corner - lift, corner - lift);
      if (mate == 0 && left) taken(row_kept[left - 1], of_h, of_gap), strip.corner = of_h;
      Kept coming = upper_at(left + mate),
           later = upper_at(left + TEAM + mate);  // cells of the row above, one of TEAM each lane
      Grown grown = {grown_rows, {-1, -1}};
      const auto four_steps = [&](int block, auto edge) {
        constexpr bool EDGE = decltype(edge)::value;
        unsigned words[2];
#pragma unroll
        for (int k = 0; k < 2; k++) {
          words[k] = following[k];
          following[k] = four_letters(target[k], left + block + 4, m[k], 0x08080808u);
          words[k] = (words[k] | (words[k] << 4 & 0xF0F0F0F0u) | 0x80808080u) + (k ? 0x44444444u : 0u);
        }
        if (block && block % TEAM == 0) coming = later, later = upper_at(left + block + TEAM + mate);
        if (block && block % 32 == 0) {
          const int to = min(first + left + block - 1, first + right);
          taken_out(first, out, to);
          out = to + 1;
        } else {
          __syncwarp(ALL);
        }
#pragma unroll 2  // both forms of four columns at once are more than the multiprocessor keeps instructions
        for (int k = 0; k < 4; k++) {
          const int step = block + k, j = left + step - mate;
          unsigned letter = __shfl_up_sync(ALL, selector, 1, TEAM), in = __shfl_up_sync(ALL, above, 1, TEAM), in_gap[PIECES];
          for (int piece = 0; piece < PIECES; piece++) in_gap[piece] = __shfl_up_sync(ALL, gap[piece], 1, TEAM);
          taken(coming, of_h, of_gap);
          of_h = __shfl_sync(ALL, of_h, step % TEAM, TEAM);
          for (int piece = 0; piece < PIECES; piece++) of_gap[piece] = __shfl_sync(ALL, of_gap[piece], step % TEAM, TEAM);
          if (mate == 0) {
            in = of_h, letter = prmt(words[0], words[1], (4 + k) << 4 | k);
            for (int piece = 0; piece < PIECES; piece++) in_gap[piece] = of_gap[piece];
          }
          selector = letter;
          if (!EDGE || (step >= mate && j <= right)) {
            above = in;
            for (int piece = 0; piece < PIECES; piece++) gap[piece] = in_gap[piece];
            found_before = __viaddmax_s16x2(found_before, prices.a_column, 0u);
            unsigned found = found_before;
            const auto score = [&](int r) { return prmt(row_scores[0][r], row_scores[1][r], letter); };
            column_made<EDGE && MASKED>(strip, above, gap, found, prices, EDGE && MASKED ? rows_within(band[0], row, j) : 0, score);
            if (found != found_before) {
#pragma unroll
              for (int half = 0; half < 2; half++)
                if ((found ^ found_before) & half_of[half]) grown.keep(half, j, strip.h);
              found_before = found;
            }
            const unsigned real = EDGE ? is_row & ((j < m[0] ? 0xFFFFu : 0) | (j < m[1] ? 0xFFFF0000u : 0)) : is_row;
            unsigned* const meeting = ring + (row + ROWS - 1 + j & RING - 1);
            *meeting = __vmaxs2(*meeting, __viaddmax_s16x2(strip.h[ROWS - 1], apart, NO_VALUES) & real | NO_VALUES & ~real);
            if (mate == TEAM - 1) row_kept[j] = kept(above, gap);
          }
        }
      };
      const int steps = __reduce_max_sync(ALL, right - left + TEAM);
      // Steps in which all lanes have a column, of letters of both targets, and all of its rows in the band.
      const int whole_from = __reduce_max_sync(ALL, MASKED ? max(TEAM - 1, first + STRIP - 1 - band[0] + TEAM - left) : TEAM - 1);
      const int whole_to = __reduce_min_sync(ALL, min(min(right, MASKED ? first + band[0] : right), min(m[0], m[1]) - 1) - left);
      for (int block = 0; block < steps; block += 4) {
        if (block < whole_from || block + 3 > whole_to)
          four_steps(block, Fixed<true>());
        else
          four_steps(block, Fixed<false>());
      }
#pragma unroll
      for (int half = 0; half < 2; half++) {
        if (grown.at[half] < 0) continue;
        const int2 highest = grown.highest(half);
        const int now = highest.x + lift - TOP + most * (grown.at[half] + 1);
        if (now > best[half] || (now == best[half] && grown.at[half] + 1 < best_t[half]))
          best[half] = now, best_t[half] = grown.at[half] + 1, best_q[half] = row + highest.y + 1;
      }
      const int to = min(first + right + STRIP - 1, tallest + longest - 2);
      taken_out(first, out, to);
      if (left <= right) touched = max(touched, to);
      if (MASKED || left > right) return;
      const auto leaves = [&](unsigned h, int i, int j) {
#pragma unroll
        for (int k = 0; k < 2; k++)
          if (i <= n[k] && j < m[k]) exits[k] = max(exits[k], 2 * ((int)(h >> 16 * k & 0xFFFF) + lift - TOP + most * j) - most * (i + j));
      };
      if (right < longest - 1)
#pragma unroll
        for (int r = 0; r < ROWS; r++) leaves(strip.h[r], row + r + 1, right + 1);
      if (first + STRIP < tallest) {
        const int below_left = left_of(first + STRIP), below_right = right_of(first + 2 * STRIP - 1);
        const auto left_below = [&](int j) { leaves(row_kept[j].x, first + STRIP, j + 1); };
        for (int j = left + mate; j <= right && j < below_left; j += TEAM) left_below(j);
        if (below_right < longest - 1)
          for (int j = max(left, below_right) + mate; j <= right; j += TEAM) left_below(j);
      }
    };
    for (int first = 0; __any_sync(ALL, first < tallest && !given_up); first += STRIP) {
      const bool made = first < tallest && !given_up && left_of(first) <= right_of(first + STRIP - 1);
      if (!__any_sync(ALL, made)) break;
      const int left = made ? left_of(first) : 0, right = made ? right_of(first + STRIP - 1) : -1;
      strip_made(first, left, right);
      above_right = right;
      scan(made ? first + STRIP : scanned);
      given_up = given_up || (first + STRIP < min(min(n[0], n[1]), min(m[0], m[1])) && hopeless(0) && hopeless(1));
    }
    scan(given_up ? scanned : max(n[0] + m[0], n[1] + m[1]));
#pragma unroll
    for (int k = 0; k < 2; k++) {
      for (int apart = TEAM / 2; apart; apart /= 2) {
        const int other = __shfl_xor_sync(ALL, best[k], apart, TEAM), other_q = __shfl_xor_sync(ALL, best_q[k], apart, TEAM);
        const int other_t = __shfl_xor_sync(ALL, best_t[k], apart, TEAM);
        if (other > best[k] || (other == best[k] && (other_t < best_t[k] || (other_t == best_t[k] && other_q < best_q[k]))))
          best[k] = other, best_q[k] = other_q, best_t[k] = other_t;
        exits[k] = max(exits[k], __shfl_xor_sync(ALL, exits[k], apart, TEAM));
        known[k].loss = max(known[k].loss, __shfl_xor_sync(ALL, known[k].loss, apart, TEAM));
      }
      // Antidiagonals behind the last sampled row: a path goes on to them from the last that was known.
      const int left_out = n[k] + m[k] - known[k].unknown;
      if (left_out > 2 * SAMPLED)
        known[k].loss = UNKNOWN;
      else if (left_out >= 0)
        known[k].loss += (2 * SAMPLED + 1) * most + 4 * dearest + 4 * SAMPLED * longer;
      if (mate == 0 && unit * 2 + k < count) {
        scores[pair[k]] = best[k], query_ends[pair[k]] = best_q[k], target_ends[pair[k]] = best_t[k], losses[pair[k]] = known[k].loss;
        enough[pair[k]] = MASKED || exits[k] < -known[k].loss;
        sure[pair[k]] = !given_up && best[k] > floor - TOP + most * min(m[k], n[k] + widest) &&
                        (known[k].stop == UNKNOWN || best_q[k] + best_t[k] <= (long long)known[k].stop + near_end);
      }
    }
  }
}
