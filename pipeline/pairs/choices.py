"""Name what pairs may be asked for by any aligner. Nothing is loaded with it: command lines list it, too."""

STRANDS = ("plus", "both")
"""Name what of the query is aligned: it as it is, or the better of it and its reverse complement."""

AMBIGUOUS = ("mismatch", "match", "error")
"""Say what a letter other than A, C, G and T equals: nothing, every letter, or it is refused."""

MAX_FREE = 2**31 - 1
"""Letters that may be free at an end: more than any sequence has."""
