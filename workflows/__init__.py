"""Recipes a person runs: read, plan, map a stage over the cluster, write; and the command line."""
