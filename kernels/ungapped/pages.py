"""Size the pages in which the record of diagonals is held: most diagonals of two genomes have no hit."""

PAGE_BITS = 12
PAGE = 1 << PAGE_BITS
"""Records that are made together, when one of them is first needed."""
