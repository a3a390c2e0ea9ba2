"""Describe what alignments cost: penalties of pairs, scores of genomes."""
