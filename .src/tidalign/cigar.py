"""CIGARs of rows: `expand`, `identity`, `pretty`, `md` and `cs`."""

from tidalign.pipeline.cigar import cs, expand, identity, md, operations, pretty

__all__ = ["cs", "expand", "identity", "md", "operations", "pretty"]
