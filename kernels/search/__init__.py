"""Search of queries against a database by scores: the best of each query; the faces are best.py and best_device.py."""
