// Words of seed windows, of letters a byte each.
#pragma once

constexpr unsigned NO_WORD = ~0u, ALL = ~0u;
constexpr unsigned OTHER = 4;  // a letter that is not upper-case ACGT

// How letters make a word: SeedPattern.gather's shifts, masks and masks.
struct Gather {
  const unsigned* pieces;
  int count, high_bits, span;
};

// The word of the window at first + this lane; for a whole warp.
__device__ inline unsigned word_at(const unsigned char* codes, unsigned length, unsigned first, const Gather& gather) {
  const unsigned lane = threadIdx.x & 31;
  unsigned high = 0, low = 0, known = 0;
  for (int half = 1; half >= 0; half--) {  // of 64 letters, the latter first
    const unsigned place = first + 32 * half + lane;
    const unsigned code = place < length ? codes[place] : OTHER;
    const unsigned highs = __ballot_sync(ALL, code >> 1 & 1), lows = __ballot_sync(ALL, code & 1), knowns = __ballot_sync(ALL, code < 4);
    high = __funnelshift_r(highs, high, half ? 0 : lane);
    low = __funnelshift_r(lows, low, half ? 0 : lane);
    known = __funnelshift_r(knowns, known, half ? 0 : lane);
  }
  const unsigned all = (1u << gather.span) - 1;
  if ((known & all) != all) return NO_WORD;
  high = __brev(high) >> 32 - gather.span;
  low = __brev(low) >> 32 - gather.span;
  unsigned word = 0, above = 0;
  for (int i = 0; i < gather.count; i++) {
    const unsigned shift = gather.pieces[i];
    word |= high >> shift & gather.pieces[gather.count + i];
    above |= low >> shift & gather.pieces[2 * gather.count + i];
  }
  return word | above << gather.high_bits;
}
