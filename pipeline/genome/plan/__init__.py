"""Plan a genome run: jobs, units, tiles; the manifest and the parts that say what is done."""
