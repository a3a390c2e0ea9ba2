"""Compute on one device: arrays in, arrays out. No Arrow, no files, no Dask."""
