// Packed bases of one pair in shared memory, and runs of equal letters.
#pragma once

//   WAVEFRONT_AMBIGUOUS  0: only ACGT in this launch; 1: an ambiguous letter equals nothing; 2: it equals every letter

struct Pair {
  const unsigned *query, *target;                      // 16 letters a word, the first in the top bits
  const unsigned *query_ambiguous, *target_ambiguous;  // two equal bits a letter
  int query_length, target_length;

  __device__ static unsigned window(const unsigned* words, int place) {
    return __funnelshift_l(words[(place >> 4) + 1], words[place >> 4], 2 * place);  // by the shift's last five bits
  }

  // The furthest column on diagonal k reached from h over equal letters.
  __device__ int extend(int k, int h) const {
    int v = h - k, left = min(target_length - h, query_length - v);
    while (left > 0 && follow(v, h, left)) {
    }
    return h;
  }

  // The same, or no column (-32768) where h is none of the matrix. Words may be read up to the one that holds what lies 16 letters behind a side.
  __device__ int extend_within(int k, int h) const {
    int v = h - k, left = min(target_length, query_length + k) - h;
    if ((h | v | left) < 0) return -32768;
    while (follow(v, h, left)) {
    }
    return h;
  }

  // Goes on over equal letters, 16 at most and `left`; whether all 16 were equal.
  __device__ bool follow(int& v, int& h, int& left) const {
    unsigned differ = window(query, v) ^ window(target, h);
    if (WAVEFRONT_AMBIGUOUS) {
      const unsigned ambiguous = window(query_ambiguous, v) | window(target_ambiguous, h);
      differ = WAVEFRONT_AMBIGUOUS == 1 ? differ | ambiguous : differ & ~ambiguous;
    }
    const int equal = min(__clz(differ) >> 1, left);  // clz(0) is 32: all 16
    h += equal;
    v += equal;
    left -= equal;
    return equal == 16;
  }
};

// All threads of a pair: `length` letters of a stream (four a byte, the first on top) from letter `start` on into words, with one word more that windows
// may touch (whatever it holds). Reads up to 11 bytes behind the letters.
__device__ inline void load_codes(const unsigned* stream, int start, int length, unsigned* words, int thread, int threads) {
  const unsigned* from = stream + (start >> 4);
  const int shift = 2 * (start & 15), count = (length + 15) / 16 + 1;
  for (int i = thread; i < count; i += threads)
    words[i] = __funnelshift_l(__byte_perm(from[i + 1], 0, 0x0123), __byte_perm(from[i], 0, 0x0123), shift);
}

// A bit mask, each bit doubled; none where `mask` is null.
__device__ inline void load_mask(const unsigned char* mask, int length, unsigned* words, int thread, int threads) {
  const int bytes = mask ? (length + 7) / 8 : 0, count = (length + 15) / 16 + 1;
  for (int i = thread; i < count; i += threads) {
    unsigned bits = 0, word = 0;
    for (int j = 0; j < 2; j++) bits = bits << 8 | (2 * i + j < bytes ? mask[2 * i + j] : 0);
    for (int j = 15; j >= 0; j--) word = word << 2 | (bits >> j & 1) * 3;
    words[i] = word;
  }
}
