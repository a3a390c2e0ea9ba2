// Which sequences a launch takes, the room that each of its pairs has, and where what is found of each goes: what CuPy would compile a kernel a line for.

#include "letters/sums.cuh"

// The sequences at these places, in this order, and the letters of the longest.
extern "C" __global__ void sequences_taken(const long long* rows, int count, const long long* starts, const int* lengths, const bool* others,
                                           const bool* lacking, const long long* numbers, long long* out_starts, int* out_lengths, bool* out_others,
                                           bool* out_lacking, long long* out_numbers, int* longest) {
  int most = 0;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += (long long)gridDim.x * blockDim.x) {
    const long long row = rows[i];
    out_starts[i] = starts[row], out_lengths[i] = lengths[row], out_numbers[i] = numbers[row];
    out_others[i] = others[row], out_lacking[i] = lacking[row];
    most = max(most, lengths[row]);
  }
  most = __reduce_max_sync(~0u, most);
  if ((threadIdx.x & 31) == 0 && most) atomicMax(longest, most);
}

// Where the cells begin that each team of a launch keeps for the way back, which takes so many pairs in strips of so many rows (0: one strip holds any query),
// or else those of the row under a strip; starts: one more, where all end. One block.
extern "C" __global__ void __launch_bounds__(1024)
    cells_of_teams(const int* n, const int* m, int count, int pairs, int keep, int strip, int team, int columns, int rows, long long* starts) {
  if (threadIdx.x == 0) starts[0] = 0;
  running_sums<long long>((count + pairs - 1) / pairs,
                          [=](long long i) -> long long {
                            long long tall = 0, length = 0;
                            for (long long pair = i * pairs; pair < (i + 1) * pairs && pair < count; pair++)
                              tall = max(tall, (long long)n[pair]), length = max(length, (long long)m[pair]);
                            if (!keep) return length;
                            const long long strips = strip ? (tall + strip - 1) / strip : 1, steps = (length + team - 1 + 3) / 4 * 4;
                            return strips * team * (steps + (steps + columns - 1) / columns * rows);
                          },
                          [=](long long i, long long end) { starts[i + 1] = end; });
}

// Where the room for the operations of each pair ends, which are no more than its letters. One block.
extern "C" __global__ void __launch_bounds__(1024) room_of_operations(const int* n, const int* m, int count, long long* ends) {
  running_sums<long long>(count, [=](long long i) { return (long long)n[i] + m[i] + 1; }, [=](long long i, long long end) { ends[i] = end; });
}

// Where the operations of each pair go, which has so many, and where all end. One block.
extern "C" __global__ void __launch_bounds__(1024) places_of_operations(const int* counts, int count, long long* places) {
  if (threadIdx.x == 0) places[0] = 0;
  running_sums<long long>(count, [=](long long i) { return (long long)counts[i]; }, [=](long long i, long long end) { places[i + 1] = end; });
}

// What was found of the pairs of a launch, to their rows of `total`. ends, counts: nothing where there is none of it; out_ends: a column of each kind.
extern "C" __global__ void results_placed(const long long* rows, int count, long long total, const int* score, const int4* ends, const int* counts,
                                          int* out_score, int* out_ends, int* out_counts) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += (long long)gridDim.x * blockDim.x) {
    const long long row = rows[i];
    out_score[row] = score[i];
    if (!ends) continue;
    const int4 found = ends[i];
    out_ends[row] = found.x, out_ends[total + row] = found.y, out_ends[2 * total + row] = found.z, out_ends[3 * total + row] = found.w;
    out_counts[row] = counts[i];
  }
}

// Operations of each pair, which lie in front of `ends`, to the places of their rows (nothing: in order), a warp a pair.
extern "C" __global__ void operations_gathered(const unsigned* operations, const long long* ends, const int* counts, const long long* rows,
                                               const long long* places, int count, unsigned* out) {
  const int lane = threadIdx.x & 31;
  const long long warps = (long long)gridDim.x * (blockDim.x >> 5);
  for (long long i = (blockIdx.x * (long long)blockDim.x + threadIdx.x) >> 5; i < count; i += warps) {
    const long long place = places[rows ? rows[i] : i];
    for (int j = lane; j < counts[i]; j += 32) out[place + j] = operations[ends[i] - counts[i] + j];
  }
}
