"""Align pairs by an aligner (aligner.py): read, pack, partition, align, results."""
