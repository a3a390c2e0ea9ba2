#!/bin/bash
# Many genomes against one, as an array of jobs without any connection between them: job i does the ith of SHARES shares.
#
#   sbatch --array=1-8 [--gpus-per-node=2 --cpus-per-task=16] genomes.sh JOBS.tsv OUT 8 [option of tidalign genomes ..]
#   sbatch --dependency=afterok:NUMBER --wrap "tidalign merge OUT.*/run -o OUT.maf"
#
# Each job has 8 processors of a node, or as many as --cpus-per-task says, some 8 for each GPU; --exclusive asks for the whole node.
# JOBS.tsv has the header line `target query name`, with tabs between, and below it a line for each genome. A share is done in OUT.i/run; one that fails is repeated,
# and goes on where it was, by `sbatch --array=i genomes.sh JOBS.tsv OUT 8 ..`: Slurm itself does not say there how many shares there are. Without sbatch all of it is
# done on this machine, in OUT.
#SBATCH --job-name=genomes
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --signal=B:USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
set -eu
refuse() {
    echo "genomes.sh: $1; sbatch --array=1-8 genomes.sh JOBS.tsv OUT 8 does eight shares" >&2
    exit 2
}
[ $# -ge 3 ] || refuse "expected JOBS.tsv, OUT and the number of shares, found $# words"
jobs=$1 out=$2 shares=$3 place=${SLURM_ARRAY_TASK_ID:-}
shift 3
[[ $shares =~ ^[1-9][0-9]*$ ]] || refuse "expected the number of shares behind OUT, found '$shares'"
[ -n "$place" ] || [ -z "${SLURM_JOB_ID:-}" ] || [ "$shares" = 1 ] || refuse "$shares shares need an array of jobs, which this job is not of"
[ -z "$place" ] || { [ "$place" -ge 1 ] && [ "$place" -le "$shares" ]; } || refuse "expected jobs 1 to $shares of the array, found job $place"
exec tidalign ${SLURM_JOB_ID:+--requeue} genomes "$jobs" -o "$out${place:+.$place}" ${place:+--shard "$place/$shares"} "$@"
