"""Write alignments of pairs: PAF, SAM, TSV, Parquet."""
