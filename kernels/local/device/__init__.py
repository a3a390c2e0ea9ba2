"""Alignment by scores on a CUDA device: launches of its kernels; `pairs_device.py` and `uploaded.py` above are what callers import."""
