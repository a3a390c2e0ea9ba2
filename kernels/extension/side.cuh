// A side of an anchor: what its chain of records comes to, where its path goes.
#pragma once
#include "extension/record.cuh"

constexpr int PENDING = 0, DONE = 1, AT_ROOM = 2, STUCK = 3;  // sides: their chain goes on; known; may be cut in the next record; too wide

struct Side {
  Wide record, row, column;  // the next record, rows before it, column of its first one
  Wide total, end_row, end_column, border, at_border;
  Wide rows, widest, cells;  // looked at
  Wide cut, state, records, passed, unused;  // records: up to the one of the end; passed: so far
};

constexpr Wide NO_BORDER = -(1LL << 62);

// Adds what the rows of a record just passed bring. The later of best cell and border cell in the order of rows is the end.
__device__ __forceinline__ void add_rows(Side& side, int rows, int gain, int best_row, int best_column, int border, int border_row, int border_column,
                                         int widest, int cells) {
  const Wide before = side.total;
  if (best_row > 0) {
    side.total += gain;
    side.end_row = side.row + best_row;
    side.end_column = side.column + best_column;
    side.at_border = 0;
    side.records = side.passed;
  }
  if (border_row > 0 && before + border >= side.border) {
    side.border = before + border;
    if (best_row == 0 || border_row > best_row || (border_row == best_row && border_column >= best_column)) {
      side.end_row = side.row + border_row;
      side.end_column = side.column + border_column;
      side.at_border = 1;
      side.records = side.passed;
    }
  }
  side.widest = side.widest > side.column + widest ? side.widest : side.column + widest;
  side.cells += cells;
  side.rows += rows;
}
