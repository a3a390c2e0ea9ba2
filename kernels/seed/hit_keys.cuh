// A hit of a tile as one number: sorted, these are by diagonal, and on a diagonal in LASTZ's order.
#pragma once

typedef unsigned long long Key;

constexpr Key NO_HIT = ~0ull;  // behind all others
constexpr Key PROMISING = 1;   // a bit of a key: gap-free extension may find an HSP (sieve.cuh); a hit without it may still hide another
constexpr int PLACE_BITS = 23, FLIP_BITS = 7, SLOT_BITS = 16;

// exact: the diagonal's slot of 65,536, query place, flip, and the high half of the target's place, falling; else the diagonal, query place and flip; then
// PROMISING. Places of the query count from `first`, diagonals from `base` before the target's first letter.
struct Layout {
  int exact;
  unsigned first, base;

  __device__ int below() const { return exact ? 1 + FLIP_BITS + SLOT_BITS : 1 + FLIP_BITS; }  // bits below a query place

  __device__ Key key(unsigned target, unsigned place, unsigned flip, bool promising) const {
    const unsigned query = first + place;
    const Key slot = exact ? (target - query) & 0xffff : (Key)target + base - query;
    const Key key = slot << PLACE_BITS + FLIP_BITS | (Key)place << FLIP_BITS | flip;
    return (exact ? key << SLOT_BITS | ~target >> 16 : key) << 1 | (promising ? PROMISING : 0);
  }
  __device__ Key slot(Key key) const { return key >> PLACE_BITS + below(); }
  __device__ unsigned query(Key key) const { return first + ((unsigned)(key >> below()) & (1u << PLACE_BITS) - 1); }
  __device__ unsigned target(Key key) const {
    const unsigned along = (unsigned)slot(key) + query(key);  // exact: its low half is that of the place
    return exact ? ~(unsigned)(key >> 1) << 16 | (along & 0xffff) : along - base;
  }
  // What no key of the slot with a query place below `query` reaches, and all others of the slot do.
  __device__ Key bound(Key slot, unsigned query) const {
    const unsigned place = query > first ? query - first : 0;
    return place >> PLACE_BITS ? slot + 1 << PLACE_BITS + below() : (slot << PLACE_BITS | place) << below();
  }
  // By query place (30 bits with the flip), then by falling place of the target.
  __device__ Key order(Key key) const {
    const Key place_and_flip = key >> (exact ? 1 + SLOT_BITS : 1) & (1ull << PLACE_BITS + FLIP_BITS) - 1;
    return place_and_flip << 32 | (unsigned)~target(key);
  }
};

// The first of keys[at..count) that is not below `bound`; keys[at] is.
__device__ inline unsigned seek(const Key* keys, unsigned at, unsigned count, Key bound) {
  unsigned step = 1;
  for (; step < count - at && keys[at + step] < bound; step *= 2) at += step;
  unsigned end = min(step, count - at) + at;  // not below, or the end
  while (end - at > 1) {
    const unsigned middle = at + (end - at) / 2;
    if (keys[middle] < bound)
      at = middle;
    else
      end = middle;
  }
  return end;
}
