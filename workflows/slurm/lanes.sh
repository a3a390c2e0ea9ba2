#!/bin/bash
# Reads by the lane: an array with a job for each lane, of which each writes a SAM file of its own.
#
#   sbatch --array=1-4 [--gpus-per-node=2 --cpus-per-task=16] lanes.sh FOLDER [option of tidalign pairs ..]
#
# FOLDER has lane1.reads.fastq.gz and lane1.windows.fasta.gz, lane2 .. Each job has 8 processors of a node, or as many as --cpus-per-task says, some 8 for each GPU;
# --exclusive asks for the whole node.
# Without sbatch all lanes are done on this machine, one after the other.
#SBATCH --job-name=lanes
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --signal=B:USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
set -eu
folder=$1
shift
if [ -n "${SLURM_ARRAY_TASK_ID:-}" ]; then
    lane=$folder/lane$SLURM_ARRAY_TASK_ID
    exec tidalign --requeue pairs "$lane.reads.fastq.gz" "$lane.windows.fasta.gz" -o "$lane.sam" "$@"
fi
for reads in "$folder"/lane*.reads.fastq.gz; do
    lane=${reads%.reads.fastq.gz}
    tidalign pairs "$reads" "$lane.windows.fasta.gz" -o "$lane.sam" "$@"
done
