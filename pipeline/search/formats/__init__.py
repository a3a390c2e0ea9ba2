"""Write hits: BLAST tabular, SAM, TSV; PAF is that of pairs."""
