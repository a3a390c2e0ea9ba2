"""Choose anchors from HSPs: their points, LASTZ's order, the best chain."""
