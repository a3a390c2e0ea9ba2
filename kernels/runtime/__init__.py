"""Compile, keep and launch kernels on cores and GPUs: caches, vectors, memory, streams, errors."""
