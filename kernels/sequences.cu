// Letters to 2 bits and a mask, and the gathering of CIGARs: what surrounds the wavefront kernels on the device.

// A warp packs a sequence: 4 letters a byte (code (letter >> 1) & 3, the first in the top bits), 8 mask bits a byte.
extern "C" __global__ void pack_letters(const unsigned char* letters, const long long* offsets, int count, unsigned char* codes,
                                        const long long* code_offsets, unsigned char* masks, const long long* mask_offsets,
                                        unsigned char* has_ambiguous) {
  const int lane = threadIdx.x & 31;
  const long long warps = (long long)gridDim.x * (blockDim.x >> 5);
  for (long long i = (blockIdx.x * (long long)blockDim.x + threadIdx.x) >> 5; i < count; i += warps) {
    const unsigned char* from = letters + offsets[i];
    const long long length = offsets[i + 1] - offsets[i];
    unsigned char *code = codes + code_offsets[i], *mask = masks + mask_offsets[i];
    bool any = false;
    for (long long byte = lane; byte * 8 < length; byte += 32) {
      unsigned bits = 0, ambiguous = 0;
      for (int j = 0; j < 8; j++) {
        const unsigned letter = byte * 8 + j < length ? from[byte * 8 + j] & 0xdf : 'A';
        bits = bits << 2 | (letter >> 1 & 3);
        ambiguous = ambiguous << 1 | (letter != 'A' && letter != 'C' && letter != 'G' && letter != 'T');
      }
      code[2 * byte] = bits >> 8;
      if (byte * 8 + 4 < length) code[2 * byte + 1] = bits;
      mask[byte] = ambiguous;
      any |= ambiguous != 0;
    }
    any = __any_sync(0xffffffffu, any);
    if (lane == 0) has_ambiguous[i] = any;
  }
}

// Runs of each pair from where its launch put them to their place in pair order; a warp a pair.
extern "C" __global__ void gather_runs(const unsigned* pool, const long long* places, const long long* offsets, int count, unsigned* runs) {
  const int lane = threadIdx.x & 31;
  const long long warps = (long long)gridDim.x * (blockDim.x >> 5);
  for (long long i = (blockIdx.x * (long long)blockDim.x + threadIdx.x) >> 5; i < count; i += warps)
    for (long long j = lane; j < offsets[i + 1] - offsets[i]; j += 32) runs[offsets[i] + j] = pool[places[i] + j];
}
