"""Stages of a run over pairs: read, pack, partition, align, results."""
