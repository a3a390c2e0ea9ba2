"""Run over genomes: read, then seed, extend and gather tile by tile."""
