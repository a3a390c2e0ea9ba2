// What is kept of sweeps: chains of records, shared by all sweeps that come to the same state.
//
// A record is the live row of a y-drop sweep (LASTZ's rule) at a checkpoint, and what the rows from there to the next one bring. What follows from a live
// row does not depend on how it was reached: a sweep that finds its row among the records goes no further, and both have one continuation. Checkpoints lie at
// the same target places for all, and values are kept relative to the line below which cells are dead, so that extensions of anchors on one alignment meet
// within some hundred rows.
//
// Pool: units of UNIT words. A record takes its header, first and one past the last column looked at of every row, and a word a column: C and D, 16 bits each,
// above the line and raised by EXTENSION_BIAS, one more than the largest score; 0 is dead. Columns count from the first one of the live row.
#pragma once

#ifndef EXTENSION_ROWS
#define EXTENSION_ROWS 64
#endif

typedef long long Wide;

constexpr int ROWS = EXTENSION_ROWS;  // between checkpoints
constexpr int UNIT = 32;
constexpr unsigned NONE = 0, OPEN = 1, FIRST_UNIT = 2;  // for `next`: the sweep ends in these rows; it has not been this far
constexpr int FITS = 0, WIDE = 1, TOO_WIDE = 2;  // too wide for a warp's window, for a block's
constexpr int UNTRIED = 0, PROVEN = 1, FAILED = 2;  // that nothing from here on reaches the best value (inspection/tail.cuh)

struct Record {
  Wide target, query, stop;  // places of the next target letter, of the query letter of the first column, and the target place beyond the last one
  int onward, fresh;         // 1 or -1; whether this is row 0 of a side
  int width;                 // columns of the live row
  unsigned next;
  int rows, gain;                    // rows swept from here, at most ROWS; by how much the best value grew
  int best_row, best_column;         // where it is; row 0: not in these rows
  int border, border_row, border_column;  // best cell of the last row or column relative to the best value here (untrimmed ends); row 0: none
  int widest, cells, shift;          // one past the last column looked at; cells looked at; first column of the next record
  int fit, marked;                   // FITS, WIDE or TOO_WIDE; the epoch in which it was last listed
  unsigned trace;                    // units into the trace
  int quiet;                         // rows since the best value
  int tail, tail_rows, tail_columns; // what is known of its tail; PROVEN: rows and columns, from its own on, that it may look at
  int patience;                      // records until a tail is worth a trial
  int unused[4];
};
static_assert(sizeof(Record) == 4 * UNIT, "a record's header is a unit");

struct Pool {
  unsigned* words;
  unsigned long long* head;      // units taken
  unsigned long long capacity;   // units there are
  unsigned long long* table;     // states by their hash: hash << 32 | record
  unsigned long long slots;      // a power of two
  int* full;                     // set where a record found no room
};

__device__ __forceinline__ Record* record_at(const Pool& pool, unsigned id) { return (Record*)(pool.words + (unsigned long long)id * UNIT); }
__device__ __forceinline__ int2* ranges_of(const Pool& pool, unsigned id) { return (int2*)(pool.words + (unsigned long long)id * UNIT + UNIT); }
__device__ __forceinline__ unsigned* cells_of(const Pool& pool, unsigned id) { return pool.words + (unsigned long long)id * UNIT + UNIT + 2 * ROWS; }
__device__ __forceinline__ int record_units(int cells) { return (UNIT + 2 * ROWS + cells + UNIT - 1) / UNIT; }

__device__ __forceinline__ Wide rows_left(const Record& record) { return record.onward > 0 ? record.stop - record.target : record.target - record.stop; }
// Columns beyond the first one.
__device__ __forceinline__ Wide columns_left(const Record& record, Wide query_length) {
  return record.onward > 0 ? query_length - 1 - record.query : record.query;
}

// Whether a proof that nothing more comes is worth a trial: after so many rows without a best value.
__device__ __forceinline__ bool in_tail(const Record& record, int quiet) { return record.quiet >= quiet && record.patience == 0; }

// Rows to the next checkpoint: its target place is a multiple of ROWS, or for the other direction one less.
__device__ __forceinline__ int rows_to_checkpoint(const Record& record) {
  const int at = (int)(record.target % ROWS);
  const Wide rows = record.onward > 0 ? ROWS - at : at + 1, left = rows_left(record);
  return (int)(left < rows ? left : rows);
}

// The place of a new record of so many columns, or NONE.
__device__ __forceinline__ unsigned take(const Pool& pool, int cells) {
  const unsigned long long units = record_units(cells), place = atomicAdd(pool.head, units);
  if (place + units > pool.capacity) {
    *pool.full = 1;
    return NONE;
  }
  return (unsigned)place;
}

__device__ __forceinline__ unsigned mixed(unsigned value, unsigned salt) {
  value = value * 0x9E3779B1u + salt * 0x85EBCA77u;
  value ^= value >> 15;
  value *= 0x2C1B3C6Du;
  return value ^ value >> 12;
}
