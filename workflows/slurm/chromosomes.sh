#!/bin/bash
# All chromosomes of two genomes, as one job over several nodes: every sequence of TARGETS with every one of QUERIES, in OUT/all.maf.
#
#   sbatch [--nodes=4 --gpus-per-node=4 --time=4:00:00] chromosomes.sh TARGETS QUERIES OUT [option of tidalign genomes ..]
#
# It asks for whole nodes (--exclusive, --mem=0), as a job has one processor of each node where it does not say how many. Where nodes are to be shared put
# `--cpus-per-task=32` in place of these two, some 8 for each GPU of --gpus-per-node.
#
# Without sbatch it runs on this machine. The job that is cut by its time limit is put into the queue again and goes on. The same from a login node without a script:
#   tidalign --cluster slurm --nodes 4 --gpus-per-node 4 --time 4:00:00 --requeue genomes --all-vs-all TARGETS QUERIES -o OUT --merge
#SBATCH --job-name=chromosomes
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH --signal=B:USR1@120
#SBATCH --requeue
#SBATCH --no-kill
#SBATCH --open-mode=append
set -eu
targets=$1 queries=$2 out=$3
shift 3
# exec: Slurm's signals reach tidalign itself.
exec tidalign ${SLURM_JOB_ID:+--requeue} genomes --all-vs-all "$targets" "$queries" -o "$out" --merge "$@"
