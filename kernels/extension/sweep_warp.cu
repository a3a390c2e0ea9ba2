// Sweeps of gapped extension by records, with a warp each. The files of sweeps and traces are compiled side by side.
#include "extension/chain.cuh"
#if !EXTENSION_GENERAL
#include "inspection/tail.cuh"
#endif

// Sweeps on from each of `jobs`, `most` records at most, and no further than to where a proof says that nothing more comes (`quiet`: when to try; `tails`: how
// many were proven, how many not).
extern "C" __global__ void __launch_bounds__(32 * WARP_TEAMS, 3)
    extension_sweep(const Memory* memory, const unsigned* jobs, int count, int most, int quiet, unsigned long long* tails, int* next) {
  __shared__ int scores[SCORES];
  __shared__ unsigned live[WARP_TEAMS][WARP_WINDOW];
  __shared__ Board board;
  load_scores(memory->genome, scores);
  while (true) {
    const int job = next_job(next, threadIdx.x % 32, nullptr, true);
    if (job >= count) return;
    unsigned id = jobs[job];
    unsigned* const mine = live[threadIdx.x / 32];
    load_live<1>(memory->pool, id, mine);
    for (int i = 0; i < most && id != NONE; i++) {
#if !EXTENSION_GENERAL
      if (tail::proven(memory, scores, id, mine, quiet, tails)) break;
#endif
      id = advance<1>(memory->pool, memory->genome, scores, id, board, mine, nullptr);
    }
  }
}
