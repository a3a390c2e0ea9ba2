// Scores of queries with sequences: rows and columns of them to their places, and those that are to be scored again.

// From rows of scores, as wide as all, the columns `slots` to where they belong: row i to rows[i].
extern "C" __global__ void columns_placed(const int* part, long long width, const long long* rows, int count, const int* slots, int columns, int* scores) {
  for (long long i = blockIdx.x; i < count; i += gridDim.x)
    for (int j = threadIdx.x; j < columns; j += blockDim.x) scores[rows[i] * width + slots[j]] = part[i * width + slots[j]];
}

// Scores of a strand, in every `strands`-th column, that are no less than `over`: their rows and sequences, of which there is room for so many, in any order.
extern "C" __global__ void scores_over(const int* scores, long long count, int sequences, int strands, int strand, int over, long long room,
                                       unsigned long long* found, long long* rows, long long* places) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += (long long)gridDim.x * blockDim.x) {
    if (scores[i * strands + strand] < over) continue;
    const long long slot = (long long)atomicAdd(found, 1ull);
    if (slot < room) rows[slot] = i / sequences, places[slot] = i % sequences;
  }
}
