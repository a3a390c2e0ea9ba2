// Global edit distance of short and close pairs, a thread a pair: the rows and CIGARs of wavefront.cu.
//
// A row of wavefronts is a few cells, far fewer than a warp has lanes. So each lane has a pair of its own, and all go through penalties and diagonals together:
// what depends on these is the same in the whole warp, and only matches, the walk back and runs differ in length.
#include "scoring/sources.cuh"
#include "wavefront/codes.cuh"

// Set by the launcher:
//   EDIT_THREADS  threads, and pairs, a block
//   EDIT_CIGAR    keep directions and walk back

// A thread's arrays in shared memory lie [place][thread], so whatever places the lanes of a warp are at, each reads its own bank.
extern __shared__ unsigned shared_words[];

constexpr unsigned WARP = 0xffffffffu;
constexpr int NOWHERE = -1;

// Of equal offsets the one with the larger code is taken. A stored offset is h << 2, so one maximum gives both: the furthest h, and below it its source.
enum Rank { BY_D = 0, BY_I = 1, BY_X = 2 };
constexpr int COLUMN = 4;
// No such cell: nor is what a step makes of it.
constexpr int NONE = -2 * COLUMN;

struct Letters {  // 16 a word, the first in the top bits
  const char *query, *target;
  // 4 EDIT_THREADS, which the compiler does not know: a word's address is one multiplication then, where it would shift, mask, add and add.
  int stride;

  // The furthest column reached from (v, h) over equal letters, `left` of which there are at most. It may look at a word behind the letters.
  __device__ int extend(int v, int h, int left) const {
    const unsigned *query_at = (const unsigned*)(query + (v >> 4) * stride), *target_at = (const unsigned*)(target + (h >> 4) * stride);
    const unsigned query_shift = 2 * v, target_shift = 2 * h;
    unsigned query_word = *query_at, target_word = *target_at;
    // Of 16 letters those from the first difference on, or from the end on, less one: -1 where all are equal.
    for (int end = 15 - left;; end += 16, h += 16) {
      const unsigned next_query = *(query_at += EDIT_THREADS), next_target = *(target_at += EDIT_THREADS);
      const unsigned differ = __funnelshift_l(next_query, query_word, query_shift) ^ __funnelshift_l(next_target, target_word, target_shift);
      const int unequal = max((31 - __clz(differ)) >> 1, end);
      if (unequal >= 0) return h + 15 - unequal;
      query_word = next_query;
      target_word = next_target;
    }
  }
};

// `length` letters of a stream (four a byte, the first on top) from letter `start` on. Reads up to 7 bytes behind the letters.
__device__ inline void load(const unsigned* stream, int start, int length, unsigned* words) {
  const unsigned* from = stream + (start >> 4);
  const int shift = 2 * (start & 15), count = (length + 15) / 16;
  unsigned word = count ? __byte_perm(from[0], 0, 0x0123) : 0;
#pragma unroll 4
  for (int i = 0; i < count; i++) {
    const unsigned next = __byte_perm(from[i + 1], 0, 0x0123);
    words[i * EDIT_THREADS] = __funnelshift_l(next, word, shift);
    word = next;
  }
}

// The diagonals of a row: those that a path of penalty `limit` at most may cross between its begin and the goal of some pair of the warp.
struct Diamond {
  int limit, reach, lowest, highest;

  // A negated minimum: of the maximum of negated values ptxas 13.0 makes one instruction (VIMNMX3) that negates no uniform register.
  __device__ int low(int s) const { return -min(min(s, reach), (limit - s) - lowest); }
  __device__ int high(int s) const { return min(min(s, reach), highest + (limit - s)); }
};

// The most letters of both sides that a cell of a row has behind it.
__device__ inline int furthest(const short* row, int low, int high) {
  int most = 0;
  for (int k = low; k <= high; k++) most = max(most, 2 * (row[k * EDIT_THREADS] >> 2) - k);
  return most;
}

// Two bits each, the last one that was put in on top of the others.
struct Operations {
  unsigned long long low, high;

  __device__ void push(int source) {
    high = high << 2 | low >> 62;
    low = low << 2 | source;
  }
  __device__ int pop() {
    const int source = (int)(low & 3);
    low = low >> 2 | high << 62;
    high >>= 2;
    return source;
  }
};

// The operations of a path, from its end on. All lanes take rows s, s - 1, ... together, each from its own penalty on; the cells of row s end at `place`.
__device__ inline Operations walk_back(const Diamond& diamond, const unsigned* directions, int s, int place, int penalty, int k) {
  Operations operations = {0, 0};
  for (; s > 0; s--) {
    const int low = diamond.low(s);
    place -= diamond.high(s) - low + 1;
    if (s <= penalty) {
      const int at = place + k - low;
      const int source = directions[(at >> 4) * EDIT_THREADS] >> (2 * at & 31) & 3;
      operations.push(source);
      k += source == BY_X ? 0 : source == BY_I ? 1 : -1;
    }
  }
  return operations;
}

// Runs, length << 4 | code in 16 bits, two in a word of a column.
struct Runs {
  unsigned* at;
  int count;
  unsigned last;

  __device__ unsigned operator[](int i) const { return at[(i >> 1) * EDIT_THREADS] >> 16 * (i & 1) & 0xffff; }
  __device__ void append(int length, int code) {
    const unsigned run = length << 4 | code;
    last = count & 1 ? last | run << 16 : run;
    at[(count++ >> 1) * EDIT_THREADS] = last;
  }
};

// Matches follow every operation, so runs of others end where some do.
__device__ inline void walk(const Letters& letters, int query_length, int target_length, Operations operations, int penalty, Runs& runs) {
  int v = 0, h = 0, length = 0, code = 0;
  for (;; penalty--) {
    const int equal = letters.extend(v, h, min(query_length - v, target_length - h)) - h;
    if (length && (equal || penalty == 0)) runs.append(length, code), length = 0;
    if (equal) runs.append(equal, OP_EQUAL);
    if (penalty == 0) return;
    const int source = operations.pop(), next = source == BY_X ? OP_X : source == BY_I ? OP_I : OP_D;
    v += equal + (source != BY_D);
    h += equal + (source != BY_I);
    if (length && next != code) runs.append(length, code), length = 0;
    code = next;
    length++;
  }
}

// Letters as letters/device.py sends them; a thread has one of the pairs `list[0..count)` (null: 0..count). Sides up to 16 (sequence_words - 1) letters,
// penalties up to `limit` (at most 64), a diagonal of the goal up to 2 reach - limit; `reach` is at most `limit`. What does not fit is OUTGROWN.
// direction_memory: as many words for each thread, more than `limit`; none without CIGARs. totals, and the rest of what comes out, as in wavefront.cu.
//
// Invariant: row[k] holds, before step s, the offset of row s - 1 on diagonals up to s - 1 inside the diamond, and NONE on those beyond s - 1. A step goes
// upwards and leaves its cells in place of those it has read:
//
//     diagonal    k - 1              k                  k + 1
//     s - 1       before + 1 (D)     here + 1 (X)       after (I)
//     s                              the largest; of equal ones X, then I; then along its matches
//
// The last row is that in which the last pair of the warp comes to its goal; or that a fourth of the way to the limit, if the pairs that are not there yet
// would cost a tenth more than the limit, on average, if they went on as they have. Cells that no path within the limit crosses are left out on both sides;
// what a row kept of them is old, and is read by cells that no such path crosses either.
extern "C" __global__ void __launch_bounds__(EDIT_THREADS) edit_align(
    const unsigned* query_codes, const int* query_starts, const unsigned short* query_lengths, const int* query_mask_starts, const unsigned* target_codes,
    const int* target_starts, const unsigned short* target_lengths, const int* target_mask_starts, const int* list, int count, int sequence_words, int limit,
    int reach, unsigned* direction_memory, int direction_words, unsigned char* status, int* penalty, unsigned* pool, unsigned long long pool_size,
    unsigned long long* totals, long long* cigar_place, unsigned short* cigar_runs) {
  const int lane = threadIdx.x & 31;
  const long long item = (long long)blockIdx.x * EDIT_THREADS + threadIdx.x;
  unsigned* words = shared_words + threadIdx.x;
  short* row = (short*)(shared_words + 2 * sequence_words * EDIT_THREADS) + threadIdx.x + (reach + 1) * EDIT_THREADS;
  // Written once, a line of memory at a time, and read once a row: not worth room on chip.
  unsigned* directions = EDIT_CIGAR ? direction_memory + (long long)blockIdx.x * direction_words * EDIT_THREADS + threadIdx.x : nullptr;

  const int index = item >= count ? -1 : list ? list[item] : (int)item;
  int outcome = OUTGROWN, query_length = 0, target_length = 0, goal = 0;
  if (index >= 0) {
    query_length = query_lengths[index];
    target_length = target_lengths[index];
    goal = target_length - query_length;
    if (max(query_length, target_length) <= 16 * (sequence_words - 1) && max(goal, -goal) <= 2 * reach - limit) outcome = ALIGNED;
    if ((query_mask_starts && query_mask_starts[index] >= 0) || (target_mask_starts && target_mask_starts[index] >= 0)) outcome = OTHER_LETTERS;
  }
  const bool fits = outcome == ALIGNED;
  if (fits) {
    load(query_codes, query_starts[index], query_length, words);
    load(target_codes, target_starts[index], target_length, words + sequence_words * EDIT_THREADS);
  } else {
    query_length = target_length = goal = 0;
  }
  const Letters letters = {(const char*)words, (const char*)(words + sequence_words * EDIT_THREADS), 4 * (int)blockDim.x};
  const Diamond diamond = {limit, reach, __reduce_min_sync(WARP, goal), __reduce_max_sync(WARP, goal)};
  for (int k = -reach - 1; k <= reach + 1; k++) row[k * EDIT_THREADS] = NONE;
  row[0] = letters.extend(0, 0, min(query_length, target_length)) * COLUMN;

  int found = NOWHERE, s = 0, place = 0;
  unsigned sources = 0, *next = directions;
  while (true) {
    if (found == NOWHERE && row[goal * EDIT_THREADS] >= target_length * COLUMN) found = s;
    if (s == limit || __all_sync(WARP, found != NOWHERE)) break;
    if (s == (limit + 3) / 4) {
      const int passed = found == NOWHERE ? furthest(row, diamond.low(s), diamond.high(s)) : 0;
      const int to_pass = found == NOWHERE ? query_length + target_length : 0;
      if (11 * limit * __reduce_add_sync(WARP, passed) < 10 * s * __reduce_add_sync(WARP, to_pass)) break;
    }
    const int low = diamond.low(s + 1), high = diamond.high(s + 1);
    if (EDIT_CIGAR && place + high - low + 1 > 16 * direction_words) break;
    s++;
    short* cell = row + low * EDIT_THREADS;
    int before = cell[-EDIT_THREADS], here = cell[0];
    int k = low;
    for (int cells = high - low + 1; cells > 0; cells--, k++, cell += EDIT_THREADS) {
      const int after = cell[EDIT_THREADS];
      int best = max(max(before + (COLUMN + BY_D), after + BY_I), here + (COLUMN + BY_X));
      before = here;
      here = after;
      if (EDIT_CIGAR) {
        sources = __funnelshift_r(sources, best, 2);
        if ((++place & 15) == 0) *next = sources, next += EDIT_THREADS;
      }
      const int h = best >> 2, left = min(target_length, query_length + k) - h;
      // Past an end, as in wavefront.cuh, there is no cell, even where a source that is less far would not be.
      *cell = best < 0 || left < 0 ? NONE : letters.extend(h - k, h, left) * COLUMN;
    }
  }
  if (fits && found == NOWHERE) outcome = OUTGROWN;

  Runs runs = {directions, 0, 0};  // in place of the directions, which are read by then
  bool kept = true;
  if (EDIT_CIGAR) {
    if (place & 15) *next = sources >> (32 - 2 * (place & 15));
    const Operations operations = walk_back(diamond, directions, s, place, found, goal);
    if (outcome == ALIGNED) walk(letters, query_length, target_length, operations, found, runs);
    int until = runs.count;
    for (int step = 1; step < 32; step *= 2) {
      const int others = __shfl_up_sync(WARP, until, step);
      if (lane >= step) until += others;
    }
    const int all = __shfl_sync(WARP, until, 31);
    unsigned long long from = lane == 0 ? atomicAdd(totals, (unsigned long long)all) : 0;
    from = __shfl_sync(WARP, from, 0) + until - runs.count;
    kept = from + runs.count <= pool_size;
    // Lanes that are kept come before those that are not, so the last one's end is the sum of theirs.
    const int words_kept = __reduce_max_sync(WARP, kept ? until : 0);
    if (lane == 0 && words_kept) atomicAdd(totals + 1, (unsigned long long)words_kept);
    if (kept)
      for (int i = 0; i < runs.count; i++) pool[from + i] = runs[i];
    if (index >= 0) {
      cigar_place[index] = (long long)from;
      cigar_runs[index] = kept ? runs.count : 0;
    }
    if (outcome == ALIGNED && !kept) outcome = NO_ROOM;
  }
  const int unfinished = __popc(__ballot_sync(WARP, index >= 0 && outcome != ALIGNED));
  if (lane == 0 && unfinished) atomicAdd(totals + 2, (unsigned long long)unfinished);
  if (index >= 0) {
    status[index] = outcome;
    penalty[index] = found;
  }
}
