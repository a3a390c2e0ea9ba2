// The way back of pairs that scores.cu has scored, WAYS lanes a pair: only the strips of cells that the path goes through are made again, from what their lanes
// kept. Of the rows that one lane had before, each lane has a part, a column behind the lane above it; then they look at as many cells of the path's diagonal.
#include "local/device/layout.cuh"
#include "local/device/letters.cuh"
#include "scoring/sources.cuh"

// A bit a row of a column, the last row's lowest: which way H did not come, in the order in which ways are tried, and which gaps were opened here.
enum Kind { NOT_DIAGONAL, NOT_I1, OPENED_I1, OPENED_D1, NOT_I2, NOT_D2, OPENED_I2, OPENED_D2 };
constexpr int KINDS = PIECES == 1 ? 4 : 8;
constexpr int WAYS = 4, PART = ROWS / WAYS, THREADS = LOCAL_THREADS, READ = COLUMNS / 4 / WAYS;  // READ: words of letters that a lane reads
static_assert(ROWS % WAYS == 0 && PART <= 8 && COLUMNS % 16 == 0, "a byte a lane says of its rows");

// Operations, the last one first, in front of those that were written before.
struct Operations {
  unsigned *at, run;
  __device__ __forceinline__ void add(int code, int letters = 1) {
    if ((run & 15) == code) {
      run += letters << 4;
    } else {
      flush();
      run = letters << 4 | code;
    }
  }
  __device__ __forceinline__ void flush() {
    if (run && at) *--at = run;
    run = 0;
  }
};

// What the lanes of a pair have in common of the cells that are made: letters of rows and columns, what leaves the row above, and what is said of each cell, a
// byte a lane. The four words more keep what lanes write at a time in banks of their own.
struct Cells {
  Kept above[COLUMNS];
  unsigned said[KINDS * COLUMNS + 4], rows_of[8], columns_of[8];
};

// The way back of each pair whose score lies below `over`, from the end that local_scores found: places where it begins, and its operations, in front of
// operation_ends. same: [letters][letters], whether two codes are the same letter. operations: None where places alone are wanted.
extern "C" __global__ void __launch_bounds__(LOCAL_THREADS)
    local_traces(const unsigned char* queries, const long long* query_starts, const int* query_lengths, const unsigned char* targets,
                 const long long* target_starts, const int* target_lengths, int count, const signed char* table, const unsigned char* same, int letters,
                 int first1, int more1, int first2, int more2, uint4* room, const long long* kept_starts, int over, const int* scores, const int* columns,
                 const int* places, unsigned* operations, const long long* operation_ends, int* ends, int* operation_counts) {
  extern __shared__ uint4 shared[];
  __shared__ Cells all_cells[THREADS / WAYS];
  signed char* score_of = (signed char*)shared;
  unsigned char* is_same = (unsigned char*)shared + letters * letters;
  for (int i = threadIdx.x; i < letters * letters; i += blockDim.x) score_of[i] = table[i], is_same[i] = same[i];
  __syncthreads();
  const int own = (int)((blockIdx.x * (long long)blockDim.x + threadIdx.x) / WAYS), pair = min(own, count - 1), way = threadIdx.x % WAYS;
  const int shift = threadIdx.x & 31 & ~(WAYS - 1);  // of the pair's lanes in a ballot
  Cells& cells = all_cells[threadIdx.x / WAYS];
  const Costs costs = costs_of(first1, more1, first2, more2);
  const Kept* kept_cells = (const Kept*)room;
  const int unit = pair / PAIRS, half = pair % PAIRS, n = query_lengths[pair];
  const unsigned char *query = queries + query_starts[pair], *target = targets + target_starts[pair];
  int longest = 0, tallest = 0;
  for (int k = 0; k < PAIRS; k++) {
    const int each = min(unit * PAIRS + k, count - 1);
    longest = max(longest, target_lengths[each]), tallest = max(tallest, query_lengths[each]);
  }
  const Layout layout = layout_of(longest, LOCAL_SEVERAL ? (tallest + STRIP - 1) / STRIP : 1, kept_starts[unit]);
  const bool taken_back = own < count && scores[pair] < over, none = ANYWHERE && scores[pair] == 0;
  bool located = !ANYWHERE, ended = none || !taken_back;
  int row = none ? -1 : ANYWHERE ? places[pair] * ROWS + ROWS - 1 : places[pair], column = none ? -1 : columns[pair], gap = FROM_X;
  int score = scores[pair];  // where the path is
  int end_row = row;
  const int end_column = column;
  Operations found;
  found.at = operations && taken_back && way == 0 ? operations + operation_ends[pair] : nullptr, found.run = 0;
  unsigned* const last = found.at;
  const int lift = costs.lift();
  while (true) {
    const bool active = !ended && row >= 0 && column >= 0;
    if (!__any_sync(~0u, active)) break;
    // The lane that had the row, from the last column on where its rows are kept: all columns up to the path are made again.
    const int lane = max(row, 0) / ROWS, mate = lane % TEAM, top = lane * ROWS, strip_number = lane / TEAM, first = way * PART;
    const int check = (max(column, 0) + mate) / COLUMNS, begin = max(0, check * COLUMNS - mate), count_of = active ? column + 1 - begin : 0;
    int h[PART], d[PIECES][PART], codes[PART], corner = 0, below = 0, gaps_below[PIECES] = {};
    __syncwarp();
    if (active) {
      // All that is read at once, what leaves the row above among it: waiting for memory is much of the way back.
      const Kept* from = kept_cells + layout.columns + ((long long)strip_number * layout.checks + check) * ROWS * TEAM + mate;
      const Kept* upper = kept_cells + layout.rows + ((long long)((lane - 1) / TEAM) * layout.steps + (lane - 1) % TEAM) * TEAM + (lane - 1) % TEAM;
      const unsigned* words = (const unsigned*)(target + (begin & ~3));
      Kept before[PART], above[COLUMNS / WAYS], at_corner = {};
      unsigned word[READ], next[READ], rows_of[2];
#pragma unroll
      for (int r = 0; r < PART; r++)
        if (begin) before[r] = from[(first + r) * TEAM];
      if (begin && (way || lane)) at_corner = way ? from[(first - 1) * TEAM] : upper[(begin - 1LL) * TEAM];
#pragma unroll
      for (int k = 0; k < COLUMNS / WAYS; k++)
        if (lane && begin + way + k * WAYS <= column) above[k] = upper[(long long)(begin + way + k * WAYS) * TEAM];
#pragma unroll
      for (int k = 0; k < READ; k++) {
        const int w = way + k * WAYS;
        word[k] = begin + 4 * w <= column ? words[w] : 0, next[k] = begin + 4 * w < column ? words[w + 1] : 0;
      }
#pragma unroll
      for (int k = 0; k < 2; k++) rows_of[k] = four_letters(query, top + 4 * (way + k * WAYS), n, (letters - 1) * 0x01010101u);

#pragma unroll
      for (int r = 0; r < PART; r++) {
        if (begin) {
          unsigned of_h, of_gap[PIECES];
          taken(before[r], of_h, of_gap);
          h[r] = part(of_h, half);
          for (int piece = 0; piece < PIECES; piece++) d[piece][r] = part(of_gap[piece], half) - lift;
        } else {
          h[r] = boundary(top + first + r + 1, BEGIN_QUERY, costs);
          for (int piece = 0; piece < PIECES; piece++) d[piece][r] = max(h[r] - costs.first[piece], LOW);
        }
      }
      if (begin && (way || lane)) {
        unsigned of_h, of_gap[PIECES];
        taken(at_corner, of_h, of_gap);
        corner = part(of_h, half);
      } else if (way || lane) {
        corner = boundary(top + first, BEGIN_QUERY, costs);
      } else {
        corner = begin ? boundary(begin, BEGIN_TARGET, costs) : 0;
      }
#pragma unroll
      for (int k = 0; k < COLUMNS / WAYS; k++)
        if (lane) cells.above[way + k * WAYS] = above[k];
#pragma unroll
      for (int k = 0; k < READ; k++) cells.columns_of[way + k * WAYS] = __funnelshift_r(word[k], next[k], 8 * (begin & 3));
#pragma unroll
      for (int k = 0; k < 2; k++) cells.rows_of[way + k * WAYS] = rows_of[k];
    }
    __syncwarp();
    const unsigned char *row_letters = (const unsigned char*)cells.rows_of, *column_letters = (const unsigned char*)cells.columns_of;
#pragma unroll
    for (int r = 0; r < PART; r++) codes[r] = row_letters[first + r] * letters;
    const int steps = __reduce_max_sync(~0u, count_of ? count_of + WAYS - 1 : 0);
    for (int step = 0; step < steps; step++) {
      const int j = step - way;
      int in = __shfl_up_sync(~0u, below, 1, WAYS), gaps[PIECES];
      for (int piece = 0; piece < PIECES; piece++) gaps[piece] = __shfl_up_sync(~0u, gaps_below[piece], 1, WAYS);
      if (j < 0 || j >= count_of) continue;
      if (way == 0 && lane) {
        unsigned of_h, of_gap[PIECES];
        taken(cells.above[j], of_h, of_gap);
        in = part(of_h, half);
        for (int piece = 0; piece < PIECES; piece++) gaps[piece] = part(of_gap[piece], half) - lift;
      } else if (way == 0) {
        in = boundary(begin + j + 1, BEGIN_TARGET, costs);
        for (int piece = 0; piece < PIECES; piece++) gaps[piece] = max(in - costs.first[piece], LOW);
      }
      const int now = column_letters[j];
      int diagonal = corner;
      corner = in;
      unsigned bits[KINDS] = {};
      const auto put = [&](int kind, int below_zero) { bits[kind] = __funnelshift_l(below_zero, bits[kind], 1); };  // its sign, behind the rows before
#pragma unroll
      for (int r = 0; r < PART; r++) {
        const int straight = diagonal + score_of[codes[r] + now];
        int best = __vimax3_s32(straight, d[0][r], gaps[0]);
        if (PIECES == 2) best = __vimax3_s32(best, d[PIECES - 1][r], gaps[PIECES - 1]);
        if (ANYWHERE) best = max(best, 0);
        put(NOT_DIAGONAL, straight - best);
        put(NOT_I1, gaps[0] - best);
        if (PIECES == 2) put(KINDS - 4, gaps[PIECES - 1] - best), put(KINDS - 3, d[PIECES - 1][r] - best);
#pragma unroll
        for (int piece = 0; piece < PIECES; piece++) {
          const int opened = best - costs.first[piece];
          put(piece ? KINDS - 2 : OPENED_I1, gaps[piece] - costs.more[piece] - opened);
          put(piece ? KINDS - 1 : OPENED_D1, d[piece][r] - costs.more[piece] - opened);
          gaps[piece] = __viaddmax_s32(gaps[piece], -costs.more[piece], opened), d[piece][r] = __viaddmax_s32(d[piece][r], -costs.more[piece], opened);
        }
        diagonal = h[r];
        h[r] = best;
      }
      below = h[PART - 1];
      for (int piece = 0; piece < PIECES; piece++) gaps_below[piece] = gaps[piece];
#pragma unroll
      for (int kind = 0; kind < KINDS; kind++) ((unsigned char*)(cells.said + kind * COLUMNS + j))[way] = (unsigned char)bits[kind];
    }
    __syncwarp();
    if (__any_sync(~0u, active && !located)) {
      int place = ROWS;  // of the first row that has the score
#pragma unroll
      for (int r = PART - 1; r >= 0; r--)
        if (active && !located && h[r] == scores[pair]) place = first + r;
      for (int apart = WAYS / 2; apart; apart /= 2) place = min(place, __shfl_xor_sync(~0u, place, apart, WAYS));
      if (active && !located) row = end_row = top + place, located = true;
    }
    const auto said = [&](int kind, int r, int c) {
      return ((const unsigned char*)(cells.said + kind * COLUMNS + c - begin))[(r - top) / PART] >> (PART - 1 - (r - top) % PART) & 1;
    };
    while (true) {
      const bool inside = active && !ended && row >= top && column >= begin;
      if (!__any_sync(~0u, inside)) break;
      if (inside && gap != FROM_X) {
        const int piece = PIECES == 2 && (gap == FROM_I2 || gap == FROM_D2);
        if (said(gap == FROM_I1 ? OPENED_I1 : gap == FROM_D1 ? OPENED_D1 : gap == FROM_I2 ? KINDS - 2 : KINDS - 1, row, column))
          gap = FROM_X, score += costs.first[piece];
        else
          score += costs.more[piece];
      }
      // As many cells on the diagonal as there are lanes, a cell each: how many of them the path takes, if it is in no gap.
      const int r = row - way, c = column - way;
      const bool straight = inside && gap == FROM_X && r >= top && c >= begin && !said(NOT_DIAGONAL, r, c);
      const int letter = straight ? row_letters[r - top] * letters + column_letters[c - begin] : 0, own_score = straight ? score_of[letter] : 0;
      int before = own_score;  // of the cells up to this one, and then before it
      for (int apart = 1; apart < WAYS; apart *= 2) {
        const int other = __shfl_up_sync(~0u, before, apart, WAYS);
        if (way >= apart) before += other;
      }
      before -= own_score;
      const bool at_end = ANYWHERE && gap == FROM_X && score == before;
      const unsigned stops = __ballot_sync(~0u, !straight || at_end) >> shift & (1u << WAYS) - 1,
                     sames = __ballot_sync(~0u, straight && is_same[letter]) >> shift;
      const int taken_cells = stops ? __ffs(stops) - 1 : WAYS;
      const int passed = __shfl_sync(~0u, before + (taken_cells == WAYS ? own_score : 0), min(taken_cells, WAYS - 1), WAYS);
      const bool over_now = __shfl_sync(~0u, (int)at_end, min(taken_cells, WAYS - 1), WAYS) && taken_cells < WAYS;
      if (!inside) continue;
      if (gap == FROM_X) {
        for (int k = 0; k < taken_cells; k++) found.add(sames >> k & 1 ? OP_EQUAL : OP_X);
        score -= passed, row -= taken_cells, column -= taken_cells;
        ended = over_now;
        if (taken_cells || ended) continue;
        gap = PIECES == 2 && !said(KINDS - 4, row, column)   ? FROM_I2
              : !said(NOT_I1, row, column)                   ? FROM_I1
              : PIECES == 2 && !said(KINDS - 3, row, column) ? FROM_D2
                                                             : FROM_D1;
      }
      if (gap == FROM_I1 || gap == FROM_I2) {
        found.add(OP_I);
        row--;
      } else {
        found.add(OP_D);
        column--;
      }
    }
  }
  if (!taken_back || way) return;
  if (!BEGIN_QUERY && row >= 0) found.add(OP_I, row + 1), row = -1;
  if (!BEGIN_TARGET && column >= 0) found.add(OP_D, column + 1), column = -1;
  found.flush();
  ends[4 * pair] = row + 1, ends[4 * pair + 1] = end_row + 1, ends[4 * pair + 2] = column + 1, ends[4 * pair + 3] = end_column + 1;
  if (operations) operation_counts[pair] = (int)(last - found.at);
}
