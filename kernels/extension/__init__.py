"""Extend one anchor by LASTZ's exact rule (y-drop, fences, ties), on cores and on a GPU."""
