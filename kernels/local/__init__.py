"""Align pairs by scores: local, with free ends, global, or as an extension; the face is pairs.py."""
