// Scores of queries with sequences, a row a query, the strands of a sequence side by side: which pairs are to be scored one by one, and where scores go. A
// pair's place is that of its score, row * width + column.

// From rows of scores, as wide as all, the columns `slots` (nothing: all) to where they belong: row i to rows[i].
extern "C" __global__ void columns_placed(const int* part, long long width, const long long* rows, int count, const int* slots, int columns, int* scores) {
  for (long long i = blockIdx.x; i < count; i += gridDim.x)
    for (int j = threadIdx.x; j < columns; j += blockDim.x) {
      const int slot = slots ? slots[j] : j;
      scores[rows[i] * width + slot] = part[i * width + slot];
    }
}

// Scores of pairs to their places.
extern "C" __global__ void scores_placed(const long long* places, const int* values, long long count, int* scores) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += (long long)gridDim.x * blockDim.x) scores[places[i]] = values[i];
}

// Places of the pairs of a strand whose scores are no less than `over`, of which there is room for so many, in any order.
extern "C" __global__ void scores_over(const int* scores, long long count, int strands, int strand, int over, long long room, unsigned long long* found,
                                       long long* places) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += (long long)gridDim.x * blockDim.x) {
    if (scores[i * strands + strand] < over) continue;
    const long long slot = (long long)atomicAdd(found, 1ull);
    if (slot < room) places[slot] = i * strands + strand;
  }
}

// Of pairs at these places those of a strand, in any order: which they are, their rows, sequences and bars (nothing: of none).
extern "C" __global__ void pairs_of_strand(const long long* places, long long count, long long width, int strands, int strand, const int* bars,
                                           unsigned long long* found, long long* which, long long* rows, long long* sequences, int* least) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += (long long)gridDim.x * blockDim.x) {
    const long long row = places[i] / width, column = places[i] % width;
    if (column % strands != strand) continue;
    const long long slot = (long long)atomicAdd(found, 1ull);
    which[slot] = i, rows[slot] = row, sequences[slot] = column / strands;
    if (bars) least[slot] = bars[row];
  }
}

// Columns of each row that share as many words as its query needs at least. A block a row.
extern "C" __global__ void columns_enough(const int* shared_words, int width, const int* fewest, int* counts) {
  const int* row = shared_words + blockIdx.x * (long long)width;
  int enough = 0;
  for (int j = threadIdx.x; j < width; j += blockDim.x) enough += row[j] >= fewest[blockIdx.x];
  if (enough) atomicAdd(&counts[blockIdx.x], enough);
}

// Places of these pairs of some rows, those of a row together, from `starts` on, in any order. A block a row.
extern "C" __global__ void places_enough(const int* shared_words, int width, const int* fewest, const long long* rows, const long long* starts,
                                         long long* places) {
  __shared__ int next;
  if (threadIdx.x == 0) next = 0;
  __syncthreads();
  const long long row = rows[blockIdx.x], first = row * width;
  for (int j = threadIdx.x; j < width; j += blockDim.x)
    if (shared_words[first + j] >= fewest[row]) places[starts[blockIdx.x] + atomicAdd(&next, 1)] = first + j;
}
