"""A batch of 400 shards as tasks of Ray.

    ray job submit -- python ray_shards.py s3://bucket/scored 's3://bucket/replies/*.jsonl'
    sotto score merge s3://bucket/scored

Ray runs a task again if its worker or its node is lost, and with retry_exceptions also if
sotto fails. Both runs of a task may be under way at once: the second finds the output of
the first.
"""

import os
import subprocess
import sys

import ray

SHARDS = int(os.environ.get("SHARDS", "400"))


@ray.remote(num_cpus=1, max_retries=3, retry_exceptions=[subprocess.CalledProcessError])
def shard(index: int, out: str, inputs: list[str]) -> str:
    command = ["sotto", "score", "--task", "math", "--jsonl", "--k", "--shard", f"{index}/{SHARDS}", "--output", out, *inputs]
    done = subprocess.run(command, env={**os.environ, "GOMAXPROCS": "1"}, check=True, stderr=subprocess.PIPE, text=True)
    return done.stderr.strip().splitlines()[-1]


def main() -> None:
    out, inputs = sys.argv[1], sys.argv[2:]
    ray.init()
    waiting = [shard.remote(index, out, inputs) for index in range(SHARDS)]
    while waiting:
        done, waiting = ray.wait(waiting)
        print(ray.get(done[0]))


if __name__ == "__main__":
    main()
