"""Reject anchors whose extension is sure to stay below the threshold, on cores and on a GPU (FastZ's inspector)."""
