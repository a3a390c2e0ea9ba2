// Traces of the records that paths go through: their rows once more, with the way back of each cell.
#include "extension/chain.cuh"
#include "extension/walk.cuh"

template <int WARPS>
__device__ void trace_record(const Memory& memory, unsigned id, const int* scores, Board& board, unsigned* live, unsigned* trace) {
  Record& record = *record_at(memory.pool, id);
  load_live<WARPS>(memory.pool, id, live);
  Start start = start_of(record, memory.genome.query_length);
  start.rows = record.rows;
  trace += (unsigned long long)record.trace * UNIT;
  const int window = window_of(record.widest);
  if (WARPS == 1) {
    if (window == 512) sweep_rows<WARPS, 16, true>(start, memory.genome, scores, board, live, nullptr, trace);
    if (window == 768) sweep_rows<WARPS, 24, true>(start, memory.genome, scores, board, live, nullptr, trace);
    if (window == 1024) sweep_rows<WARPS, 32, true>(start, memory.genome, scores, board, live, nullptr, trace);
  } else {
    if (window == 2048) sweep_rows<WARPS, 16, true>(start, memory.genome, scores, board, live, nullptr, trace);
    if (window == 4096) sweep_rows<WARPS, 32, true>(start, memory.genome, scores, board, live, nullptr, trace);
  }
  team_sync<WARPS>();
}

extern "C" __global__ void __launch_bounds__(32 * WARP_TEAMS, 3)
    extension_trace(const Memory* memory, const unsigned* records, int count, unsigned* trace, int* next) {
  __shared__ int scores[SCORES];
  __shared__ unsigned live[WARP_TEAMS][WARP_WINDOW];
  __shared__ Board board;
  load_scores(memory->genome, scores);
  while (true) {
    const int job = next_job(next, threadIdx.x % 32, nullptr, true);
    if (job >= count) return;
    trace_record<1>(*memory, records[job], scores, board, live[threadIdx.x / 32], trace);
  }
}

extern "C" __global__ void __launch_bounds__(32 * BLOCK_WARPS)
    extension_trace_block(const Memory* memory, const unsigned* records, int count, unsigned* trace, int* next) {
  __shared__ int scores[SCORES];
  __shared__ unsigned live[BLOCK_WINDOW];
  __shared__ Board board;
  __shared__ unsigned long long shared;
  load_scores(memory->genome, scores);
  while (true) {
    const int job = next_job(next, threadIdx.x, &shared, false);
    if (job >= count) return;
    trace_record<BLOCK_WARPS>(*memory, records[job], scores, board, live, trace);
  }
}
