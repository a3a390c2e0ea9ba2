// The shape of a thread's strips.
#pragma once
#include "inspection/halves.cuh"

// Set by the launcher:
//   INSPECTION_WORDS   words of columns that a thread holds: it sweeps strips of twice as many columns
//   INSPECTION_BLOCKS  blocks that share a multiprocessor
constexpr int WORDS = INSPECTION_WORDS;
constexpr int STRIP = 2 * WORDS;
