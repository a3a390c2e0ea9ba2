"""Find spaced seeds: patterns, the target's index, hits in tiles of bounded size, on cores and on a GPU."""
