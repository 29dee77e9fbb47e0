#!/bin/bash
# A batch of 400 shards as an array of Slurm:
#
#     sbatch --export=ALL,IN=s3://bucket/replies/*.jsonl,OUT=s3://bucket/scored slurm.sh
#     sotto score merge s3://bucket/scored          # when the array is done
#
# IN and OUT may also be files and a folder that all nodes share. IN is a pattern in which
# no name has white space.
#SBATCH --job-name=sotto
#SBATCH --array=0-399
#SBATCH --cpus-per-task=1
#SBATCH --mem=1G
#SBATCH --requeue
#SBATCH --open-mode=append

# --requeue is for a node that is lost, or a task that is preempted. A task whose process
# failed is put back here, three times. It does not matter which of two runs of a task ends
# first: a shard that is done is not done again.
# Write auto/400 instead of auto if you submit some of the tasks again, as in sbatch --array=3,17.
set -f # sotto expands the pattern, in the same order on each node
GOMAXPROCS=${SLURM_CPUS_PER_TASK:-1} ${SOTTO:-sotto} score --task "${TASK:-math}" --jsonl --k --shard auto/400 --output "$OUT" $IN
status=$?
if [ $status -ne 0 ] && [ $status -ne 2 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt 3 ]; then
	scontrol requeue "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}"
fi
exit $status
