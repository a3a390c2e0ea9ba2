// The way back of pairs that scores.cu has scored, a thread a pair: only the strips of cells that the path goes through are made again, from what their lanes kept.
#include "local/device/layout.cuh"
#include "local/device/letters.cuh"

// A bit a row of a column, the last row's lowest: which way H did not come, in the order in which ways are tried, and which gaps were opened here.
enum Kind { NOT_DIAGONAL, NOT_I1, OPENED_I1, OPENED_D1, NOT_I2, NOT_D2, OPENED_I2, OPENED_D2 };
#if LOCAL_ROWS > 16
#define BITS unsigned
#else
#define BITS unsigned short
#endif
constexpr int KINDS = PIECES == 1 ? 4 : 8;
enum Gap { NONE, I1, D1, I2, D2 };
constexpr int INSERTION = 1, DELETION = 2, MATCH = 7, MISMATCH = 8;  // as in BAM

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

// The way back of each pair whose score lies below `over`, a thread each, from the end that local_scores found: places where it begins, and its operations, in
// front of operation_ends. same: [letters][letters], whether two codes are the same letter. operations: None where places alone are wanted.
extern "C" __global__ void __launch_bounds__(128)
    local_traces(const unsigned char* queries, const long long* query_starts, const int* query_lengths, const unsigned char* targets,
                 const long long* target_starts, const int* target_lengths, int count, const signed char* table, const unsigned char* same, int letters, int first1,
                 int more1, int first2, int more2, uint4* room, const long long* kept_starts, int over, const int* scores, const int* columns, const int* places,
                 unsigned* operations, const long long* operation_ends, int* ends, int* operation_counts) {
  extern __shared__ uint4 shared[];
  signed char* score_of = (signed char*)shared;
  unsigned char* is_same = (unsigned char*)shared + letters * letters;
  for (int i = threadIdx.x; i < letters * letters; i += blockDim.x) score_of[i] = table[i], is_same[i] = same[i];
  __syncthreads();
  const int pair = blockIdx.x * blockDim.x + threadIdx.x;
  if (pair >= count || scores[pair] >= over) return;
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
  const bool none = ANYWHERE && scores[pair] == 0;
  bool located = !ANYWHERE, ended = none;
  int row = none ? -1 : ANYWHERE ? places[pair] * ROWS + ROWS - 1 : places[pair], column = none ? -1 : columns[pair], gap = NONE;
  int score = scores[pair];  // where the path is
  int end_row = row;
  const int end_column = column;
  Operations found;
  found.at = operations ? operations + operation_ends[pair] : nullptr, found.run = 0;
  unsigned* const last = found.at;
  const int lift = costs.lift();
  BITS said[COLUMNS][KINDS];
  while (!ended && row >= 0 && column >= 0) {
    // The lane that had the row, from the last column on where its rows are kept: all columns up to the path are made again.
    const int lane = row / ROWS, mate = lane % TEAM, top = lane * ROWS, strip_number = lane / TEAM;
    const int check = (column + mate) / COLUMNS;
    int begin = check * COLUMNS - mate;
    int h[ROWS], d[PIECES][ROWS], codes[ROWS];
    unsigned rows_of[ROWS / 4], columns_of[COLUMNS / 4];  // letters: the rows' and, from `begin` on, the columns'
#pragma unroll
    for (int w = 0; w < ROWS / 4; w++) rows_of[w] = four_letters(query, top + 4 * w, n, (letters - 1) * 0x01010101u);
#pragma unroll
    for (int r = 0; r < ROWS; r++) codes[r] = (rows_of[r / 4] >> 8 * (r & 3) & 255) * letters;
    if (begin <= 0) {
      begin = 0;
#pragma unroll
      for (int r = 0; r < ROWS; r++) {
        h[r] = boundary(top + r + 1, BEGIN_QUERY, costs);
        for (int piece = 0; piece < PIECES; piece++) d[piece][r] = max(h[r] - costs.first[piece], LOW);
      }
    } else {
      const Kept* from = kept_cells + layout.columns + ((long long)strip_number * layout.checks + check) * ROWS * TEAM + mate;
#pragma unroll
      for (int r = 0; r < ROWS; r++) {
        unsigned of_h, of_gap[PIECES];
        taken(from[r * TEAM], of_h, of_gap);
        h[r] = part(of_h, half);
        for (int piece = 0; piece < PIECES; piece++) d[piece][r] = part(of_gap[piece], half) - lift;
      }
    }
    // What leaves the row above, and the letters, of all columns at once: waiting for memory is most of the way back.
    Kept above[COLUMNS];
    int corner;
    if (lane) {
      const Kept* upper = kept_cells + layout.rows + ((long long)((lane - 1) / TEAM) * layout.steps + (lane - 1) % TEAM) * TEAM + (lane - 1) % TEAM;
#pragma unroll
      for (int j = 0; j < COLUMNS; j++)
        if (begin + j <= column) above[j] = upper[(long long)(begin + j) * TEAM];
      unsigned of_h, of_gap[PIECES];
      if (begin) taken(upper[(begin - 1LL) * TEAM], of_h, of_gap);
      corner = begin ? part(of_h, half) : boundary(top, BEGIN_QUERY, costs);
    } else {
      corner = begin ? boundary(begin, BEGIN_TARGET, costs) : 0;
    }
    {
      const unsigned* words = (const unsigned*)(target + (begin & ~3));
      unsigned word = words[0];
#pragma unroll
      for (int w = 0; w < COLUMNS / 4; w++) {
        const unsigned next = begin + 4 * w < column ? words[w + 1] : 0;
        columns_of[w] = __funnelshift_r(word, next, 8 * (begin & 3));
        word = next;
      }
    }
    for (int j = begin; j <= column; j++) {
      int gaps[PIECES], diagonal = corner;
      const int now = columns_of[(j - begin) / 4] >> 8 * (j - begin & 3) & 255;
      if (lane) {
        unsigned of_h, of_gap[PIECES];
        taken(above[j - begin], of_h, of_gap);
        corner = part(of_h, half);
        for (int piece = 0; piece < PIECES; piece++) gaps[piece] = part(of_gap[piece], half) - lift;
      } else {
        corner = boundary(j + 1, BEGIN_TARGET, costs);
        for (int piece = 0; piece < PIECES; piece++) gaps[piece] = max(corner - costs.first[piece], LOW);
      }
      unsigned bits[KINDS] = {};
      const auto put = [&](int kind, int below_zero) { bits[kind] = __funnelshift_l(below_zero, bits[kind], 1); };  // its sign, behind the rows before
#pragma unroll
      for (int r = 0; r < ROWS; r++) {
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
#pragma unroll
      for (int kind = 0; kind < KINDS; kind++) said[j - begin][kind] = (BITS)bits[kind];
    }
    if (!located) {
#pragma unroll
      for (int r = ROWS - 1; r >= 0; r--)
        if (h[r] == scores[pair]) row = top + r;
      end_row = row, located = true;
    }
    while (row >= top && column >= begin) {
      const BITS* here = said[column - begin];
      const auto is = [&](int kind) { return here[kind] >> (ROWS - 1 - (row - top)) & 1; };
      const int piece = gap == I2 || gap == D2;
      if (gap != NONE) {
        if (is(gap == I1 ? OPENED_I1 : gap == D1 ? OPENED_D1 : gap == I2 ? KINDS - 2 : KINDS - 1))
          gap = NONE, score += costs.first[PIECES == 2 ? piece : 0];
        else
          score += costs.more[PIECES == 2 ? piece : 0];
      }
      if (gap == NONE) {
        if (ANYWHERE && score == 0) {
          ended = true;
          break;
        }
        if (!is(NOT_DIAGONAL)) {
          const int letter = (rows_of[(row - top) / 4] >> 8 * (row - top & 3) & 255) * letters + (columns_of[(column - begin) / 4] >> 8 * (column - begin & 3) & 255);
          score -= score_of[letter];
          found.add(is_same[letter] ? MATCH : MISMATCH);
          row--, column--;
          continue;
        }
        gap = PIECES == 2 && !is(KINDS - 4) ? I2 : !is(NOT_I1) ? I1 : PIECES == 2 && !is(KINDS - 3) ? D2 : D1;
      }
      if (gap == I1 || gap == I2) {
        found.add(INSERTION);
        row--;
      } else {
        found.add(DELETION);
        column--;
      }
    }
  }
  if (!BEGIN_QUERY && row >= 0) found.add(INSERTION, row + 1), row = -1;
  if (!BEGIN_TARGET && column >= 0) found.add(DELETION, column + 1), column = -1;
  found.flush();
  ends[4 * pair] = row + 1, ends[4 * pair + 1] = end_row + 1, ends[4 * pair + 2] = column + 1, ends[4 * pair + 3] = end_column + 1;
  if (operations) operation_counts[pair] = (int)(last - found.at);
}
