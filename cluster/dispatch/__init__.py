"""Dispatch tasks to workers of Dask: whose turn it is, who has what, and what becomes of it."""
