"""Dot plots: alignments of a run, or of a file that any tool wrote, as straight lines between places of two genomes."""
