"""Run on Slurm: the nodes of an allocation as workers, commands as jobs, and the profile of a site."""
