"""Align whole genomes: reading, the stages from seeds to alignments, and what is written of them."""
