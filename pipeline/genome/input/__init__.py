"""Read genomes and what goes with them: FASTA, 2bit, LASTZ's file actions, score and segment files."""
