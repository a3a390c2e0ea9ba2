// Letters of sequences as codes of a matrix, a byte each, a warp a sequence.

#include "letters/sums.cuh"

// Where the codes of each sequence begin, at a multiple of four, its length in 32 bits, its number, and the longest's length, if it is not 0; starts: one more,
// where all end. One block.
extern "C" __global__ void __launch_bounds__(1024)
    places_of_sequences(const long long* lengths, int count, long long* starts, int* shorter, long long* numbers, int* longest) {
  if (threadIdx.x == 0) starts[0] = 0;
  running_sums<long long>(
      count, [=](long long i) { return (lengths[i] + 3) / 4 * 4; },
      [=](long long i, long long end) {
        starts[i + 1] = end, shorter[i] = (int)lengths[i], numbers[i] = i;
        if (*longest < lengths[i]) atomicMax(longest, (int)lengths[i]);
      });
}

// codes: of each byte, with the highest bit set for letters that the matrix lacks. others: whether a sequence has a code of four or more; lacking: whether it
// has such a letter.
extern "C" __global__ void codes_of_letters(const unsigned char* letters, const long long* offsets, const unsigned char* codes, int count,
                                            const long long* starts, unsigned char* out, bool* others, bool* lacking) {
  const int lane = threadIdx.x & 31;
  const long long warps = (long long)gridDim.x * (blockDim.x >> 5);
  for (long long i = (blockIdx.x * (long long)blockDim.x + threadIdx.x) >> 5; i < count; i += warps) {
    const long long length = offsets[i + 1] - offsets[i];
    unsigned any = 0;
    for (long long j = lane; j < length; j += 32) {
      const unsigned char code = codes[letters[offsets[i] + j]];
      out[starts[i] + j] = code & 127;
      any |= code;
    }
    any = __reduce_or_sync(~0u, any);
    if (lane == 0) others[i] = (any & 127) >= 4, lacking[i] = any >> 7;
  }
}

// The same of letters that are packed (kernels/letters/sequences.py). codes: of the four bases in the order of their bits, and of any other letter.
extern "C" __global__ void codes_of_packed(const unsigned char* packed, const long long* packed_starts, const int* lengths, const unsigned char* ambiguous,
                                           const long long* ambiguous_offsets, const unsigned char* codes, int count, const long long* starts,
                                           unsigned char* out, bool* others) {
  const int lane = threadIdx.x & 31;
  const long long warps = (long long)gridDim.x * (blockDim.x >> 5);
  for (long long i = (blockIdx.x * (long long)blockDim.x + threadIdx.x) >> 5; i < count; i += warps) {
    const bool masked = ambiguous_offsets[i + 1] > ambiguous_offsets[i];
    bool other = false;
    for (long long j = lane; j < lengths[i]; j += 32) {
      const bool mask = masked && ambiguous[ambiguous_offsets[i] + (j >> 3)] >> (7 - (j & 7)) & 1;
      const unsigned char code = codes[mask ? 4 : packed[packed_starts[i] + (j >> 2)] >> (6 - 2 * (j & 3)) & 3];
      out[starts[i] + j] = code;
      other |= code >= 4;
    }
    other = __any_sync(~0u, other);
    if (lane == 0) others[i] = other;
  }
}

// What letters score at best, before each letter and behind the last, together; a code has the best of its row of the matrix, or of the last row. One block.
extern "C" __global__ void __launch_bounds__(1024)
    worth_of_codes(const unsigned char* codes, long long count, const long long* best, int rows, long long* sums) {
  if (threadIdx.x == 0) sums[0] = 0;
  running_sums<long long>(count, [=](long long i) { return best[min((int)codes[i], rows - 1)]; }, [=](long long i, long long end) { sums[i + 1] = end; });
}
