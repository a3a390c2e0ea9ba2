// Extension from the corner, stopped by minimap2's z-drop: the rule of kernels/local/extension.py, which asks for the highest score of each antidiagonal.
//
// A team of lanes takes a pair, strip after strip of the query's rows, the target streaming through as in scores.cu; a score has 32 bits. A lane's cell in row
// r and column j lies on the antidiagonal of row r + 1 in the column before, so the highest score of an antidiagonal moves up a row a column; from the lane's
// first row it goes to a ring in shared memory where the lanes meet, and from there to memory, where strips meet. A strip done, all antidiagonals that end in
// its rows are known, and are asked in order whether the extension stops. Of each strip only columns near the main diagonal are made. Whether that was enough
// is known from the cells where a path can leave them (kernels/local/device/extensions.py). MASKED, there are no other cells: what H comes to further from the
// main diagonal is taken away. Gaps need not be: one that leaves a band never comes back.
#include "local/device/band.cuh"
#include "local/device/letters.cuh"
#include "local/device/reached.cuh"

constexpr bool BONUS = LOCAL_BONUS;    // whether the end of the query counts
constexpr bool MASKED = LOCAL_MASKED;  // whether cells end where the band does, which is as wide in all rows

// The highest score of an antidiagonal with the end of the query there, the last of them: the target's is the smallest.
__device__ __forceinline__ long long keyed(int score, int query_end) { return (long long)score << 32 | query_end; }

// What a team knows of its pair, all lanes the same.
struct Extension {
  int best, best_q, best_t, seen, seen_q, seen_t, whole, whole_t, loss;
  bool stopped;
  __device__ __forceinline__ void end(int score, int q, int t) {
    if (score > best || (score == best && (t < best_t || (t == best_t && q < best_q)))) best = score, best_q = q, best_t = t;
  }
  __device__ __forceinline__ void end_of_query(int score, int t) {
    if (score > whole || (score == whole && t < whole_t)) whole = score, whole_t = t;
  }
};

// Extend pairs, a team each, the next one that `next` counts. first1 .. more2: costs, as in scores.cu. zdrop: below 0 for none; slope: of it a diagonal; most:
// what two letters score at most. bands, tails: how far from the main diagonal cells of a pair are made, in the first row and in the last. rows, diagonals,
// last_rows: of each team room for a row of cells, for all antidiagonals, and for the scores of the query's last row. losses: the most that an antidiagonal's
// highest score, doubled, lies below `most` a letter; enough: whether each cell where a path leaves those that are made lies further below.
extern "C" __global__ void __launch_bounds__(LOCAL_THREADS, LOCAL_BLOCKS)
    local_extensions(const unsigned char* queries, const long long* query_starts, const int* query_lengths, const unsigned char* targets,
                     const long long* target_starts, const int* target_lengths, int count, const signed char* table, const unsigned* fours, int letters,
                     int first1, int more1, int first2, int more2, int one, int scale, int zdrop, int slope, int end_bonus, int most, const int* bands,
                     const int* tails, int* next, uint4* rows, long long row_room, long long* diagonals, long long diagonals_room, int* last_rows,
                     long long last_row_room, int* scores, int* query_ends, int* target_ends, int* losses, bool* enough) {
  extern __shared__ uint4 shared[];
  __shared__ int rings[LOCAL_THREADS / TEAM * RING];
  const int lane = threadIdx.x & 31, mate = lane % TEAM;
  const unsigned team_mask = TEAM == 32 ? ~0u : (1u << TEAM) - 1 << lane / TEAM * TEAM;
  const long long team = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / TEAM;
  int* const ring = rings + threadIdx.x / TEAM * RING;
  unsigned char* const profile = (unsigned char*)shared + (TABLE ? threadIdx.x / TEAM * letters * STRIP : 0);
  Kept* const row_kept = (Kept*)rows + team * row_room;
  long long* const highest_of = diagonals + team * diagonals_room;
  int* const last_row = last_rows + (BONUS ? team * last_row_room : 0);
  const Costs costs = costs_of(first1, more1, first2, more2);
  Prices prices;
  prices.one = one, prices.scale = scale;
  for (int piece = 0; piece < PIECES; piece++) prices.first[piece] = -costs.first[piece] * PLACES, prices.more[piece] = -costs.more[piece] * PLACES;
  while (true) {
    int pair = 0;
    if (mate == 0) pair = atomicAdd(next, 1);
    pair = __shfl_sync(team_mask, pair, 0, TEAM);
    if (pair >= count) break;
    const int n = query_lengths[pair], m = target_lengths[pair], band = bands[pair], tail = tails[pair];
    const unsigned char *query = queries + query_starts[pair], *target = targets + target_starts[pair];
    int touched = -1, scanned = 0, above_right = -1, row_left = 0, row_right = -1;  // row_left, row_right: columns of the query's last row that are made
    int exits = -0x7FFFFFFF;  // the highest score where a path leaves, doubled, less `most` a letter
    const Band wide = {n, band, tail};
    const auto left_of = [&](int first) { return max(0, first - wide.left(first)) & ~3; };
    const auto right_of = [&](int first) { return min(m - 1, first + STRIP - 1 + wide.right(first + STRIP - 1)); };
    const int over = MASKED ? min(n + m, 2 * min(n, m) + band) : n + m;  // the last antidiagonal
    Extension found = {0, 0, 0, 0, 0, 0, n == 0 ? 0 : NO_SCORE, 0, 0, false};

    // Take what lanes have met of antidiagonals [from, to] out of the ring.
    const auto taken_out = [&](int first, int from, int to) {
      __syncwarp(team_mask);
      for (int a = from + mate; a <= to; a += TEAM) {
        const int value = ring[a & RING - 1];
        ring[a & RING - 1] = NONE;
        long long key = keyed(value < NONE / 2 ? NO_SCORE : value >> 9, first + 1 + (value & PLACES - 1));
        if (a <= touched) key = max(key, highest_of[a]);
        highest_of[a] = key;
      }
      __syncwarp(team_mask);
    };
    // Go on over the antidiagonals up to `limit`, all of whose cells are made.
    const auto scan = [&](int limit) {
      while (scanned < limit && !found.stopped) {
        const int start = scanned + 1, a = start + mate;
        const bool valid = a <= limit;
        int score = NO_SCORE, q = 0, of_row = NO_SCORE;
        if (valid) {
          const int edge = boundary(a, false, costs);
          if (a >= 2 && a - 2 <= touched) {
            const long long key = highest_of[a - 2];
            score = (int)(key >> 32), q = (int)key;
          }
          const bool held = !MASKED || a <= band;
          if (a <= n && held && edge >= score) score = edge, q = a;
          else if (a <= m && held && edge > score) score = edge, q = 0;
          if (BONUS && a >= n) {
            const int column = a - n - 1;
            if (n == 0 || column < 0) of_row = held ? edge : NO_SCORE;
            else if (column >= row_left && column <= row_right) of_row = last_row[column];
          }
        }
        int before = score;
        for (int apart = 1; apart < TEAM; apart *= 2) {
          const int other = __shfl_up_sync(team_mask, before, apart, TEAM);
          if (mate >= apart) before = max(before, other);
        }
        const int top = max(found.seen, __shfl_sync(team_mask, before, TEAM - 1, TEAM));
        before = __shfl_up_sync(team_mask, before, 1, TEAM);
        before = mate ? max(before, found.seen) : found.seen;
        if (!__any_sync(team_mask, valid && zdrop >= 0 && score <= before && before - score > zdrop)) {
          if (top > found.seen) {
            const int at = __ffs(__ballot_sync(team_mask, score == top) & team_mask) - 1;
            const int seen_q = __shfl_sync(team_mask, q, at % TEAM, TEAM);
            found.seen = top, found.seen_q = seen_q, found.seen_t = start + at % TEAM - seen_q;
          }
          Extension own = found;
          if (valid) {
            own.end(score, q, a - q), own.loss = max(own.loss, most * a - 2 * score);
            if (BONUS && a >= n) own.end_of_query(of_row, a - n);
          }
          for (int apart = TEAM / 2; apart; apart /= 2) {
            const int other = __shfl_xor_sync(team_mask, own.best, apart, TEAM), other_q = __shfl_xor_sync(team_mask, own.best_q, apart, TEAM);
            own.end(other, other_q, __shfl_xor_sync(team_mask, own.best_t, apart, TEAM));
            own.loss = max(own.loss, __shfl_xor_sync(team_mask, own.loss, apart, TEAM));
            if (BONUS) {
              const int other_whole = __shfl_xor_sync(team_mask, own.whole, apart, TEAM);
              own.end_of_query(other_whole, __shfl_xor_sync(team_mask, own.whole_t, apart, TEAM));
            }
          }
          found = own;
          scanned = min(limit, scanned + TEAM);
        } else {
          for (int k = 0; k < TEAM && scanned < limit && !found.stopped; k++) {
            const int now = __shfl_sync(team_mask, score, k, TEAM), now_q = __shfl_sync(team_mask, q, k, TEAM), now_t = start + k - now_q;
            const int now_row = __shfl_sync(team_mask, of_row, k, TEAM);
            scanned++;
            found.end(now, now_q, now_t), found.loss = max(found.loss, most * scanned - 2 * now);
            if (BONUS && scanned >= n) found.end_of_query(now_row, scanned - n);
            if (now > found.seen)
              found.seen = now, found.seen_q = now_q, found.seen_t = now_t;
            else if (zdrop >= 0 && now_t >= found.seen_t && now_q >= found.seen_q)
              found.stopped = found.seen - now > zdrop + (long long)slope * abs((now_t - found.seen_t) - (now_q - found.seen_q));
          }
        }
      }
    };
    // Make the columns [left, right] of the strip from row `first` on.
    const auto strip_made = [&](int first, int left, int right, auto last) {
      constexpr bool LAST = decltype(last)::value;
      const int row = first + mate * ROWS, left_rows = n - row;
      Rows strip;
      unsigned row_scores[TABLE ? 1 : ROWS];
      if (TABLE) {
        profile_made(profile, query, n, first, table, letters, mate, TEAM);
      } else {
#pragma unroll
        for (int r = 0; r < ROWS; r++) row_scores[TABLE ? 0 : r] = fours[row + r < n ? query[row + r] : letters - 1];
      }
#pragma unroll
      for (int r = 0; r < ROWS; r++) {
        strip.h[r] = left || (MASKED && row + r >= band) ? NONE : boundary(row + r + 1, false, costs) * PLACES;
        for (int piece = 0; piece < PIECES; piece++) strip.d[piece][r] = left ? NONE : strip.h[r] + prices.first[piece];
        strip.reached[r] = NONE;
      }
      strip.reached[ROWS] = NONE;
      for (int a = mate; a < RING; a += TEAM) ring[a] = NONE;
      __syncwarp(team_mask);
      const auto upper_at = [&](int j) {
        unsigned of_gap[PIECES];
        if (first && j <= above_right) return row_kept[j];
        const int h = first || j > right || (MASKED && j >= band) ? NONE : boundary(j + 1, false, costs) * PLACES;
        for (int piece = 0; piece < PIECES; piece++) of_gap[piece] = h + prices.first[piece];
        return kept(h, of_gap);
      };
      int above = 0, gap[PIECES] = {}, out = first + left;  // out: the first antidiagonal that was not taken out
      unsigned selector = 0, of_h, of_gap[PIECES], following = four_letters(target, left, m, 0);
      strip.corner = left ? NONE : boundary(row, false, costs) * PLACES;
      Kept coming[4];
      if (mate == 0) {
        if (left) taken(row_kept[left - 1], of_h, of_gap), strip.corner = (int)of_h;
        for (int k = 0; k < 4; k++) coming[k] = upper_at(left + k);
      }
      const int steps = right - left + TEAM;
      for (int block = 0; block < steps; block += 4) {
        const unsigned word = following;
        following = four_letters(target, left + block + 4, m, 0);
        if (block && block % 32 == 0) {
          const int to = min(first + left + block - 1, first + right);
          taken_out(first, out, to);
          out = to + 1;
        } else {
          __syncwarp(team_mask);
        }
#pragma unroll
        for (int k = 0; k < 4; k++) {
          const int step = block + k, j = left + step - mate;
          unsigned letter = __shfl_up_sync(team_mask, selector, 1, TEAM);
          int in = __shfl_up_sync(team_mask, above, 1, TEAM), in_gap[PIECES];
          for (int piece = 0; piece < PIECES; piece++) in_gap[piece] = __shfl_up_sync(team_mask, gap[piece], 1, TEAM);
          if (mate == 0) {
            taken(coming[k], of_h, of_gap);
            coming[k] = upper_at(left + block + 4 + k);
            in = (int)of_h, letter = word >> 8 * k & 255;
            if (!TABLE) letter = letter * 0x1111u | 0x8880u;
            for (int piece = 0; piece < PIECES; piece++) in_gap[piece] = (int)of_gap[piece];
          }
          selector = letter;
          if (step >= mate && j <= right) {
            above = in;
            for (int piece = 0; piece < PIECES; piece++) gap[piece] = in_gap[piece];
            const unsigned in_band = MASKED ? rows_within(band, row, j) : 0;
            if (TABLE) {
              unsigned looked[ROWS / 4];
              looked_up(looked, profile + letter * STRIP + mate * ROWS);
              const auto score = [&](int r) { return (int)prmt(looked[r / 4], 0, (r & 3) | (8 | (r & 3)) * 0x1110); };
              column_made<LAST, MASKED>(strip, above, gap, prices, left_rows, score, in_band);
            } else {
              const auto score = [&](int r) { return (int)prmt(row_scores[TABLE ? 0 : r], 0, letter); };
              column_made<LAST, MASKED>(strip, above, gap, prices, left_rows, score, in_band);
            }
            int* const meeting = ring + (row + j & RING - 1);
            *meeting = max(*meeting, strip.reached[0] + mate * ROWS);
            if (!LAST && mate == TEAM - 1) {
              unsigned gaps[PIECES];
              for (int piece = 0; piece < PIECES; piece++) gaps[piece] = gap[piece];
              row_kept[j] = kept(above, gaps);
            }
            if (BONUS && LAST && (unsigned)(left_rows - 1) < (unsigned)ROWS) {
              int score = 0;
#pragma unroll
              for (int r = 0; r < ROWS; r++)
                if (r == left_rows - 1) score = strip.h[r];
              last_row[j] = score < NONE / 2 ? NO_SCORE : score >> 9;
            }
          }
        }
      }
      // What lanes hold of antidiagonals beyond their last column; no two lanes of the same.
      taken_out(first, out, first + right);
#pragma unroll
      for (int r = 1; r < ROWS; r++) {
        int* const meeting = ring + (row + right + r & RING - 1);
        *meeting = max(*meeting, strip.reached[r] + mate * ROWS);
      }
      const int to = min(first + right + STRIP - 1, n + m - 2);
      taken_out(first, first + right + 1, to);
      touched = max(touched, to);
      if (!MASKED && right < m - 1)
#pragma unroll
        for (int r = 0; r < ROWS; r++)
          if (r < left_rows) exits = max(exits, 2 * (strip.h[r] >> 9) - most * (row + r + right + 2));
      if (!LAST && !MASKED) {
        const int below_left = left_of(first + STRIP), below_right = right_of(first + STRIP);
        const auto left_below = [&](int j) { exits = max(exits, 2 * ((int)row_kept[j].x >> 9) - most * (first + STRIP + j + 1)); };
        for (int j = left + mate; j <= right && j < below_left; j += TEAM) left_below(j);
        if (below_right < m - 1)
          for (int j = max(left, below_right) + mate; j <= right; j += TEAM) left_below(j);
      }
    };
    for (int first = 0; first < n && !found.stopped; first += STRIP) {
      const int left = left_of(first), right = right_of(first);
      if (left > right) break;
      if (first + STRIP < n) {
        strip_made(first, left, right, Fixed<false>());
        above_right = right;
        scan(min(first + STRIP, over));
      } else {
        row_left = left, row_right = right;
        strip_made(first, left, right, Fixed<true>());
      }
    }
    scan(over);
    if (BONUS && scanned >= n) found.loss = max(found.loss, most * scanned - 2 * found.whole);
    if (BONUS && found.whole > 0 && found.whole + (long long)end_bonus > found.best) found.best = found.whole, found.best_q = n, found.best_t = found.whole_t;
    for (int apart = TEAM / 2; apart; apart /= 2) exits = max(exits, __shfl_xor_sync(team_mask, exits, apart, TEAM));
    if (mate == 0) {
      scores[pair] = found.best, query_ends[pair] = found.best_q, target_ends[pair] = found.best_t;
      losses[pair] = found.loss, enough[pair] = MASKED || exits < -found.loss;
    }
  }
}
