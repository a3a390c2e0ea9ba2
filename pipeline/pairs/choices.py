"""Name what pairs may be asked for by any aligner. Nothing is loaded with it: command lines list it, too."""

STRANDS = ("plus", "both")
"""Of the query: as it is, or the better of it and its reverse complement."""

AMBIGUOUS = ("mismatch", "match", "error")
"""What a letter other than A, C, G and T equals: nothing, every letter, or it is refused."""
