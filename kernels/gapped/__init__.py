"""Extend anchors with gaps: inspect, reject, extend and trace, on cores and on a GPU; the face of inspection/ and extension/."""
