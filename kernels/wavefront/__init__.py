"""Align pairs by wavefronts, exactly, on cores and on a GPU."""
