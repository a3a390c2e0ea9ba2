"""The stages of the alignment of two sequences in memory: `seeds`, `hsps`, `anchors`, `extend`."""

from tidalign.workflows.stages import anchors, extend, hsps, seeds

__all__ = ["anchors", "extend", "hsps", "seeds"]
