"""Draws dot plots: as SVG, as a picture by matplotlib, as a page to look around in by bokeh."""
