// Leaves: parts whose penalty is known and small enough to keep a direction for every cell. A block a part.
#pragma once
#include "bidirectional/column.cuh"
#include "scoring/sources.cuh"

constexpr int LEAF_THREADS = 256;

struct Leaf {  // where the way back begins; penalty -1: not found
  int penalty, state;
};

// Diagonals from which the end can be reached at the penalty, an open gap taken for granted on both sides (Castells-Rufas 2023,
// 10.1016/j.future.2022.09.010); one more on both, which the way back reads beside its cells.
__device__ inline Diagonals band_of(const Part& part) {
  const int goal = (int)(part.m - part.n);
  const int spare = max((int)part.known / LEAST_EXTEND - abs(goal), 0) / 2 + 1;
  return {max(min(goal, 0) - spare, -(int)part.n), min(max(goal, 0) + spare, (int)part.m)};
}

__device__ inline Leaf leaf_wavefronts(const Part& part, const unsigned* words, const unsigned* masks, const int* far, Offset* cells,
                                       unsigned char* directions, int* bounds) {
  const int thread = threadIdx.x;
  const int n = (int)part.n, m = (int)part.m, begin = (int)part.state[0], end = (int)part.state[1], penalty = (int)part.known;
  const Pair pair = letters_of(part, 0, words, masks);
  const int from_query = (int)part.query_origin[0], from_target = (int)part.target_origin[0];
  const Diagonals band = band_of(part);
  const int columns = band.high - band.low + 1, stride = columns + 2;
  const int I1_AT = M_ROWS, D1_AT = I1_AT + GAP1_ROWS, I2_AT = D1_AT + GAP1_ROWS, D2_AT = I2_AT + GAP2_ROWS;
  for (int i = thread; i < ROWS * stride; i += LEAF_THREADS) cells[i] = NONE;
  __syncthreads();
  Offset* const at = cells + 1 - band.low;  // diagonal 0 of row 0
  if (thread == 0) {
    at[0] = pair.extend(from_target - from_query, from_target) - from_target;
    if (begin != M) at[(begin == I1 ? I1_AT : begin == D1 ? D1_AT : begin == I2 ? I2_AT : D2_AT) * stride] = 0;
  }
  const Reached backward = {far + part.far[1], (int)part.slots[1], penalty - opening(end), n + m};
  int row = 0, row1 = 0, row2 = 0;
  Diagonals held = {0, 0}, here = held;  // on which there are cells, and may be until this is looked at again
  for (int s = 0;; s++) {
    __syncthreads();
    // All letters of the end's gap may lie beyond the end; then they do.
    if (s == penalty - opening(end) && at[row * stride + m - n] >= m) return {s, M};
    if (s == penalty) {
      const int last = end == I1 ? I1_AT + row1 : end == D1 ? D1_AT + row1 : end == I2 ? I2_AT + row2 : D2_AT + row2;
      if (end != M && at[last * stride + m - n] >= m) return {s, end};
      return {-1, M};
    }
    if (s % GRAIN == 0) {
      int lowest = 1 << 30, highest = -(1 << 30);
      for (int k = here.low + thread; k <= here.high; k += LEAF_THREADS)
        for (int i = 0; i < ROWS; i++)
          if (at[i * stride + k] >= 0) lowest = min(lowest, k), highest = max(highest, k);
      held = held_by(lowest, highest, bounds);
      here = {max(band.low, held.low - NARROW_HALO), min(band.high, held.high + NARROW_HALO)};
    }
    const int least = backward.least(s + 1);
    row = row + 1 == M_ROWS ? 0 : row + 1;
    if (WAVEFRONT_PIECES >= 1) row1 = row1 + 1 == GAP1_ROWS ? 0 : row1 + 1;
    if (WAVEFRONT_PIECES == 2) row2 = row2 + 1 == GAP2_ROWS ? 0 : row2 + 1;
    const int row_x = row - WAVEFRONT_X + (row < WAVEFRONT_X ? M_ROWS : 0);
    const int row_o1 = row - WAVEFRONT_OE1 + (row < WAVEFRONT_OE1 ? M_ROWS : 0), row_o2 = row - WAVEFRONT_OE2 + (row < WAVEFRONT_OE2 ? M_ROWS : 0);
    const int row_e1 = row1 - WAVEFRONT_E1 + (row1 < WAVEFRONT_E1 ? GAP1_ROWS : 0), row_e2 = row2 - WAVEFRONT_E2 + (row2 < WAVEFRONT_E2 ? GAP2_ROWS : 0);
    for (int k = here.low + thread; k <= here.high; k += LEAF_THREADS) {
      int i1 = NONE, d1 = NONE, i2 = NONE, d2 = NONE, direction = 0;
      const Offset* const o1 = at + row_o1 * stride + k;
      if (WAVEFRONT_PIECES == 0) {
        i1 = o1[1];
        d1 = o1[-1] + 1;
      } else {
        const int i_extend = at[(I1_AT + row_e1) * stride + k + 1], d_extend = at[(D1_AT + row_e1) * stride + k - 1];
        i1 = max(o1[1], i_extend);
        d1 = max(o1[-1], d_extend) + 1;
        direction = (o1[1] > i_extend) << (2 + FROM_I1) | (o1[-1] > d_extend) << (2 + FROM_D1);
      }
      // Equal offsets: X before I2, I1, D2, D1.
      int h = at[row_x * stride + k] + 1, source = FROM_X;
      if (WAVEFRONT_PIECES == 2) {
        const Offset* const o2 = at + row_o2 * stride + k;
        const int i_extend = at[(I2_AT + row_e2) * stride + k + 1], d_extend = at[(D2_AT + row_e2) * stride + k - 1];
        i2 = max(o2[1], i_extend);
        d2 = max(o2[-1], d_extend) + 1;
        direction |= (o2[1] > i_extend) << (2 + FROM_I2) | (o2[-1] > d_extend) << (2 + FROM_D2);
        if (i2 > h) h = i2, source = FROM_I2;
      }
      if (i1 > h) h = i1, source = FROM_I1;
      if (WAVEFRONT_PIECES == 2 && d2 > h) h = d2, source = FROM_D2;
      if (d1 > h) h = d1, source = FROM_D1;
      directions[s * (long long)columns + k - band.low] = direction | source;
      if ((unsigned)h > (unsigned)m || (unsigned)(h - k) > (unsigned)n)
        h = NONE;
      else
        h = pair.extend(k + from_target - from_query, h + from_target) - from_target;
      const auto kept = [&](int offset) { return 2 * offset - k < least ? NONE : offset; };
      at[row * stride + k] = kept(h);
      if (WAVEFRONT_PIECES >= 1) at[(I1_AT + row1) * stride + k] = kept(i1), at[(D1_AT + row1) * stride + k] = kept(d1);
      if (WAVEFRONT_PIECES == 2) at[(I2_AT + row2) * stride + k] = kept(i2), at[(D2_AT + row2) * stride + k] = kept(d2);
    }
  }
}

// One thread: the runs that lead to the end, by the directions; returns their number.
__device__ inline int leaf_walk(const Part& part, const Leaf& end, const unsigned* words, const unsigned* masks, const unsigned char* directions,
                                unsigned char* steps_back, unsigned* runs) {
  const Pair pair = letters_of(part, 0, words, masks);
  const int from_query = (int)part.query_origin[0], from_target = (int)part.target_origin[0];
  const Diagonals band = band_of(part);
  const long long columns = band.high - band.low + 1;
  int s = end.penalty, k = (int)(part.m - part.n), state = end.state, ops = 0;
  while (s > 0) {
    const int direction = directions[(s - 1) * columns + k - band.low];
    if (state == M) {
      state = direction & 7;
      if (state == FROM_X) {
        steps_back[ops++] = OP_X;
        s -= WAVEFRONT_X;
        continue;
      }
    }
    const bool second = WAVEFRONT_PIECES == 2 && state >= FROM_I2;
    const bool insertion = state == FROM_I1 || state == FROM_I2;
    const bool opened = WAVEFRONT_PIECES == 0 || (direction >> (2 + state) & 1);
    steps_back[ops++] = (insertion ? OP_I : OP_D) | (opened ? 0 : OP_GOES_ON);
    k += insertion ? 1 : -1;
    s -= opened ? (second ? WAVEFRONT_OE2 : WAVEFRONT_OE1) : (second ? WAVEFRONT_E2 : WAVEFRONT_E1);
    if (opened) state = M;
  }
  int h = 0, count = 0, length = 0, kind = OP_EQUAL;
  for (int i = ops;; i--) {
    // Matches follow every operation but one whose gap goes on.
    if (i == 0 || !(steps_back[i - 1] & OP_GOES_ON)) {
      const int further = pair.extend(k + from_target - from_query, h + from_target) - from_target;
      if (further > h) {
        if (kind != OP_EQUAL && length) runs[count++] = length << 4 | kind, length = 0;
        kind = OP_EQUAL;
        length += further - h;
        h = further;
      }
    }
    if (i == 0) break;
    const int op = steps_back[i - 1] & 15;
    if (op != kind && length) runs[count++] = length << 4 | kind, length = 0;
    kind = op;
    length++;
    if (op == OP_I)
      k--;
    else
      h++, k += op == OP_D;
  }
  if (length) runs[count++] = length << 4 | kind;
  return count;
}
