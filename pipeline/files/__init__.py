"""Open files as they come: kinds told by their first bytes, gzip and bgzip unpacked."""
