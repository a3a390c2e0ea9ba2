"""Keep a run on disk so that nothing is lost: files whole or absent, claims, a lock, ranges of rows that are done."""
