// Ends of alignments.
#pragma once

// The place of the best end: the highest score, then the smallest target end, then the smallest query end (or lane).
struct End {
  int score, column, place;
  __device__ __forceinline__ void meet(int other_score, int other_column, int other_place) {
    if (other_score > score || (other_score == score && (other_column < column || (other_column == column && other_place < place))))
      score = other_score, column = other_column, place = other_place;
  }
};
