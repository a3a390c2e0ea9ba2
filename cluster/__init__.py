"""Where workers come from and how tasks reach them. Knows Dask, knows nothing of alignment."""
