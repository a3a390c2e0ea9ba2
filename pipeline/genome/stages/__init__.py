"""Stages of one unit (a query sequence and strand against a target): seeds, HSPs, anchors, extension of each by itself, rows."""
