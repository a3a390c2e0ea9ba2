// Which form of the kernel each pair takes (forms.py), and what it is sorted by among the pairs of its form.

constexpr int KINDS = 32;

// heights: rows of the strips of each kind of form, rising; `all` kinds, of which `plain` are for pairs that need no table, the others for those that do: those
// whose target has codes of four or more, or all. A pair is of the first kind that holds its query, or of the last. keys: kind, then strips, then target's
// length. counts: pairs of each kind; tallest: letters of the longest query of each.
extern "C" __global__ void keys_of_pairs(const int* n, const int* m, const bool* others, int all_tabled, int count, const int* heights, int plain, int all,
                                         long long* keys, int* counts, int* tallest) {
  __shared__ int here[KINDS], highest[KINDS];
  if (threadIdx.x < all) here[threadIdx.x] = highest[threadIdx.x] = 0;
  __syncthreads();
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += (long long)gridDim.x * blockDim.x) {
    const bool tabled = all_tabled || others[i];
    const int last = tabled ? all - 1 : plain - 1;
    int kind = tabled ? plain : 0;
    while (kind < last && heights[kind] < n[i]) kind++;
    // Teams of a warp, and pairs of a team, take as many strips as the one that takes most.
    keys[i] = (long long)kind << 54 | (long long)(n[i] / heights[kind]) << 28 | m[i];
    atomicAdd(&here[kind], 1);
    if (highest[kind] < n[i]) atomicMax(&highest[kind], n[i]);
  }
  __syncthreads();
  if (threadIdx.x < all && here[threadIdx.x]) {
    atomicAdd(&counts[threadIdx.x], here[threadIdx.x]);
    atomicMax(&tallest[threadIdx.x], highest[threadIdx.x]);
  }
}
