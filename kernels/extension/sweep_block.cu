// Sweeps of gapped extension by records, with a block each.
#include "extension/chain.cuh"
#include "extension/side.cuh"

// The same with a block a sweep: wider windows.
extern "C" __global__ void __launch_bounds__(32 * BLOCK_WARPS)
    extension_sweep_block(const Memory* memory, const unsigned* jobs, int count, int most, int* next) {
  __shared__ int scores[SCORES];
  __shared__ unsigned live[BLOCK_WINDOW];
  __shared__ Board board;
  __shared__ unsigned long long shared;
  load_scores(memory->genome, scores);
  while (true) {
    const int job = next_job(next, threadIdx.x, &shared, false);
    if (job >= count) return;
    unsigned id = jobs[job];
    load_live<BLOCK_WARPS>(memory->pool, id, live);
    for (int i = 0; i < most && id != NONE; i++) id = advance<BLOCK_WARPS>(memory->pool, memory->genome, scores, id, board, live, &shared);
  }
}

// The record in which a side may have to stop, with its own count of cells.
extern "C" __global__ void __launch_bounds__(32 * BLOCK_WARPS) extension_cut(const Memory* memory, Side* sides, const int* which, int count, Wide room) {
  __shared__ int scores[SCORES];
  __shared__ unsigned live[BLOCK_WINDOW];
  __shared__ Board board;
  load_scores(memory->genome, scores);
  for (int job = blockIdx.x; job < count; job += gridDim.x) {
    Side& mine = sides[which[job]];
    Side side = mine;
    const unsigned id = (unsigned)side.record;
    const Record& record = *record_at(memory->pool, id);
    load_live<BLOCK_WARPS>(memory->pool, id, live);
    Start start = start_of(record, memory->genome.query_length);
    start.room = (int)(room - side.cells < (1 << 30) ? room - side.cells : 1 << 30);
    const Swept swept = sweep<BLOCK_WARPS>(start, memory->genome, scores, board, live, nullptr);
    side.passed++;
    add_rows(side, swept.rows, swept.best - EXTENSION_YDROP, swept.best_row, swept.best_column, swept.border, swept.border_row, swept.border_column,
             swept.widest, swept.cells);
    side.row += swept.rows;
    side.state = PENDING;
    if (swept.outcome == CUT) {
      side.cut = 1;
      side.state = DONE;
    } else if (record.next == NONE) {
      side.state = DONE;
    } else {
      side.column += record.shift;
      side.record = record.next;
    }
    __syncthreads();
    if (threadIdx.x == 0) mine = side;
  }
}
