"""Write alignments of genomes in LASTZ's formats, PAF, SAM, chain and Parquet."""
