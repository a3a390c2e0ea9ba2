// Letters to 2 bits and a mask, and the gathering of CIGARs: what surrounds the wavefront kernels on the device.

// A warp packs sequence i, letters[offsets[i] - base..): 4 letters a byte (code (letter >> 1) & 3, the first in the top bits), 8 mask bits a byte.
// Codes and mask lie where no sum over the sequences is needed to find them; mask_places[i] is -1 where no letter is ambiguous.
extern "C" __global__ void pack_letters(const unsigned char* letters, const long long* offsets, long long base, int count, unsigned char* codes,
                                        long long* code_places, unsigned char* masks, long long* mask_places, long long* lengths) {
  const int lane = threadIdx.x & 31;
  const long long warps = (long long)gridDim.x * (blockDim.x >> 5);
  for (long long i = (blockIdx.x * (long long)blockDim.x + threadIdx.x) >> 5; i < count; i += warps) {
    const long long start = offsets[i] - base, length = offsets[i + 1] - base - start;
    const long long code_place = 4 * (start / 16 + i), mask_place = start / 8 + i;
    const unsigned char* from = letters + start;
    unsigned short* code = (unsigned short*)(codes + code_place);
    bool any = false;
    for (long long place = lane; place * 8 < length; place += 32) {
      unsigned bits = 0, ambiguous = 0;
      for (int j = 0; j < 8; j++) {
        const unsigned letter = place * 8 + j < length ? from[place * 8 + j] & 0xdf : 'A';
        bits = bits << 2 | (letter >> 1 & 3);
        ambiguous = ambiguous << 1 | (letter != 'A' && letter != 'C' && letter != 'G' && letter != 'T');
      }
      code[place] = bits >> 8 | (bits & 0xff) << 8;
      masks[mask_place + place] = ambiguous;
      any |= ambiguous != 0;
    }
    any = __any_sync(0xffffffffu, any);
    if (lane == 0) {
      code_places[i] = code_place;
      mask_places[i] = any ? mask_place : -1;
      lengths[i] = length;
    }
  }
}

// Offsets of packed input, as the host has them, to places in what was sent of it; an empty mask is -1.
extern "C" __global__ void place_masks(const long long* offsets, int count, long long* mask_places) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    mask_places[i] = offsets[i + 1] > offsets[i] ? offsets[i] - offsets[0] : -1;
}

// Runs of each pair from where its launch put them to their place in pair order; a warp a pair.
extern "C" __global__ void gather_runs(const unsigned* pool, const long long* places, const long long* offsets, int count, unsigned* runs) {
  const int lane = threadIdx.x & 31;
  const long long warps = (long long)gridDim.x * (blockDim.x >> 5);
  for (long long i = (blockIdx.x * (long long)blockDim.x + threadIdx.x) >> 5; i < count; i += warps)
    for (long long j = lane; j < offsets[i + 1] - offsets[i]; j += 32) runs[offsets[i] + j] = pool[places[i] + j];
}
