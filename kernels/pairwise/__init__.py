"""Align pairs of sequences: checks, plans and launches; the face of wavefront/ and bidirectional/."""
