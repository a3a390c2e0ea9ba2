"""Search queries in a database: what is packed, what is found, how good it is, what is written."""
