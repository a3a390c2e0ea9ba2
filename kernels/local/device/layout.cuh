// Where a team keeps what the way back needs: of each lane, every step, what leaves its last row, and every COLUMNS steps all of its rows.
#pragma once
#include "local/device/cells.cuh"

constexpr int COLUMNS = LOCAL_COLUMNS;

struct Layout {
  int steps, checks;
  long long rows, columns;
};

__device__ __forceinline__ int steps_of(int longest) { return (longest + TEAM - 1 + 3) & ~3; }

__device__ __forceinline__ Layout layout_of(int longest, int strips, long long start) {
  Layout layout;
  layout.steps = steps_of(longest);
  layout.checks = (layout.steps + COLUMNS - 1) / COLUMNS;
  layout.rows = start;
  layout.columns = start + (long long)strips * layout.steps * TEAM;
  return layout;
}
