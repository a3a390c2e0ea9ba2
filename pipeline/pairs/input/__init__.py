"""Read pairs: FASTA, FASTQ, .seq, Parquet and Arrow, in blocks or as a stream."""
