"""Turn bytes of text into numbers and alignments into text: line ends, letters, CIGARs."""
