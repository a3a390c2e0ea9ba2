"""Align long pairs from both ends at once, in memory that does not grow with the penalty (BiWFA), on cores and on a GPU."""
