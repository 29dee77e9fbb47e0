#!/bin/bash
# A batch of 400 shards with GNU parallel, a process for each core:
#
#     parallel.sh s3://bucket/scored 's3://bucket/replies/*.jsonl'
#     sotto score merge s3://bucket/scored
#
# A shard that fails is tried three times. If you run the script again, only the shards that
# are not done do any work. parallel's own --sshlogin spreads them over machines that share
# the inputs and the output.
set -euo pipefail
out=$1
shift
shards=${SHARDS:-400}
seq 0 $((shards - 1)) |
	GOMAXPROCS=1 parallel --quote --jobs "${JOBS:-100%}" --retries 3 --halt soon,fail=10 \
		"${SOTTO:-sotto}" score --task "${TASK:-math}" --jsonl --k --shard "{}/$shards" --output "$out" "$@"
