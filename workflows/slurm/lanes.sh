#!/bin/bash
# Reads by the lane: an array with a job for each lane, of which each writes a SAM file of its own.
#
#   sbatch --array=1-4 lanes.sh FOLDER [option of tidalign pairs ..]                  FOLDER/lane1.reads.fastq.gz, FOLDER/lane1.windows.fasta.gz, lane2 ..
#
#SBATCH --job-name=lanes
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --signal=B:USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
set -eu
lane=$1/lane$SLURM_ARRAY_TASK_ID
shift
exec tidalign --requeue pairs "$lane.reads.fastq.gz" "$lane.windows.fasta.gz" -o "$lane.sam" "$@"
