"""Stages of runs: functions from files and Arrow tables to files and Arrow tables, on the device they are given (device.py). No Dask, no command line."""
