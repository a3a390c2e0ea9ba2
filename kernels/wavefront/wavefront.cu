// Entry points of the wavefront kernels (eWFA-GPU and WFA-GPU's division of work: a warp a pair when short and close, a block otherwise).
#include "wavefront/wavefront.cuh"

// Without a heuristic its macros are not set, and exact kernels are what they would be without this.
#ifdef WAVEFRONT_HEURISTIC
#include "wavefront/pruned.cuh"
constexpr int LONGEST = 32766;
constexpr bool COUNTS = false;
#else
constexpr bool COUNTS = COUNTED;
constexpr int HELD_WORDS = 0;
constexpr int LONGEST = 32767;
#endif

// Letters as letters/device.py sends them. Pairs `list[0..count)` (null: 0..count) are taken from a counter by resident warps or blocks: pairs without
// ambiguous letters where WAVEFRONT_AMBIGUOUS is 0, pairs with some where not. rows: memory for the rows of every resident block that are not on chip; deep:
// for its deep rows, if any. bound, missing: what a narrow pass says of a pair's penalty and of its query, for the pass after it. totals: words of the pool
// asked for, words of CIGARs kept, pairs not aligned.
extern "C" __global__ void __launch_bounds__(WAVEFRONT_THREADS* WAVEFRONT_PAIRS)
    wavefront_align(const unsigned* query_codes, const int* query_starts, const unsigned short* query_lengths, const int* query_mask_starts,
                    const unsigned* target_codes, const int* target_starts, const unsigned short* target_lengths, const int* target_mask_starts,
                    const unsigned char* masks, const int* list, int count, int* next, int sequence_words, int width, Offset* row_memory, Offset* deep_memory,
                    unsigned char* direction_memory, long long direction_bytes, int* row_start_memory, unsigned char* op_memory, unsigned* run_memory,
                    int run_words, int steps, int free_query_begin, int free_query_end, int free_target_begin, int free_target_end, unsigned char* status,
                    int* bound, int* missing, int* penalty, int* query_start, int* query_end, int* target_start, int* target_end, unsigned* pool,
                    unsigned long long pool_size, unsigned long long* totals, long long* cigar_place, unsigned short* cigar_runs) {
  const int thread = threadIdx.x % WAVEFRONT_THREADS, slot_in_block = threadIdx.x / WAVEFRONT_THREADS;
  const long long slot = (long long)blockIdx.x * WAVEFRONT_PAIRS + slot_in_block;
  const int arrays = WAVEFRONT_AMBIGUOUS ? 4 : 2;
  const int row_words = WAVEFRONT_SHARED ? ROWS * width / 2 : 0;
  const int count_words = COUNTS ? sequence_words / 2 : 0;
  unsigned* mine = shared_words + slot_in_block * (arrays * sequence_words + count_words + row_words + 4 + HELD_WORDS);
  int* shared_found = (int*)mine;
  int* shared_pair = (int*)mine + 1;
  unsigned long long* shared_place = (unsigned long long*)(mine + 2);
  unsigned* words = mine + 4 + HELD_WORDS;
  unsigned* counts = words + arrays * sequence_words;
  Offset* const row_place = WAVEFRONT_SHARED ? (Offset*)(counts + count_words) : row_memory + slot * ROWS * width;
  const Scratch scratch = {direction_memory + slot * direction_bytes, direction_bytes, row_start_memory + slot * (steps + 1LL),
                           op_memory + slot * (steps + 1LL), run_memory + slot * (long long)run_words, run_words, steps, counts};
  while (true) {
    group_sync();
    if (thread == 0) *shared_pair = atomicAdd(next, 1);
    group_sync();
    if (*shared_pair >= count) return;
    const int index = list ? list[*shared_pair] : *shared_pair;
    const int query_mask = query_mask_starts ? query_mask_starts[index] : -1, target_mask = target_mask_starts ? target_mask_starts[index] : -1;
    const int query_length = query_lengths[index], target_length = target_lengths[index];
    const bool too_long = max(query_length, target_length) > LONGEST;
    if (too_long || (query_mask >= 0 || target_mask >= 0) != (WAVEFRONT_AMBIGUOUS != 0)) {
      if (thread == 0) {
        status[index] = too_long ? TOO_LONG : OTHER_LETTERS;
        if (WAVEFRONT_CIGAR) cigar_runs[index] = 0;
        atomicAdd(totals + 2, 1ull);
      }
      continue;
    }
    Pair pair = {words, words + sequence_words, words + 2 * sequence_words, words + 3 * sequence_words, query_length, target_length};
    load_codes(query_codes, query_starts[index], query_length, words, thread, WAVEFRONT_THREADS);
    load_codes(target_codes, target_starts[index], target_length, words + sequence_words, thread, WAVEFRONT_THREADS);
    if (WAVEFRONT_AMBIGUOUS) {
      load_mask(query_mask >= 0 ? masks + query_mask : nullptr, query_length, words + 2 * sequence_words, thread, WAVEFRONT_THREADS);
      load_mask(target_mask >= 0 ? masks + target_mask : nullptr, target_length, words + 3 * sequence_words, thread, WAVEFRONT_THREADS);
    }
    group_sync();
    const Free ends = {min(free_query_begin, query_length), min(free_query_end, query_length), min(free_target_begin, target_length),
                       min(free_target_end, target_length)};
#ifdef WAVEFRONT_HEURISTIC
    const Outcome outcome = pruned(pair, {row_place, width}, scratch, ends, (Held*)(mine + 4));
#else
    const int begin = WAVEFRONT_SHARED ? (int)((char*)row_place - (char*)shared_words) : 0;
    const Rows rows = {(char*)row_place, WAVEFRONT_DEEP ? deep_memory + slot * DEEP_ROWS * width : nullptr, begin, width, 0};
    const int most = WAVEFRONT_NARROW && !WAVEFRONT_LIMITED ? NOWHERE : bound[index];
    const Outcome outcome = wavefront(pair, rows, scratch, ends, most, shared_found, (int*)shared_place);
#endif
    if (outcome.status != ALIGNED) {
      if (thread == 0) {
        status[index] = outcome.status;
        if (WAVEFRONT_NARROW && (outcome.status == BOUNDED || !WAVEFRONT_LIMITED)) bound[index] = outcome.status == BOUNDED ? outcome.penalty : NOWHERE;
        if (WAVEFRONT_NARROW && outcome.status == BOUNDED) missing[index] = outcome.missing;
        if (WAVEFRONT_LIMITED && outcome.status == ABOVE) penalty[index] = NOWHERE;
        if (WAVEFRONT_CIGAR) cigar_runs[index] = 0;
        atomicAdd(totals + 2, 1ull);
      }
      continue;
    }
    int from_query = 0, from_target = 0;
    bool kept = true;
    if (WAVEFRONT_CIGAR) {
      // Directions written by other threads of the pair are read by one.
      __threadfence_block();
      group_sync();
      if (thread == 0) {
#ifdef WAVEFRONT_HEURISTIC
        const int runs = outcome.penalty == NOWHERE ? 0 : walk_back(pair, scratch, outcome, &from_query, &from_target);
#else
        const int runs = walk_back(pair, scratch, outcome, &from_query, &from_target);
#endif
        *shared_found = runs;
        *shared_place = atomicAdd(totals, (unsigned long long)runs);
        __threadfence_block();
      }
      group_sync();
      const int runs = *shared_found;
      const unsigned long long place = *shared_place;
      kept = place + runs <= pool_size;
      if (kept)
        for (int i = thread; i < runs; i += WAVEFRONT_THREADS) pool[place + i] = scratch.runs[i];
      if (thread == 0) {
        cigar_place[index] = (long long)place;
        cigar_runs[index] = kept ? runs : 0;
        atomicAdd(totals + (kept ? 1 : 2), kept ? (unsigned long long)runs : 1ull);
      }
    }
    if (thread == 0) {
      status[index] = kept ? ALIGNED : NO_ROOM;
      penalty[index] = outcome.penalty;
      if (WAVEFRONT_FREE) {
        query_start[index] = from_query;
        query_end[index] = outcome.h - outcome.k;
        target_start[index] = from_target;
        target_end[index] = outcome.h;
      }
    }
  }
}
