#!/bin/bash
# Many genomes against one, as an array of jobs without any connection between them: job i does the ith share.
#
#   sbatch --array=1-8 genomes.sh JOBS.tsv OUT [option of tidalign genomes ..]        a line of JOBS.tsv for each genome: target, query, name
#   sbatch --dependency=afterok:NUMBER --wrap "tidalign merge OUT.*/run -o OUT.maf"
#
# Without sbatch all of it is done on this machine, in OUT. A share is done in OUT.i/run; one that fails is repeated by `sbatch --array=i genomes.sh ..` and goes on where it was.
#SBATCH --job-name=genomes
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --signal=B:USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
set -eu
jobs=$1 out=$2
shift 2
share=${SLURM_ARRAY_TASK_ID:+$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT}
exec tidalign ${SLURM_JOB_ID:+--requeue} genomes "$jobs" -o "$out${share:+.${share%/*}}" ${share:+--shard "$share"} "$@"
