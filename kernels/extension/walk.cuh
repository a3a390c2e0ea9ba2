// The way back from a side's end: a warp a side looks at 32 cells of the trace at a time, along the diagonal or a gap. Sides with the same end go the same way
// through the records they share: one of them, the lead, goes all of it and notes where it stood; the others go on from there.
#pragma once
#include "extension/cells.cuh"
#include "extension/rows.cuh"

constexpr int PAIR = 0, ALONG = 1, DOWN = 2;

// Columns of the window that a record's trace is made in, and of each of its threads: of a warp up to 1,024, else of a block.
__device__ __forceinline__ int window_of(int widest) {
  return widest <= 512 ? 512 : widest <= 768 ? 768 : widest <= 1024 ? 1024 : widest <= 2048 ? 2048 : 4096;
}

__device__ __forceinline__ int columns_of(int window) { return window <= 1024 ? window / 32 : window / (32 * MOST_WARPS); }

// Runs from the end to the anchor, op | length << 2, the last one under way.
struct Runs {
  unsigned* out;
  Wide room, count;
  int operation;
  Wide length;
};

__device__ __forceinline__ void add_run(Runs& runs, int operation, Wide length, int lane) {
  if (length == 0) return;
  if (operation == runs.operation) {
    runs.length += length;
    return;
  }
  if (runs.operation >= 0) {
    if (lane == 0 && runs.count < runs.room) runs.out[runs.count] = (unsigned)(runs.length << 2 | runs.operation);
    runs.count++;
  }
  runs.operation = operation;
  runs.length = length;
}

// Where a lead leaves a record by its row 0: runs that are over, the one under way, the column.
struct Note {
  int count, operation, length, column;
};

// path: records from the first to the one where the walk begins, at this row and column of it; a row of 0 is the last row of it, its column that of the record
// beyond. notes: one for each record, or null. Returns the number of runs, or -1 if the trace leads nowhere.
__device__ Wide walk(const Pool& pool, const unsigned* trace, const unsigned* path, Wide records, int r, int x, Runs runs, Note* notes) {
  const int lane = threadIdx.x & 31;
  for (Wide i = records - 1; i >= 0; i--) {
    const Record& record = *record_at(pool, path[i]);
    if (r == 0) {
      r = record.rows;
      x += record.shift;
    }
    const unsigned* cells = trace + (unsigned long long)record.trace * UNIT;
    const int window = window_of(record.widest), columns = columns_of(window);
    while (r > 0) {
      const int down = runs.operation == ALONG ? 0 : lane, along = runs.operation == DOWN ? 0 : lane;
      const int row = r - down, column = x - along;
      const bool inside = row > 0 && column >= 0;
      const int cell = inside ? read_cell(cells + (row - 1) * (window / 8), column, columns) : 0;
      const int stops = runs.operation == ALONG ? OPENED_ACROSS : runs.operation == DOWN ? OPENED_DOWN : GAP;
      const unsigned stopping = __ballot_sync(0xFFFFFFFFu, !inside || (cell & stops));
      const int steps = stopping ? __ffs(stopping) - 1 : 32, at = __shfl_sync(0xFFFFFFFFu, inside ? cell : -1, steps & 31);
      const int operation = runs.operation < 0 ? PAIR : runs.operation;
      add_run(runs, operation, steps, lane);
      if (operation != ALONG) r -= steps;
      if (operation != DOWN) x -= steps;
      if (steps == 32 || (at < 0 && steps > 0)) continue;
      if (at < 0) return -1;
      // A gap ends at the cell where it was opened; a diagonal run at one that a gap leads to.
      const int turned = at & GAP ? (at & ACROSS ? ALONG : DOWN) : PAIR;
      add_run(runs, turned, 1, lane);
      if (turned != ALONG) r--;
      if (turned != DOWN) x--;
    }
    if (notes && lane == 0) notes[i] = {(int)runs.count, runs.operation, (int)runs.length, x};
  }
  add_run(runs, ALONG, x, lane);  // row 0
  add_run(runs, -2, 1, lane);
  return runs.count;
}
