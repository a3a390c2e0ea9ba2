// Which form of the kernel each pair takes (forms.py), and what it is sorted by among the pairs of its form.

constexpr int KINDS = 32;

// heights: rows of the strips of each kind of form, rising; `all` kinds, of which `plain` are for pairs that need no table (bool, of each pair), the others for
// those that do. A pair is of the first kind that holds its query, or of the last. keys: kind, then strips, then target's length. counts: pairs of each kind.
extern "C" __global__ void keys_of_pairs(const int* n, const int* m, const bool* table, int count, const int* heights, int plain, int all, long long* keys,
                                         int* counts) {
  __shared__ int here[KINDS];
  if (threadIdx.x < all) here[threadIdx.x] = 0;
  __syncthreads();
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += (long long)gridDim.x * blockDim.x) {
    const int last = table[i] ? all - 1 : plain - 1;
    int kind = table[i] ? plain : 0;
    while (kind < last && heights[kind] < n[i]) kind++;
    // Teams of a warp, and pairs of a team, take as many strips as the one that takes most.
    keys[i] = (long long)kind << 54 | (long long)(n[i] / heights[kind]) << 28 | m[i];
    atomicAdd(&here[kind], 1);
  }
  __syncthreads();
  if (threadIdx.x < all && here[threadIdx.x]) atomicAdd(&counts[threadIdx.x], here[threadIdx.x]);
}
