"""Stages: plain functions, Arrow in, Arrow out. No Dask, no CUDA, no command line."""
