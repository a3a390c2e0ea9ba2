// Entry points of the bidirectional algorithm for long pairs: letters, sweeps, meetings, narrow parts, leaves.
#include "bidirectional/leaf.cuh"
#include "bidirectional/narrow.cuh"
#include "bidirectional/sweep.cuh"

extern __shared__ int shared_cells[];

// Blocks of a sweep on a multiprocessor, which their registers are to leave room for: of 2,048 threads on some, of 1,536 on others.
#if __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000
constexpr int RESIDENT = 1536 / BIDIRECTIONAL_COLUMNS;
#else
constexpr int RESIDENT = 1536 / BIDIRECTIONAL_COLUMNS;
#endif

// Packed letters (PackedSequences) of `count` sequences to words of 16, the first on top: words[word_places[i]..) forwards, words[word_places[count +
// i]..) backwards; and their masks to the same places, two bits a letter.
extern "C" __global__ void bidirectional_words(const unsigned char* codes, const long long* code_offsets, const long long* lengths,
                                               const unsigned char* masks, const long long* mask_offsets, int count, int blocks,
                                               const long long* word_places, unsigned* words, unsigned* word_masks) {
  const int index = blockIdx.x / blocks, part = blockIdx.x % blocks;
  const long long length = lengths[index];
  const unsigned char* code = codes + code_offsets[index];
  const unsigned char* mask = mask_offsets[index + 1] > mask_offsets[index] ? masks + mask_offsets[index] : nullptr;
  for (long long i = part * (long long)blockDim.x + threadIdx.x; i <= (length + 15) / 16; i += blocks * (long long)blockDim.x)
    for (int direction = 0; direction < 2; direction++) {
      unsigned word = 0, other = 0;
      for (int j = 0; j < 16; j++) {
        const long long at = direction == 0 ? 16 * i + j : length - 1 - 16 * i - j;
        const bool inside = at >= 0 && at < length;
        word = word << 2 | (inside ? code[at >> 2] >> (6 - 2 * (at & 3)) & 3 : 0);
        if (WAVEFRONT_AMBIGUOUS) other = other << 2 | (inside && mask && (mask[at >> 3] >> (7 - (at & 7)) & 1) ? 3 : 0);
      }
      const long long place = word_places[direction * count + index] + i;
      words[place] = word;
      if (WAVEFRONT_AMBIGUOUS) word_masks[place] = other;
    }
}

// Penalties [first_step, first_step + BIDIRECTIONAL_STEPS) of all parts, `tiles` blocks a direction. keep: a Keep. far: antidiagonals that no cell so far
// is beyond. newest: the last first_step of each part. keys: where BIDIRECTIONAL_FREE the penalty and diagonal of the end.
extern "C" __global__ void __launch_bounds__(APART, RESIDENT)
    bidirectional_sweep(const Part* parts, int tiles, int first_step, int keep, const unsigned* words, const unsigned* masks, Offset* rows, int* far,
                        int* newest, unsigned long long* keys) {
  const int tile = blockIdx.x % tiles, direction = blockIdx.x / tiles % DIRECTIONS, index = blockIdx.x / (tiles * DIRECTIONS);
  const Part& part = parts[index];
  if (finished(part, keys[index], first_step - 1)) return;
  const bool before = keep != ALL && near(part, far, first_step / GRAIN - 1);
  if (keep == AGAIN && (part.known >= 0 || before || !near(part, far, (first_step + BIDIRECTIONAL_STEPS) / GRAIN - 1))) return;
  if (tile == 0 && direction == 0 && threadIdx.x == 0) newest[index] = first_step;
  sweep(part, direction, tile, first_step, keep != LAST || before, words, masks, rows, far, keys + index, shared_cells);
}

// What the sweep from first_step on has met, `blocks` blocks a part: the best key of each part, and of each block its best key and forward's column there.
extern "C" __global__ void bidirectional_meet(const Part* parts, int blocks, int first_step, Offset* rows, const int* far, const int* newest,
                                              unsigned long long* keys, unsigned long long* block_keys, int* block_columns) {
  __shared__ unsigned long long found;
  const int index = blockIdx.x / blocks, block = blockIdx.x % blocks;
  const Part& part = parts[index];
  if (newest[index] != first_step || !near(part, far, (first_step + BIDIRECTIONAL_STEPS) / GRAIN - 1)) return;
  if (threadIdx.x == 0) found = block_keys[blockIdx.x];
  __syncthreads();
  const unsigned long long before = found;
  int column = 0;
  const unsigned long long mine = meet(part, first_step, block * blockDim.x + threadIdx.x, blocks * blockDim.x, rows, before, &column);
  __syncthreads();
  if (mine < before) atomicMin(&found, mine);
  __syncthreads();
  if (mine < before && mine == found) {
    block_keys[blockIdx.x] = mine;
    block_columns[blockIdx.x] = column;
    atomicMin(keys + index, mine);
  }
}

// A part a block: the key of its cut and forward's column there, if its wavefronts are as narrow as a block. keys null: it is measured alone. rows: what
// the directions of each part may meet.
extern "C" __global__ void __launch_bounds__(BIDIRECTIONAL_COLUMNS)
    bidirectional_narrow(const Part* parts, const unsigned* words, const unsigned* masks, Offset* rows, int* far, unsigned long long* keys, int* columns) {
  __shared__ int bounds[3];
  __shared__ unsigned long long found;
  const Part& part = parts[blockIdx.x];
  const int known = (int)part.known, middle = keys ? (known + DEEPEST) / 2 : 0, old = (int)part.measured;
  Offset* const met = rows + blockIdx.x * 2LL * MET;
  for (int pass = 0; pass < (keys ? 2 : 1); pass++) {
    const int direction = pass == 0 ? 1 - old : old, other = 1 - direction;
    const Reached reached = {far + part.far[other], (int)part.slots[other], known, (int)(part.n + part.m)};
    int* const measure = pass == 0 ? far + part.far[direction] : nullptr;
    if (!narrow(part, direction, pass == 0 ? max(known, middle) : middle, reached, measure, words, masks, keys ? met + direction * MET : nullptr,
                shared_cells, bounds))
      return;
  }
  if (!keys) return;
  if (threadIdx.x == 0) found = NO_KEY;
  __syncthreads();
  int column = 0;
  const unsigned long long mine = meet_narrow(part, met, met + MET, &column);
  atomicMin(&found, mine);
  __syncthreads();
  if (mine != NO_KEY && mine == found) keys[blockIdx.x] = mine, columns[blockIdx.x] = column;
}

// Operations of parts of a known penalty, a block each: runs[part.place..), their number in counts[part], -1 where the penalty is not the part's.
// row_memory: null, or memory for the rows of every resident block.
extern "C" __global__ void __launch_bounds__(LEAF_THREADS)
    bidirectional_leaf(const Part* parts, int count, int* next, const unsigned* words, const unsigned* masks, const int* far, int width,
                       Offset* row_memory, unsigned char* direction_memory, long long direction_bytes, unsigned char* op_memory, int steps, unsigned* runs,
                       int* counts) {
  __shared__ int shared_part, bounds[2];
  Offset* cells = row_memory ? row_memory + blockIdx.x * (long long)ROWS * (width + 2) : shared_cells;
  while (true) {
    __syncthreads();
    if (threadIdx.x == 0) shared_part = atomicAdd(next, 1);
    __syncthreads();
    if (shared_part >= count) return;
    const int index = shared_part;
    const Part& part = parts[index];
    unsigned char* directions = direction_memory + blockIdx.x * direction_bytes;
    const Leaf end = leaf_wavefronts(part, words, masks, far, cells, directions, bounds);
    __threadfence_block();
    __syncthreads();
    if (threadIdx.x == 0)
      counts[index] = end.penalty < 0 ? -1 : leaf_walk(part, end, words, masks, directions, op_memory + blockIdx.x * (steps + 1LL), runs + part.place);
  }
}
