"""Walk a strand's anchors in LASTZ's order, keep what stands and extend again what a fence reaches."""
