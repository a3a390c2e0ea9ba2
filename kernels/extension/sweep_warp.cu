// Sweeps of gapped extension by records, with a warp each. The files of sweeps and traces are compiled side by side.
#include "extension/chain.cuh"

// Sweeps on from each of `jobs`, `most` records at most, no further than to where a tail may be tried (`quiet`: in_tail).
extern "C" __global__ void __launch_bounds__(32 * WARP_TEAMS, 3) extension_sweep(const Memory* memory, const unsigned* jobs, int count, int most, int quiet, int* next) {
  __shared__ int scores[SCORES];
  __shared__ unsigned live[WARP_TEAMS][WARP_WINDOW];
  __shared__ Board board;
  load_scores(memory->genome, scores);
  while (true) {
    const int job = next_job(next, threadIdx.x % 32, nullptr, true);
    if (job >= count) return;
    unsigned id = jobs[job];
    load_live<1>(memory->pool, id, live[threadIdx.x / 32]);
    for (int i = 0; i < most && id != NONE; i++) id = advance<1>(memory->pool, memory->genome, scores, id, board, live[threadIdx.x / 32], nullptr, quiet);
  }
}
