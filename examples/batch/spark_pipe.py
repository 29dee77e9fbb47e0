"""A batch of 400 shards as tasks of Spark, each with sotto in a pipe.

    spark-submit spark_pipe.py s3://bucket/scored 's3://bucket/replies/*.jsonl'
    sotto score merge s3://bucket/scored

Each partition holds one number, which xargs gives to sotto. Spark runs a task again that
failed (spark.task.maxFailures), and with spark.speculation also one that is only slow: both
may run at once, and the second finds the output of the first. sotto must be on the PATH of
the executors. Its environment is that of the driver, such as the variables of AWS.
"""

import os
import shlex
import sys

from pyspark.sql import SparkSession

SHARDS = int(os.environ.get("SHARDS", "400"))


def main() -> None:
    out, inputs = sys.argv[1], sys.argv[2:]
    spark = SparkSession.builder.appName("sotto").getOrCreate()
    command = ["xargs", "-I{}", "sotto", "score", "--task", "math", "--jsonl", "--k", "--shard", "{}/" + str(SHARDS), "--output", out, *inputs]
    shards = spark.sparkContext.parallelize(range(SHARDS), SHARDS)
    shards.pipe(shlex.join(command), env={**os.environ, "GOMAXPROCS": "1"}, checkCode=True).count()
    spark.stop()


if __name__ == "__main__":
    main()
