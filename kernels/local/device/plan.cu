// What extensions do next (extensions.py): in what bands pairs are extended, which form of the kernel takes each, what is known of each then, and which go on.
// `rows` are the pairs that are left (nothing: all). Bands, losses and `enough` are by their places among these.

// The first kind of form whose teams have one pair each: of each shape, by the letters of its longest query, without a table and with. Teams of the two kinds
// before it have two pairs, of short queries and of others.
constexpr int ALONE = 2;

__device__ long long row_of(const long long* rows, long long i) { return rows ? rows[i] : i; }

// The band that is enough for a loss (extensions.py): one of so many gap pieces, each with the cost of opening it and of a letter.
__device__ long long enough_for(int loss, int most, int pieces, int opened1, int more1, int opened2, int more2) {
  long long band = 0;
  for (int piece = 0; piece < pieces; piece++) {
    const long long slope = most + 2ll * (piece ? more2 : more1), above = loss - 2ll * (piece ? opened2 : opened1);
    if (slope == 0) return 1ll << 28;
    if (above >= 0) band = max(band, above / slope + 1);
  }
  return band;
}

// Which pairs' scores fit. most: what two letters score at best; dearest: what a letter of a gap costs at most; costs: twice the sum of all costs.
extern "C" __global__ void pairs_possible(const int* n, const int* m, int count, long long most_score, long long most_letters, int most, int dearest,
                                          long long costs, bool* possible) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += (long long)gridDim.x * blockDim.x) {
    const long long letters = (long long)n[i] + m[i];
    possible[i] = (long long)most * min(n[i], m[i]) < most_score && letters * dearest + costs < most_score && letters * max(1, most) < most_letters;
  }
}

// The first bands of all pairs, of so many diagonals a letter of the shorter sequence and some more, and how wide they end; narrows: less than they begin.
extern "C" __global__ void bands_begun(const int* n, const int* m, int count, double share, int least, int narrows, int tail, int* bands, int* tails) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += (long long)gridDim.x * blockDim.x) {
    const int shorter = min(n[i], m[i]), widest = max(n[i], m[i]), band = (int)min(shorter * share, 1e9) + least;
    bands[i] = 2ll * band > shorter ? widest : band;
    tails[i] = narrows && bands[i] < widest ? bands[i] / 8 + tail : bands[i];
  }
}

// Places of pairs whose bands are narrower than the limit of all, and of the others.
extern "C" __global__ void bands_within(const int* bands, int count, int limit, long long* narrower, long long* wider, int* counts) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += (long long)gridDim.x * blockDim.x) {
    const bool wide = bands[i] >= limit;
    (wide ? wider : narrower)[atomicAdd(&counts[wide], 1)] = i;
  }
}

// What pairs are sorted by: their kind, and the cells of their bands, most first. picks: the places of these pairs (nothing: all). limit: the band of all, or
// -1. all_tabled: whether all need a table, or those with codes of four or more. paired: letters of the shortest query that has a team with another, or -1, and
// low: of the longest short one. heights: letters of the longest query of each shape but the last.
extern "C" __global__ void keys_of_extensions(const long long* picks, const long long* rows, int count, const int* n, const int* m, const bool* others,
                                              const int* bands, int limit, int all_tabled, int paired, int low, int height1, int height2, int scale,
                                              long long* keys, int* counts) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += (long long)gridDim.x * blockDim.x) {
    const long long place = picks ? picks[i] : i, row = row_of(rows, place), band = limit >= 0 ? limit : bands[place];
    const bool tabled = all_tabled || others[row];
    int kind = ALONE + 2 * ((n[row] > height1) + (n[row] > height2)) + tabled;
    if (!tabled && paired >= 0 && n[row] >= paired) kind = n[row] > low;
    const long long work = (n[row] + 1ll) * min((long long)m[row], 2 * band + scale);
    keys[i] = (long long)kind << 58 | ((1ll << 58) - 1 - work);
    atomicAdd(&counts[kind], 1);
  }
}

// The pairs of a launch, by their order among the picks: their places, rows and bands.
extern "C" __global__ void extensions_taken(const long long* order, int count, const long long* picks, const long long* rows, const int* bands,
                                            const int* tails, int limit, long long* out_places, long long* out_rows, int* out_bands, int* out_tails) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += (long long)gridDim.x * blockDim.x) {
    const long long place = picks ? picks[order[i]] : order[i];
    out_places[i] = place, out_rows[i] = row_of(rows, place);
    out_bands[i] = limit >= 0 ? limit : bands[place], out_tails[i] = limit >= 0 ? limit : tails[place];
  }
}

// What a launch has found, scores, query ends, target ends and losses, to the rows of `total` and the places of its pairs; and those of which it was not sure
// (nothing: of all it was). Of a band that all have (limit, -1: none) one is enough within it, or if no path leaves that, or all of it was made (masked).
extern "C" __global__ void extensions_placed(const long long* places, const long long* rows, int count, const int* n, const int* m, const int* each,
                                             const bool* enough, const bool* sure, int limit, int masked, int most, int pieces, int opened1, int more1,
                                             int opened2, int more2, long long total, int* found, int* losses, bool* out_enough, long long* unsure, int* left) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += (long long)gridDim.x * blockDim.x) {
    const long long place = places[i], row = rows[i];
    for (int k = 0; k < 3; k++) found[k * total + row] = each[k * (long long)count + i];
    const int loss = each[3ll * count + i];
    losses[place] = loss;
    const bool inside = limit < 0 || masked || max(n[i], m[i]) <= limit || enough_for(loss, most, pieces, opened1, more1, opened2, more2) <= limit + 1;
    out_enough[place] = enough[i] && inside;
    if (sure && !sure[i]) unsure[atomicAdd(left, 1)] = place;
  }
}

// Which pairs go on, in what bands: all of the matrix if that is little more, or if all (whole).
extern "C" __global__ void extensions_again(const long long* rows, int count, const int* n, const int* m, const int* losses, const bool* enough, int whole,
                                            int most, int pieces, int opened1, int more1, int opened2, int more2, long long* out_rows, int* bands, int* left) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += (long long)gridDim.x * blockDim.x) {
    if (enough[i]) continue;
    const long long row = row_of(rows, i);
    long long needed = enough_for(losses[i], most, pieces, opened1, more1, opened2, more2);
    needed += needed / 16 + 8;
    const int place = atomicAdd(left, 1);
    out_rows[place] = row, bands[place] = whole || 2 * needed > min(n[row], m[row]) ? max(n[row], m[row]) : (int)needed;
  }
}
