"""A server of warm processes for `tidalign-lastz`, and what its callers need of it, which loads next to nothing."""
