// Entry points of gapped extension beside sweeps and traces: where sides begin, what their chains of records come to, the paths through these.
#include "extension/chain.cuh"
#include "extension/side.cuh"
#include "extension/walk.cuh"

struct Place {
  Wide target, query, stop, onward;  // the first target letter, the query letter before the first one, the target place beyond the last letter
};

// Row 0 of every side, records from unit `first` on.
extern "C" __global__ void extension_begin(const Memory* memory, const Place* places, int count, unsigned first, Side* sides) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  Record record = {};
  record.target = places[i].target;
  record.query = places[i].query;
  record.stop = places[i].stop;
  record.onward = (int)places[i].onward;
  record.fresh = 1;
  record.next = OPEN;
  const Wide columns = columns_left(record, memory->genome.query_length);
  const Wide reach = EXTENSION_YDROP < EXTENSION_OPENED ? 1 : (EXTENSION_YDROP - EXTENSION_OPENED) / EXTENSION_EXTENDED + 2;
  record.width = (int)(columns < reach ? columns : reach) + 1;
  record.widest = record.width;
  record.fit = record.width > WARP_WINDOW ? WIDE : FITS;
  const unsigned id = first + i * record_units(0);
  Side side = {};
  side.border = NO_BORDER;
  if (columns > 0 && rows_left(record) > 0) {
    *record_at(memory->pool, id) = record;
    side.record = id;
    side.widest = side.cells = record.width;
    side.state = PENDING;
  } else {
    side.state = DONE;
  }
  sides[i] = side;
}

// Sides along their chains as far as those go. room: cells a side may look at. Listed, with how many in `counts`: records to sweep on from with a warp or a
// block, each once in an epoch, and sides that may have to stop in their next record. quiet: rows without a best value after which a proof is believed that
// nothing more comes.
extern "C" __global__ void extension_follow(const Memory* memory, Side* sides, int count, Wide room, int epoch, int quiet, unsigned* jobs, unsigned* wide_jobs,
                                            int* cuts, unsigned long long* counts) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count || sides[i].state != PENDING) return;
  Side side = sides[i];
  while (true) {
    Record& record = *record_at(memory->pool, (unsigned)side.record);
    if (record.next == OPEN) {
      const Wide cells = (record.tail_rows + 1LL) * record.tail_columns;
      if (in_tail(record, quiet) && record.tail == PROVEN && side.cells + cells + EXTENSION_SPARE < room) {
        side.rows += record.tail_rows;
        side.widest = side.widest > side.column + record.tail_columns ? side.widest : side.column + record.tail_columns;
        side.cells += cells;
        side.state = DONE;
      } else if (record.fit == TOO_WIDE)
        side.state = STUCK;
      else if (atomicExch(&record.marked, epoch) == epoch)
        ;
      else if (record.fit == WIDE)
        wide_jobs[atomicAdd(counts + 1, 1ull)] = (unsigned)side.record;
      else
        jobs[atomicAdd(counts, 1ull)] = (unsigned)side.record;
      break;
    }
    if (side.cells + record.cells + record.widest + EXTENSION_SPARE >= room) {
      side.state = AT_ROOM;
      cuts[atomicAdd(counts + 2, 1ull)] = i;
      break;
    }
    side.passed++;
    add_rows(side, record.rows, record.gain, record.best_row, record.best_column, record.border, record.border_row, record.border_column, record.widest,
             record.cells);
    side.row += record.rows;
    if (record.next == NONE) {
      side.state = DONE;
      break;
    }
    side.column += record.shift;
    side.record = record.next;
  }
  sides[i] = side;
}

// Records of the paths of sides `which`: paths[offsets[i]..), and the end in the last of them; those not marked in this epoch before, with room for their
// trace. counts: records that a warp traces, records that a block traces, units of trace.
extern "C" __global__ void extension_paths(const Memory* memory, const Side* sides, const unsigned* starts, const int* which, int count, const Wide* offsets,
                                           int epoch, unsigned* paths, int2* ends, unsigned* traced, unsigned* traced_by_blocks, unsigned long long* counts) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Side& side = sides[which[i]];
  unsigned id = starts[which[i]];
  Wide row = 0, column = 0;
  for (Wide j = 0; j < side.records; j++) {
    Record& record = *record_at(memory->pool, id);
    paths[offsets[i] + j] = id;
    if (atomicExch(&record.marked, epoch) != epoch) {
      const int window = window_of(record.widest);
      record.trace = (unsigned)atomicAdd(counts + 2, (unsigned long long)((window / 8 * record.rows + UNIT - 1) / UNIT));
      if (window <= 1024)
        traced[atomicAdd(counts, 1ull)] = id;
      else
        traced_by_blocks[atomicAdd(counts + 1, 1ull)] = id;
    }
    if (j == side.records - 1) {
      ends[i] = make_int2((int)(side.end_row - row), (int)(side.end_column - column));
    } else {
      row += record.rows;
      column += record.shift;
      id = record.next;
    }
  }
}

// Where sides leave the way of their leads, which have the same end (their own lead: not at all). Paths that meet stay together, so the records they share are
// the last ones. own: how many come before those; meets: the lead's note to go on from, of those from note_places[lead] on, or -1.
extern "C" __global__ void extension_meet(const unsigned* paths, const Wide* offsets, const int* leads, const Wide* note_places, int count, Wide* own,
                                          Wide* meets) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const int lead = leads[i];
  const Wide records = offsets[i + 1] - offsets[i], others = offsets[lead + 1] - offsets[lead];
  Wide shared = 0, beyond = (records < others ? records : others) + 1;
  if (lead != i) {
    while (beyond - shared > 1) {
      const Wide middle = (shared + beyond) / 2;
      if (paths[offsets[i + 1] - middle] == paths[offsets[lead + 1] - middle])
        shared = middle;
      else
        beyond = middle;
    }
  }
  own[i] = records - shared;
  meets[i] = lead == i ? -1 : note_places[lead] + others - shared;
}

// Runs of `count` sides' own part of the path into runs[places[i]..places[i + 1]), their number to counts: more than there is room for where it was too little.
// before: how many of the lead's runs come before them.
extern "C" __global__ void extension_walk(const Memory* memory, const unsigned* trace, const unsigned* paths, const Wide* offsets, const int2* ends,
                                          const int* sides, int count, const Wide* own, const Wide* meets, const Wide* note_places, Note* notes,
                                          const Wide* places, unsigned* runs, Wide* counts, Wide* before, int* next) {
  const int lane = threadIdx.x % 32;
  while (true) {
    const int job = next_job(next, lane, nullptr, true);
    if (job >= count) return;
    const int i = sides[job];
    const bool leads = meets[i] < 0;
    const Note from = leads ? Note{0, -1, 0, ends[i].y} : notes[meets[i]];
    const Runs begun = {runs + places[i], places[i + 1] - places[i], 0, from.operation, from.length};
    Note* mine = leads && note_places[i] >= 0 ? notes + note_places[i] : nullptr;
    const Wide found = walk(memory->pool, trace, paths + offsets[i], own[i], leads ? ends[i].x : 0, from.column, begun, mine);
    if (lane == 0) counts[i] = found, before[i] = from.count;
  }
}

// Runs without the room between them.
extern "C" __global__ void extension_pack(const unsigned* runs, const Wide* places, const Wide* packed_places, int count, unsigned* packed) {
  for (int i = blockIdx.x; i < count; i += gridDim.x)
    for (Wide j = threadIdx.x; j < packed_places[i + 1] - packed_places[i]; j += blockDim.x) packed[packed_places[i] + j] = runs[places[i] + j];
}

// Columns looked at in the rows of sides `which`: a side's, int32 pairs, from offsets[i] on.
extern "C" __global__ void extension_ranges(const Memory* memory, const Side* sides, const unsigned* starts, const int* which, int count, const Wide* offsets,
                                            int2* ranges, int* next) {
  const int lane = threadIdx.x % 32;
  while (true) {
    const int i = next_job(next, lane, nullptr, true);
    if (i >= count) return;
    unsigned id = starts[which[i]];
    Wide column = 0;
    int2* out = ranges + offsets[i];
    for (Wide left = offsets[i + 1] - offsets[i]; left > 0;) {
      const Record& record = *record_at(memory->pool, id);
      const int rows = record.rows < left ? record.rows : (int)left;
      for (int r = lane; r < rows; r += 32) {
        const int2 range = ranges_of(memory->pool, id)[r];
        out[r] = make_int2(range.x + (int)column, range.y + (int)column);
      }
      out += rows;
      left -= rows;
      column += record.shift;
      id = record.next;
    }
  }
}
