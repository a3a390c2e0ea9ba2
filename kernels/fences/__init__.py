"""What kept alignments leave of the rows of a later extension: its fences, and masks."""
