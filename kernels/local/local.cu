// Alignment by scores, lane by lane: Gotoh's recurrences (1982, 10.1016/0022-2836(82)90398-9) with the query's rows in registers and the target streaming
// through the lanes of a team, a column a step (SALoBa, paper 002, IV; the cells are those of kernels/local/host.py). What a later way back needs is kept
// (LOCAL_KEEP): of each lane what leaves its last row, and every COLUMNS steps all of its rows. The way back makes again, in one thread a pair, only the
// strips of cells that the path goes through.
#include "local/cells.cuh"

constexpr bool KEEP = LOCAL_KEEP, SHARED = LOCAL_SHARED;
constexpr int COLUMNS = 32;  // from one place where rows are kept to the next, in steps

// What is kept of a team: its steps, and where they begin.
struct Layout {
  int steps, checks;
  long long rows, columns;
};

__device__ __forceinline__ int steps_of(int longest) { return (longest + TEAM - 1 + 3) & ~3; }

__device__ __forceinline__ Layout layout_of(int longest, int strips, long long start) {
  Layout layout;
  layout.steps = steps_of(longest);
  layout.checks = (layout.steps + COLUMNS - 1) / COLUMNS;
  layout.rows = start;
  layout.columns = start + (long long)strips * layout.steps * TEAM;
  return layout;
}

__device__ __forceinline__ unsigned four_letters(const unsigned char* letters, int j, int length, unsigned padding) {
  if (j >= length) return padding;
  const unsigned word = *(const unsigned*)(letters + j);
  const int left = length - j;
  return left >= 4 ? word : (word & (1u << 8 * left) - 1) | padding << 8 * left;
}

// The place of the best end: the highest score, then the smallest target end, then the smallest query end (or lane).
struct End {
  int score, column, place;
  __device__ __forceinline__ void meet(int other_score, int other_column, int other_place) {
    if (other_score > score || (other_score == score && (other_column < column || (other_column == column && other_place < place))))
      score = other_score, column = other_column, place = other_place;
  }
};

// Bytes of scores with each letter of the rows of a strip, for one query: [letter][row].
__device__ __forceinline__ void profile_made(unsigned char* profile, const unsigned char* query, int n, int row, const signed char* table, int letters, int lane,
                                             int lanes) {
  for (int word = lane; word < STRIP / 4; word += lanes) {
    int rows[4];
    for (int k = 0; k < 4; k++) {
      const int at = row + 4 * word + k;
      rows[k] = (at < n ? query[at] : letters - 1) * letters;
    }
    for (int letter = 0; letter < letters; letter++) {
      unsigned scores = 0;
      for (int k = 0; k < 4; k++) scores |= (unsigned)(unsigned char)table[rows[k] + letter] << 8 * k;
      ((unsigned*)(profile + letter * STRIP))[word] = scores;
    }
  }
}

// Scores and ends of pairs. table: [letters][letters], the last letter is padding; open and extension of both pieces: costs of a gap's first letter and of each
// other. kept: where teams keep what the way back needs, each from kept_starts on; without LOCAL_KEEP room for a row a warp, `row_room` cells each.
extern "C" __global__ void __launch_bounds__(LOCAL_THREADS)
    local_scores(const unsigned char* queries, const long long* query_starts, const int* query_lengths, const unsigned char* targets,
                 const long long* target_starts, const int* target_lengths, int count, const signed char* table, int letters, int first1, int more1, int first2,
                 int more2, uint4* room, const long long* kept_starts, long long row_room, int* scores, int* columns, int* places) {
  extern __shared__ uint4 shared[];
  const int lane = threadIdx.x & 31, mate = lane % TEAM, warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, warps = gridDim.x * blockDim.x >> 5;
  const int units = (count + PAIRS - 1) / PAIRS, teams = 32 / TEAM;
  const Costs costs = costs_of(first1, more1, first2, more2);
  Kept* kept_cells = (Kept*)room;
  unsigned first[PIECES], more[PIECES];
  for (int piece = 0; piece < PIECES; piece++) first[piece] = both(-costs.first[piece]), more[piece] = both(-costs.more[piece]);
  unsigned char* profiles = (unsigned char*)shared;
  if (TABLE && SHARED) {  // of one query that all pairs have
    const int n = query_lengths[0];
    for (int row = 0; row < n; row += STRIP)
      profile_made(profiles + (long long)(row / STRIP) * letters * STRIP, queries + query_starts[0], n, row, table, letters, threadIdx.x, blockDim.x);
    __syncthreads();
  } else if (TABLE) {
    profiles += threadIdx.x / TEAM * PAIRS * letters * STRIP;
  }
  for (int turn = warp; turn * (long long)teams < units; turn += warps) {
    const int unit = min(turn * teams + lane / TEAM, units - 1);
    const unsigned char *query[PAIRS], *target[PAIRS];
    int pair[PAIRS], n[PAIRS], m[PAIRS], longest = 0, tallest = 0;
    for (int k = 0; k < PAIRS; k++) {
      pair[k] = min(unit * PAIRS + k, count - 1);
      n[k] = query_lengths[pair[k]], m[k] = target_lengths[pair[k]];
      query[k] = queries + query_starts[pair[k]], target[k] = targets + target_starts[pair[k]];
      longest = max(longest, m[k]), tallest = max(tallest, n[k]);
    }
    const int strips = TEAM == 32 ? (tallest + STRIP - 1) / STRIP : 1;
    const Layout layout = layout_of(longest, strips, KEEP ? kept_starts[unit] : 0);
    const int steps = TEAM == 32 ? layout.steps : __reduce_max_sync(~0u, layout.steps);
    End end[PAIRS];
    for (int k = 0; k < PAIRS; k++) end[k].score = ANYWHERE ? 0 : -(1 << 30), end[k].column = end[k].place = 0x7FFFFFFF;
    for (int strip_number = 0; strip_number < strips; strip_number++) {
      const int row = (strip_number * TEAM + mate) * ROWS;  // first of this lane
      Strip strip;
      unsigned row_scores[PAIRS][TABLE ? 1 : ROWS];  // with each of four letters
      const unsigned char* profile[PAIRS];
      if (TABLE) {
        __syncwarp();
        for (int k = 0; k < PAIRS; k++) {
          profile[k] = profiles + (SHARED ? (long long)strip_number : k) * letters * STRIP + mate * ROWS;
          if (!SHARED) profile_made(profiles + k * letters * STRIP, query[k], n[k], strip_number * STRIP, table, letters, mate, TEAM);
        }
        __syncwarp();
      } else {
        for (int k = 0; k < PAIRS; k++)
#pragma unroll
          for (int r = 0; r < ROWS; r++) {
            const int at = row + r;
            unsigned packed = 0x80808080u;
            if (at < n[k]) {
              packed = 0;
              for (int letter = 0; letter < 4; letter++) packed |= (unsigned)(unsigned char)table[query[k][at] * letters + letter] << 8 * letter;
            }
            row_scores[k][TABLE ? 0 : r] = packed;
          }
      }
#pragma unroll
      for (int r = 0; r < ROWS; r++) {
        const int score = boundary(row + r + 1, BEGIN_QUERY, costs);
        strip.h[r] = both(score);
        for (int piece = 0; piece < PIECES; piece++) strip.d[piece][r] = both(max(score - costs.first[piece], LOW));
      }
      strip.corner = both(boundary(row, BEGIN_QUERY, costs));
      unsigned above = 0, gap[PIECES], selector, best = both(0);
      for (int piece = 0; piece < PIECES; piece++) gap[piece] = both(LOW);
      const unsigned padding = TABLE ? (letters - 1) * 0x01010101u : 0x08080808u;
      selector = TABLE ? (letters - 1) * 0x101u : 0xCC88u;
      int column[PAIRS];
      for (int k = 0; k < PAIRS; k++) column[k] = 0x7FFFFFFF;
      // The row above this strip, COLUMNS cells of it at a time, a lane each.
      const Kept* upper = nullptr;
      long long stride = 1;
      if (strip_number) {
        upper = KEEP ? kept_cells + layout.rows + ((long long)(strip_number - 1) * layout.steps + TEAM - 1) * TEAM + TEAM - 1 : kept_cells + warp * row_room;
        stride = KEEP ? TEAM : 1;
        __syncwarp();
      }
      Kept coming;
      if (upper && mate < longest) coming = upper[mate * stride];
      unsigned words[PAIRS], following[PAIRS];
      for (int k = 0; k < PAIRS; k++) following[k] = four_letters(target[k], 0, m[k], padding);
      for (int block = 0; block < steps; block += 4) {
        unsigned from_h = 0, from_gap[PIECES];
        if (upper && block % 32 == 0) __syncwarp();
        for (int k = 0; k < PAIRS; k++) {
          words[k] = following[k];
          following[k] = four_letters(target[k], block + 4, m[k], padding);
          if (!TABLE) words[k] = (words[k] | (words[k] << 4 & 0xF0F0F0F0u) | 0x80808080u) + (k ? 0x44444444u : 0u);
        }
        if (upper && block % 32 == 0 && block) coming = block + mate < longest ? upper[(block + mate) * stride] : coming;
#pragma unroll
        for (int k = 0; k < 4; k++) {
          const int step = block + k, j = step - mate;
          const bool inside = (unsigned)j < (unsigned)m[0];
          if (KEEP && k == 0 && step % COLUMNS == 0 && step && step < layout.steps) {
            Kept* to = kept_cells + layout.columns + ((long long)strip_number * layout.checks + step / COLUMNS) * ROWS * TEAM + mate;
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
              unsigned gaps[PIECES];
              for (int piece = 0; piece < PIECES; piece++) gaps[piece] = strip.d[piece][r];
              to[r * TEAM] = kept(strip.h[r], gaps);
            }
          }
          unsigned letter = __shfl_up_sync(~0u, selector, 1, TEAM), in = __shfl_up_sync(~0u, above, 1, TEAM), in_gap[PIECES];
          for (int piece = 0; piece < PIECES; piece++) in_gap[piece] = __shfl_up_sync(~0u, gap[piece], 1, TEAM);
          if (upper) {
            unsigned gaps[PIECES], h;
            taken(coming, h, gaps);
            from_h = __shfl_sync(~0u, h, step & 31);
            for (int piece = 0; piece < PIECES; piece++) from_gap[piece] = __shfl_sync(~0u, gaps[piece], step & 31);
          }
          if (mate == 0) {
            letter = prmt(words[0], words[PAIRS - 1], WIDE ? k * 0x11 : (4 + k) << 4 | k);
            if (WIDE && TABLE) letter &= 0xFF;
            if (WIDE && !TABLE) letter |= 0x0800;
            if (upper) {
              in = from_h;
              for (int piece = 0; piece < PIECES; piece++) in_gap[piece] = from_gap[piece];
            } else {
              const int score = boundary(step + 1, BEGIN_TARGET, costs);
              in = both(score);
              for (int piece = 0; piece < PIECES; piece++) in_gap[piece] = both(ANYWHERE ? LOW : max(score - costs.first[piece], LOW));
            }
          }
          selector = letter;
          if (!WIDE || inside) {
            above = in;
            for (int piece = 0; piece < PIECES; piece++) gap[piece] = in_gap[piece];
            unsigned found = best;
            auto track = [&](int r) {
              if (ANYWHERE) found = highest(found, strip.h[r], strip.h[r - 1]);
            };
            if (TABLE) {
              unsigned looked[PAIRS][ROWS / 4];
#pragma unroll
              for (int pair_of = 0; pair_of < PAIRS; pair_of++) {
                const unsigned char* at = profile[pair_of] + (letter >> 8 * pair_of & 255) * STRIP;
                if (ROWS % 16 == 0) {
#pragma unroll
                  for (int w = 0; w < ROWS / 16; w++) {
                    const uint4 four = ((const uint4*)at)[w];
                    looked[pair_of][4 * w] = four.x, looked[pair_of][4 * w + 1] = four.y, looked[pair_of][4 * w + 2] = four.z, looked[pair_of][4 * w + 3] = four.w;
                  }
                } else {
#pragma unroll
                  for (int w = 0; w < ROWS / 4; w++) looked[pair_of][w] = ((const unsigned*)at)[w];
                }
              }
              column_made(strip, above, gap, first, more, [&](int r) {
                const int low = r & 3, high = WIDE ? 8 | low : 4 + low;
                return prmt(looked[0][r / 4], looked[PAIRS - 1][r / 4], WIDE ? low | high << 4 | high << 8 | high << 12 : low | (8 | low) << 4 | high << 8 | (8 | high) << 12);
              }, track);
            } else {
              column_made(strip, above, gap, first, more, [&](int r) { return prmt(row_scores[0][TABLE ? 0 : r], row_scores[PAIRS - 1][TABLE ? 0 : r], letter); }, track);
            }
            if (ANYWHERE && KEEP) {
              const unsigned changed = found ^ best;
              if (WIDE ? changed : changed & 0xFFFF) column[0] = j;
              if (!WIDE && changed >> 16) column[PAIRS - 1] = j;
            }
            best = found;
            if (END_QUERY && (unsigned)(n[0] - 1 - row) < (unsigned)ROWS) {
              int score = 0;
#pragma unroll
              for (int r = 0; r < ROWS; r++)
                if (row + r == n[0] - 1) score = (int)strip.h[r];
              end[0].meet(score, j, n[0] - 1);
            }
          }
          const Kept below = kept(above, gap);
          if (KEEP) {
            if (step < layout.steps) kept_cells[layout.rows + ((long long)strip_number * layout.steps + step) * TEAM + mate] = below;
          } else if (TEAM == 32 && mate == TEAM - 1 && strip_number + 1 < strips && j >= 0 && j < longest) {
            kept_cells[warp * row_room + j] = below;
          }
        }
      }
      if (ANYWHERE)
        for (int k = 0; k < PAIRS; k++) end[k].meet(part(best, k), column[k], strip_number * TEAM + mate);
      if (END_TARGET || END_CORNER)
#pragma unroll
        for (int r = 0; r < ROWS; r++)
          if (m[0] > 0 && (END_TARGET ? row + r < n[0] : row + r == n[0] - 1)) end[0].meet((int)strip.h[r], m[0] - 1, row + r);
    }
#pragma unroll
    for (int k = 0; k < PAIRS; k++) {
      for (int apart = TEAM / 2; apart; apart /= 2) {
        const int score = __shfl_xor_sync(~0u, end[k].score, apart, TEAM), column = __shfl_xor_sync(~0u, end[k].column, apart, TEAM);
        end[k].meet(score, column, __shfl_xor_sync(~0u, end[k].place, apart, TEAM));
      }
      // Ends in row 0 and column 0, which no lane has.
      if (END_QUERY) end[k].meet(boundary(n[k], BEGIN_QUERY, costs), -1, n[k] - 1);
      if (END_TARGET) end[k].meet(boundary(m[k], BEGIN_TARGET, costs), m[k] - 1, -1);
      if (END_CORNER && n[k] == 0) end[k].meet(boundary(m[k], false, costs), m[k] - 1, -1);
      if (END_CORNER && m[k] == 0) end[k].meet(boundary(n[k], false, costs), -1, n[k] - 1);
      if (mate == 0) scores[pair[k]] = end[k].score, columns[pair[k]] = end[k].column, places[pair[k]] = end[k].place;
    }
  }
}

// ---- the way back

constexpr int FROM_X = LOCAL_FROM_X, FROM_I1 = LOCAL_FROM_I1, FROM_I2 = LOCAL_FROM_I2, FROM_D1 = LOCAL_FROM_D1, FROM_D2 = LOCAL_FROM_D2, NOWHERE = LOCAL_NOWHERE;
constexpr int OPENED_I1 = LOCAL_OPENED_I1, OPENED_I2 = LOCAL_OPENED_I2, OPENED_D1 = LOCAL_OPENED_D1, OPENED_D2 = LOCAL_OPENED_D2;
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
  for (int i = threadIdx.x; i < letters * letters; i += blockDim.x) score_of[i] = table[i];
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
  const Layout layout = layout_of(longest, TEAM == 32 ? (tallest + STRIP - 1) / STRIP : 1, kept_starts[unit]);
  const bool none = ANYWHERE && scores[pair] == 0;
  bool located = !ANYWHERE, ended = none;
  int row = none ? -1 : ANYWHERE ? places[pair] * ROWS + ROWS - 1 : places[pair], column = none ? -1 : columns[pair], gap = FROM_X;
  int end_row = row;
  const int end_column = column;
  Operations found;
  found.at = operations ? operations + operation_ends[pair] : nullptr, found.run = 0;
  unsigned* const last = found.at;
  unsigned said[COLUMNS][ROWS / 4];
  while (!ended && row >= 0 && column >= 0) {
    // The lane that had the row, from the last column on where its rows are kept: all columns up to the path are made again.
    const int lane = row / ROWS, mate = lane % TEAM, top = lane * ROWS, strip_number = lane / TEAM;
    const int check = (column + mate) / COLUMNS;
    int begin = check * COLUMNS - mate;
    int h[ROWS], d[PIECES][ROWS], codes[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++) codes[r] = (top + r < n ? query[top + r] : letters - 1) * letters;
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
        for (int piece = 0; piece < PIECES; piece++) d[piece][r] = part(of_gap[piece], half);
      }
    }
    // What leaves the row above, column after column.
    const Kept* upper = nullptr;
    if (lane) upper = kept_cells + layout.rows + ((long long)((lane - 1) / TEAM) * layout.steps + (lane - 1) % TEAM) * TEAM + (lane - 1) % TEAM;
    const auto above_at = [&](int at, int& of_h, int* of_gap) {
      if (at < 0) {
        of_h = boundary(top, BEGIN_QUERY, costs);
      } else if (lane == 0) {
        of_h = boundary(at + 1, BEGIN_TARGET, costs);
        for (int piece = 0; piece < PIECES; piece++) of_gap[piece] = max(of_h - costs.first[piece], LOW);
      } else {
        unsigned packed, gaps[PIECES];
        taken(upper[(long long)at * TEAM], packed, gaps);
        of_h = part(packed, half);
        for (int piece = 0; piece < PIECES; piece++) of_gap[piece] = part(gaps[piece], half);
      }
    };
    int corner, next_h, next_gap[PIECES], letter = target[begin];
    above_at(begin - 1, corner, next_gap);
    above_at(begin, next_h, next_gap);
    for (int j = begin; j <= column; j++) {
      int gaps[PIECES], diagonal = corner;
      const int now = letter;
      corner = next_h;
      for (int piece = 0; piece < PIECES; piece++) gaps[piece] = next_gap[piece];
      if (j < column) {  // on its way while this column is made
        above_at(j + 1, next_h, next_gap);
        letter = target[j + 1];
      }
      unsigned word = 0;
#pragma unroll
      for (int r = 0; r < ROWS; r++) {
        const int straight = diagonal + score_of[codes[r] + now];
        int best = max(max(straight, d[0][r]), gaps[0]), direction = FROM_D1;
        if (PIECES == 2) best = max(max(best, d[PIECES - 1][r]), gaps[PIECES - 1]);
        if (ANYWHERE) best = max(best, 0);
        if (PIECES == 2 && best == d[PIECES - 1][r]) direction = FROM_D2;
        if (best == gaps[0]) direction = FROM_I1;
        if (PIECES == 2 && best == gaps[PIECES - 1]) direction = FROM_I2;
        if (best == straight) direction = FROM_X;
        if (ANYWHERE && best == 0) direction = NOWHERE;
#pragma unroll
        for (int piece = 0; piece < PIECES; piece++) {
          const int opened = best - costs.first[piece], longer_i = gaps[piece] - costs.more[piece], longer_d = d[piece][r] - costs.more[piece];
          direction |= (opened > longer_i ? piece ? OPENED_I2 : OPENED_I1 : 0) | (opened > longer_d ? piece ? OPENED_D2 : OPENED_D1 : 0);
          gaps[piece] = max(longer_i, opened), d[piece][r] = max(longer_d, opened);
        }
        diagonal = h[r];
        h[r] = best;
        word |= (unsigned)direction << 8 * (r & 3);
        if ((r & 3) == 3) said[j - begin][r / 4] = word, word = 0;
      }
    }
    if (!located) {
#pragma unroll
      for (int r = ROWS - 1; r >= 0; r--)
        if (h[r] == scores[pair]) row = top + r;
      end_row = row, located = true;
    }
    while (row >= top && column >= begin) {
      const int byte = said[column - begin][(row - top) / 4] >> 8 * (row - top & 3) & 255;
      if ((gap == FROM_I1 && byte & OPENED_I1) || (gap == FROM_D1 && byte & OPENED_D1) || (gap == FROM_I2 && byte & OPENED_I2) ||
          (gap == FROM_D2 && byte & OPENED_D2))
        gap = FROM_X;
      if (gap == FROM_X) {
        gap = byte & 7;
        if (ANYWHERE && gap == NOWHERE) {
          ended = true;
          break;
        }
        if (gap == FROM_X) {
          found.add(same[query[row] * letters + target[column]] ? MATCH : MISMATCH);
          row--, column--;
          continue;
        }
      }
      if (gap == FROM_I1 || gap == FROM_I2) {
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
