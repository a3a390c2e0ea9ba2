"""Use all nodes of a job of Slurm, PBS or LSF: which ones it has, workers on each of them, and how they are started there and end."""
