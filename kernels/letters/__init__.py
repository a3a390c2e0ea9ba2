"""Hold letters as the kernels take them: codes, flat arrays, 2-bit packed, on the host and on a GPU."""
