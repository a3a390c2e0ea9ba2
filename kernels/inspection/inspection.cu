// Which anchors stay below the threshold: an upper bound of each side's score, and of what LASTZ looks at for it (device.py says why they hold).
//
// A thread takes a side and sweeps it in strips of STRIP columns, row after row: two columns of the strip, WORDS apart, share a word, and the half on the right
// is a row behind the one on the left. What leaves a strip on its right, a word a row, stays in the thread's own rows of memory, where the next strip reads
// it and leaves its own. So no thread waits for another, and a strip takes only the rows in which anything of it is alive.
//
// Rows and steps: at step t strip s has row t - s in its left halves and row t - s - 1 in its right ones, whose boundary word has index t for both strips.
// Row and column 0 are cells like others, with letters of no account. Values are START more than true; 0 is as good as -infinity.
#include "inspection/inspection.cuh"

constexpr int THREADS = 128;
constexpr int SKEW = 8;                           // groups of 4 rows between the rows of neighbouring threads, lest all be in the same set of a cache
constexpr int CHUNK = 4;                          // groups of 4 rows between two looks at how a side is doing
constexpr unsigned NO_LETTER = 0x80;              // a byte of the target; of the query it is 0
constexpr unsigned OTHER = 16;                    // byte of a letter of the target that is none of ACGT: all of them score the same
constexpr unsigned OTHER_COLUMN = 0x88;           // one of the query: a score's sign in both bytes, so 0 or -1
constexpr int UNDECIDED = 0xffff;

struct Side {
  int rows, columns;                              // letters up to the ends of the sequences
  int least;                                      // LASTZ's best is at least that after LOOKED rows
  int unused;
};

// Letters both ways: PAD bytes of none, the letters, PAD of none, the letters backwards, PAD of none. pad: PAD.
// The target's are offsets in a table of words, the query's half a selector of `bytes`: the letter, and the letter's sign. others: the codes 8..others - 1 are
// those of letters that are none of ACGT; what is more is no letter.
extern "C" __global__ void inspection_letters(const unsigned char* codes, long long count, int pad, int is_query, int others, unsigned char* letters) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < 2 * count + 3 * pad; i += stride) {
    const long long forward = i - pad, backward = 2 * count + 2 * pad - 1 - i;
    const long long place = forward < count ? forward : backward;
    const unsigned code = place >= 0 && place < count ? codes[place] : 255;
    const bool other = code >= 8 && code < others;
    letters[i] = is_query ? (code < 8 ? 0x80 | (code & 3) * 0x11 : other ? OTHER_COLUMN : 0) : code < 8 ? (code & 3) * 4 : other ? OTHER : NO_LETTER;
  }
}

struct Letters {
  const unsigned char* letters;
  long long count;
  int pad;

  // Byte of the letter before the first one of a side.
  __device__ long long before(long long anchor, bool right) const { return right ? pad + anchor : 2LL * pad + 2 * count - 2 - anchor; }
};

// What the sweep must know of each side: sides 2i and 2i + 1 are left and right of anchor i. bounds: starts and ends of the target's sequences, ascending.
extern "C" __global__ void inspection_sides(const unsigned char* target, long long target_count, const unsigned char* query, long long query_count, int pad,
                                            const long long* t, const long long* q, int count, const long long* bounds, int sequences,
                                            const unsigned* scores, int looked, Side* sides) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= 2 * count) return;
  const bool right = i & 1;
  const long long at = t[i >> 1], column = q[i >> 1];
  int low = 0, high = sequences;  // the last sequence that begins at `at` or before
  while (high - low > 1) {
    const int middle = (low + high) >> 1;
    if (bounds[2 * middle] <= at)
      low = middle;
    else
      high = middle;
  }
  const long long rows = right ? bounds[2 * low + 1] - at - 1 : at + 1 - bounds[2 * low];
  const long long columns = right ? query_count - column - 1 : column + 1;
  const long long row = Letters{target, target_count, pad}.before(at, right) + 1;
  const long long first = Letters{query, query_count, pad}.before(column, right) + 1;
  int sum = 0, least = 0;
  for (int j = 0; j < min((long long)looked, min(rows, columns)); j++) {
    const unsigned one = target[row + j], other = query[first + j];
    if (one >= OTHER || other == 0 || other == OTHER_COLUMN) break;
    sum += (signed char)(scores[one >> 2] >> 8 * (other & 3));
    least = max(least, sum);
  }
  sides[i] = {(int)min(max(rows, 0LL), 1LL << 30), (int)min(max(columns, 0LL), 1LL << 30), least, 0};
}

// Scores of a letter of the target.
__device__ __forceinline__ unsigned scores_of(const unsigned* table, unsigned letter) { return *(const unsigned*)((const char*)table + letter); }

// Bounds of all sides. found: of each a score, rows and columns looked at; columns UNDECIDED: the score may reach the threshold, or nothing is known.
//   boundary   uint4[room / 4 + SKEW] for every thread there is: words of `room` rows
//   opened, extended   what the first letter of a gap adds to a value and any other, in both halves
//   start      what is added to values; threshold: a value that decides nothing; line: start - ydrop; looked: rows after which Side::least holds
//   other      what is added to the score of a letter of the query that is none of ACGT
//   slack      how far a value may lie above those that are looked at; room, steps: of rows, a side has no more
//   one        1, which the compiler must not know: a product cannot be drawn into the maximum that follows, where the busier pipe would do it
//   queue      next side to be taken, 0 at first; work: rows of strips swept are added to it
extern "C" __global__ void __launch_bounds__(THREADS, INSPECTION_BLOCKS)
    inspection_sweep(const unsigned char* target, long long target_count, const unsigned char* query, long long query_count, int pad, const long long* t,
                     const long long* q, const Side* sides, int count, const unsigned* scores, int other, uint4* boundary, unsigned opened, unsigned extended,
                     int start, int threshold, int line, int looked, int slack, int room, int most_steps, unsigned one, unsigned* queue, ushort4* found,
                     unsigned long long* work) {
  __shared__ unsigned table[64];  // scores of a target letter against A, C, G, T; no letter: 0
  // `other` in the columns that have such a letter, of each thread. Volatile: read where it is added, as no registers are left to keep it in.
  __shared__ volatile unsigned others[WORDS][THREADS];
  if (threadIdx.x < 64) table[threadIdx.x] = threadIdx.x < 5 ? scores[threadIdx.x] : 0;
  __syncthreads();
  // Of the side that each thread has: where the letters of row and column 0 are, letters up to the ends, the line after LOOKED rows.
  __shared__ long long first_row[THREADS], first_column[THREADS];
  __shared__ int last_row[THREADS], last_column_there[THREADS], late_line[THREADS];
  const int me = threadIdx.x, lane = threadIdx.x & 31;
  uint4* const mine = boundary + (long long)(blockIdx.x * blockDim.x + threadIdx.x) * (room / 4 + SKEW);
  const unsigned* const target_words = (const unsigned*)target;
  const unsigned* const query_words = (const unsigned*)query;

  unsigned above[WORDS], down[WORDS], select[WORDS];  // values of the row before, gaps down into this row, letters of the query
#pragma unroll
  for (int k = 0; k < WORDS; k++) above[k] = down[k] = select[k] = 0;
  int side = -1, strip = 0, group = 0, last_in = -1, first_out = -1, last_out = -1;
  int rows = 0, steps = 0;
  unsigned best = 0, corner = 0, across_before = 0, scores_before = 0;  // corner: values left of column 0 of each half in the row before
  uint4 coming = {0, 0, 0, 0};
  unsigned word = 0, low_letters = 0, high_letters = 0, shift = 0;
  unsigned swept = 0;
  bool more = true, begin = false, has_others = false;

  for (;;) {
    const unsigned idle = __ballot_sync(~0u, side < 0 && more);
    if (idle) {
      unsigned next = 0;
      if (lane == __ffs(idle) - 1) next = atomicAdd(queue, (unsigned)__popc(idle));
      next = __shfl_sync(~0u, next, __ffs(idle) - 1) + __popc(idle & ((1u << lane) - 1));
      if (idle >> lane & 1) {
        more = next < (unsigned)count;
        if (more) {
          side = next;
          strip = group = rows = steps = 0;
          last_in = -1;
          const Side of = sides[side];
          first_row[me] = Letters{target, target_count, pad}.before(t[side >> 1], side & 1);
          first_column[me] = Letters{query, query_count, pad}.before(q[side >> 1], side & 1);
          last_row[me] = of.rows;
          last_column_there[me] = of.columns;
          late_line[me] = line + of.least;
          best = both(start);
          begin = true;
        }
      }
    }
    if (!__any_sync(~0u, side >= 0)) break;

    if (begin) {  // a strip, from row group `group` on
      begin = false;
      first_out = -1;
      const long long at = first_column[me] + strip * STRIP;
      const unsigned* from = query_words + (at >> 2);
      const unsigned turn = (at & 3) * 8;
      unsigned letters[STRIP / 4], bad = 0, marked = 0, raw = from[0];
#pragma unroll
      for (int k = 0; k < STRIP / 4; k++) {
        const unsigned following = from[k + 1];
        letters[k] = __funnelshift_r(raw, following, turn);
        raw = following;
      }
      if (strip == 0) letters[0] = (letters[0] & ~0xffu) | 0x80;  // column 0: any letter
#pragma unroll
      for (int k = 0; k < STRIP / 4; k++) {
        bad |= ~letters[k] & 0x80808080u;
        marked |= letters[k] & 0x08080808u;
      }
      has_others = marked;
#pragma unroll
      for (int k = 0; k < WORDS / 4; k++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
          // Two columns' selectors, the right one's from the high word.
          select[4 * k + j] = bytes(letters[k], letters[k + WORDS / 4] | 0x44444444u, (unsigned)(j | (4 + j) << 4));
          above[4 * k + j] = down[4 * k + j] = 0;
          others[4 * k + j][me] = (letters[k] >> 8 * j & 8 ? other & 0xffff : 0) | (letters[k + WORDS / 4] >> 8 * j & 8 ? other << 16 : 0);
        }
      across_before = scores_before = 0;
      const long long row = first_row[me] + 4 * group - strip;
      word = (unsigned)(row >> 2);
      shift = (unsigned)(row & 3) * 8;
      low_letters = target_words[word++];
      high_letters = target_words[word++];
      coming = group <= last_in ? mine[group] : uint4{0, 0, 0, 0};
      // Row 0 begins with the value of the start, which comes along the diagonal.
      corner = strip ? 0 : (start - bytes(scores_of(table, __funnelshift_r(low_letters, high_letters, shift) & 0xff), 0, select[0])) & 0xffff;
      if (bad || (strip + 1) * STRIP - 1 > last_column_there[me]) {
        found[side] = {0, 0, UNDECIDED, 0};
        side = -1;
      }
    }
    if (side < 0) {  // goes through the motions
      word = group = 0;
      last_in = first_out = -1;
      has_others = false;
    }

    __syncwarp();  // lanes that began a strip and those that did not go on together
    // Right halves are a row behind.
    const int low = side < 0 ? 0x7fff : 4 * group - strip - 1 > looked ? late_line[me] : line;
    unsigned unknown = 0, highest = 0;
    // Rows of the strip. with_others(k, sum): the sum along the diagonal into word k, with what its other letters add.
    auto sweep = [&](auto with_others) {
#pragma unroll 1
      for (int turn = 0; turn < CHUNK; turn++, group++) {
        uint4 boundary_words = coming;
        coming = group < last_in ? mine[group + 1] : uint4{0, 0, 0, 0};
        unsigned letters = __funnelshift_r(low_letters, high_letters, shift);
        low_letters = high_letters;
        high_letters = target_words[word++];
        unknown |= letters;
        unsigned border = 0, last_column = 0;
#pragma unroll 1
        for (int pair = 0; pair < 2; pair++, letters >>= 16) {
#pragma unroll
          for (int j = 0; j < 2; j++) {
            const unsigned word_in = j ? boundary_words.y : boundary_words.x;
            const unsigned scores_here = scores_of(table, bytes(letters, 0, 0x4440 + j));
            unsigned across = bytes(word_in, across_before, 0x5432);
            unsigned diagonal = with_others(0, corner * one + bytes(scores_here, scores_before, select[0]));
            corner = bytes(word_in, above[WORDS - 1], 0x5410);
#pragma unroll
            for (int k = 0; k < WORDS; k++) {
              const unsigned next = k + 1 < WORDS ? with_others(k + 1, above[k] * one + bytes(scores_here, scores_before, select[k + 1])) : 0;
              const unsigned value = most(diagonal, down[k], across);
              const unsigned open = __vadd2(value, opened);
              down[k] = most_of_sum_or_0(down[k], extended, open);
              across = most_of_sum(across, extended, open);
              above[k] = value;
              diagonal = next;
            }
            across_before = across;
            scores_before = scores_here;
            const unsigned word_out = bytes(above[WORDS - 1], across, 0x7632);
            if (j)
              boundary_words.y = word_out;
            else
              boundary_words.x = word_out;
            border = j ? most(border, last_column, above[WORDS - 1]) : border;
            last_column = above[WORDS - 1];
          }
          boundary_words = {boundary_words.z, boundary_words.w, boundary_words.x, boundary_words.y};
        }
        highest = 0;
#pragma unroll
        for (int k = 0; k + 1 < WORDS; k += 2) highest = most(highest, above[k], above[k + 1]);
        if (WORDS & 1) highest = most(highest, above[WORDS - 1]);
        best = most(best, highest, border);
        if ((int)border >= low * 0x10000) {  // the right half
          last_out = group;
          if (first_out < 0) first_out = group;
        }
        if (first_out >= 0) mine[group] = boundary_words;
      }
    };
    if (__any_sync(~0u, has_others))
      sweep([&](int k, unsigned sum) { return others[k][me] * one + sum; });
    else
      sweep([](int, unsigned sum) { return sum; });

    if (side >= 0) {
      const int row = 4 * group - 1 - strip;
      steps += 4 * CHUNK;
      const bool alive = group <= last_in || reaches(most(highest, corner), low);
      bool undecided = reaches(best, threshold) || (unknown & 0x80808080u) || row > last_row[me];
      if (!alive) {
        rows = max(rows, row);
        group = first_out;
      }
      undecided |= 4 * (group + CHUNK) > room || steps > most_steps || (strip + 2) * STRIP > UNDECIDED;  // columns have 16 bits
      if (undecided || (!alive && first_out < 0)) {
        const int value = max((int)(short)best, (int)best >> 16) + slack - start;
        found[side] = undecided ? ushort4{0, 0, UNDECIDED, 0} : ushort4{(unsigned short)value, (unsigned short)rows, (unsigned short)((strip + 1) * STRIP), 0};
        swept += steps;
        side = -1;
      } else if (!alive) {
        strip++;
        last_in = last_out;
        begin = true;
      }
    }
  }
  if (swept) atomicAdd(work, (unsigned long long)swept);
}

// Whether each anchor stays below the threshold, and where it does, rows and columns looked at left and right. raised: what cutting gaps off an alignment's end
// may add to its score; cells: of a side, for which LASTZ's traceback buffer has room for sure.
extern "C" __global__ void inspection_verdicts(const ushort4* found, const Side* sides, int count, int threshold, int raised, long long cells,
                                               unsigned char* below, ushort4* boxes) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const ushort4 left = found[2 * i], right = found[2 * i + 1];
  bool sure = left.z != UNDECIDED && right.z != UNDECIDED;
  // A side that may be empty lets the other begin with gaps.
  const int empty = sides[2 * i].least == 0 || sides[2 * i + 1].least == 0 ? raised : 0;
  sure = sure && left.x + right.x + empty < threshold;
  sure = sure && (left.y + 1LL) * left.z < cells && (right.y + 1LL) * right.z < cells;
  below[i] = sure;
  boxes[i] = sure ? ushort4{left.y, left.z, right.y, right.z} : ushort4{0, 0, 0, 0};
}
