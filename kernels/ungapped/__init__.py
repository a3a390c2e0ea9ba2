"""Extend seed hits without gaps to HSPs (x-drop, LASTZ's record of diagonals), on cores and on a GPU."""
