// A record's rows swept, and the record after it: found among those there are, or new.
#pragma once
#include "extension/rows.cuh"

constexpr int PROBES = 64;
constexpr int WARP_WINDOW = 1024, BLOCK_WINDOW = 4096;  // columns at most

__device__ __forceinline__ Start start_of(const Record& record, Wide query_length) {
  const Wide columns = columns_left(record, query_length);
  const int rows = rows_to_checkpoint(record);
  return {record.target,
          record.query,
          record.onward,
          rows,
          (int)(columns < (1 << 30) ? columns : 1 << 30),
          record.width,
          record.fresh,
          1 << 30,
          rows == rows_left(record)};
}

// The live row of a record into shared memory.
template <int WARPS>
__device__ __forceinline__ void load_live(const Pool& pool, unsigned id, unsigned* live) {
  const Record& record = *record_at(pool, id);
  if (!record.fresh)
    for (int x = team_rank<WARPS>(); x < record.width; x += 32 * WARPS) live[x] = __ldcg(cells_of(pool, id) + x);
  team_sync<WARPS>();
}

// Rows of a start in the narrowest window that holds them; WIDER if none does.
template <int WARPS>
__device__ Swept sweep(const Start& start, const Genome& genome, const int* scores, Board& board, unsigned* live, int2* ranges) {
  Swept swept;
  swept.outcome = WIDER;
  const int width = start.width + start.rows + 16;
  if (WARPS == 1) {
    if (width <= 512) swept = sweep_rows<WARPS, 16, false>(start, genome, scores, board, live, ranges, nullptr);
    if (swept.outcome == WIDER && width <= 768) swept = sweep_rows<WARPS, 24, false>(start, genome, scores, board, live, ranges, nullptr);
    if (swept.outcome == WIDER && start.width <= WARP_WINDOW) swept = sweep_rows<WARPS, 32, false>(start, genome, scores, board, live, ranges, nullptr);
  } else {
    if (width <= 1024) swept = sweep_rows<WARPS, 8, false>(start, genome, scores, board, live, ranges, nullptr);
    if (swept.outcome == WIDER && width <= 2048) swept = sweep_rows<WARPS, 16, false>(start, genome, scores, board, live, ranges, nullptr);
    if (swept.outcome == WIDER && start.width <= BLOCK_WINDOW) swept = sweep_rows<WARPS, 32, false>(start, genome, scores, board, live, ranges, nullptr);
  }
  return swept;
}

// Whether a record is the state `after` with this live row; all threads of the team.
template <int WARPS>
__device__ bool same_state(const Pool& pool, unsigned id, const Record& after, const unsigned* live) {
  const Record* other = record_at(pool, id);
  bool same = __ldcg(&other->target) == after.target && __ldcg(&other->query) == after.query && __ldcg(&other->onward) == after.onward &&
              __ldcg(&other->width) == after.width && __ldcg(&other->stop) == after.stop;
  if (same)
    for (int x = team_rank<WARPS>(); x < after.width; x += 32 * WARPS) same &= __ldcg(cells_of(pool, id) + x) == live[x];
  return WARPS == 1 ? __all_sync(TEAM, same) : __syncthreads_and(same);
}

// A value of the team's first thread, for all.
template <int WARPS>
__device__ __forceinline__ unsigned long long from_first(unsigned long long value, unsigned long long* shared) {
  if (WARPS == 1) return __shfl_sync(TEAM, value, 0);
  __syncthreads();
  if (threadIdx.x == 0) *shared = value;
  __syncthreads();
  return *shared;
}

// A new record with this state, or NONE.
template <int WARPS>
__device__ unsigned make_record(const Pool& pool, const Record& after, const unsigned* live, unsigned long long* shared) {
  unsigned id = NONE;
  if (team_rank<WARPS>() == 0) id = take(pool, after.width);
  id = (unsigned)from_first<WARPS>(id, shared);
  if (id == NONE) return NONE;
  for (int x = team_rank<WARPS>(); x < after.width; x += 32 * WARPS) cells_of(pool, id)[x] = live[x];
  if (team_rank<WARPS>() == 0) *record_at(pool, id) = after;
  __threadfence();
  team_sync<WARPS>();
  return id;
}

// The record of a state: one that is there, or a new one (`made`), or NONE if the pool has no room.
template <int WARPS>
__device__ unsigned settle(const Pool& pool, const Record& after, const unsigned* live, unsigned long long* shared, bool& made) {
#ifdef EXTENSION_ALONE  // what sharing is worth (tests/benchmarks)
  made = true;
  return make_record<WARPS>(pool, after, live, shared);
#endif
  const int rank = team_rank<WARPS>();
  unsigned hash = 0, id = NONE;
#pragma unroll 4
  for (int x = rank; x < after.width; x += 32 * WARPS) hash += mixed(live[x], x);
  hash = __reduce_add_sync(TEAM, hash);
  if (WARPS > 1) {
    __syncthreads();
    if (rank == 0) *shared = 0;
    __syncthreads();
    if (rank % 32 == 0) atomicAdd(shared, hash);
    __syncthreads();
    hash = (unsigned)*shared;
  }
  unsigned long long slot = mixed(mixed(hash, (unsigned)after.target), (unsigned)after.query + (unsigned)after.onward) & (pool.slots - 1);
  for (int probe = 0; probe < PROBES; probe++) {
    unsigned long long entry = from_first<WARPS>(rank == 0 ? __ldcg(pool.table + slot) : 0, shared);
    if (entry == 0) {
      if (id == NONE && (id = make_record<WARPS>(pool, after, live, shared)) == NONE) return NONE;
      entry = from_first<WARPS>(rank == 0 ? atomicCAS(pool.table + slot, 0ull, (unsigned long long)hash << 32 | id) : 0, shared);
      made = true;
      if (entry == 0) return id;
    }
    if (entry >> 32 == hash) {
      __threadfence();
      if (same_state<WARPS>(pool, (unsigned)entry, after, live)) {
        made = false;
        return (unsigned)entry;
      }
    }
    slot = (slot + 1) & (pool.slots - 1);
  }
  made = true;  // a crowded table: others do not learn of it
  return id != NONE ? id : make_record<WARPS>(pool, after, live, shared);
}

// Sweeps a record's rows and notes what they bring. Returns the record to go on with, or NONE: the sweep ends there, or others have been there, or it must
// wait.
template <int WARPS>
__device__ unsigned advance(const Pool& pool, const Genome& genome, const int* scores, unsigned id, Board& board, unsigned* live, unsigned long long* shared) {
  Record& record = *record_at(pool, id);
  const Record before = record;
  const Start start = start_of(before, genome.query_length);
  const Swept swept = sweep<WARPS>(start, genome, scores, board, live, ranges_of(pool, id));
  if (swept.outcome == WIDER) {
    if (team_rank<WARPS>() == 0) record.fit = WARPS == 1 ? WIDE : TOO_WIDE;
    return NONE;
  }
  unsigned next = NONE;
  bool made = false;
  if (swept.outcome == ALIVE && swept.rows < rows_left(before)) {
    Record after = {};
    after.target = before.target + (Wide)before.onward * swept.rows;
    after.query = before.query + (Wide)before.onward * swept.first;
    after.stop = before.stop;
    after.onward = before.onward;
    after.width = swept.end - swept.first;
    after.next = OPEN;
    after.fit = after.width > WARP_WINDOW ? WIDE : FITS;
    after.quiet = swept.best_row ? swept.rows - swept.best_row : before.quiet + swept.rows;
    after.patience = swept.best_row || before.patience == 0 ? 0 : before.patience - 1;
    next = settle<WARPS>(pool, after, live, shared, made);
    if (next == NONE) return NONE;  // no room: this record waits
  }
  if (team_rank<WARPS>() == 0) {
    record.rows = swept.rows;
    record.gain = swept.best - EXTENSION_YDROP;
    record.best_row = swept.best_row;
    record.best_column = swept.best_column;
    record.border = swept.border;
    record.border_row = swept.border_row;
    record.border_column = swept.border_column;
    record.widest = swept.widest;
    record.cells = swept.cells;
    record.shift = swept.first;
    record.next = next;
  }
  return made ? next : NONE;
}

// ---- what the entry points have in common

enum { WARP_TEAMS = 4 };  // sweeps of a block, a warp each
constexpr int BLOCK_WARPS = MOST_WARPS;
constexpr int SCORES = 64 * (EXTENSION_GENERAL ? 64 : 2);

struct Memory {
  Pool pool;
  Genome genome;
};

__device__ __forceinline__ void load_scores(const Genome& genome, int* scores) {
  for (int i = threadIdx.x; i < SCORES; i += blockDim.x) scores[i] = genome.scores[i];
  __syncthreads();
}

__device__ __forceinline__ int next_job(int* next, int lane, unsigned long long* shared, bool warp) {
  int job = lane == 0 ? atomicAdd(next, 1) : 0;
  return warp ? __shfl_sync(TEAM, job, 0) : (int)from_first<BLOCK_WARPS>(job, shared);
}
