"""Name what alignment by scores may be asked for. Nothing is loaded with it: command lines list it, too."""

SEARCH_SPANS = ("local", "query", "target", "overlap", "global")
SPANS = (*SEARCH_SPANS, "extension")
"""What of both sequences must be aligned (pairs.py), in a search and of pairs."""

REPORTS = ("score", "ends", "cigar")
