"""Run commands as jobs of Slurm's, by the profile of a site."""
