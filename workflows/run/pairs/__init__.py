"""Run over pairs: partition, then align."""
