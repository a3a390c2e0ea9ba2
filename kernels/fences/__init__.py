"""Hold kept alignments, and follow what they leave of the rows of a later extension: its fences, and masks."""
