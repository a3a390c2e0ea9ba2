"""Run a search: pack both sides, then search ranges of queries in slices of the database."""
