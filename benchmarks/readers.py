"""Reads a scored file with one of the programs that people have, and tells what it found in JSON.

Runs in the environment of that program (see _peers.py), so nothing of the project is imported.

    python readers.py duckdb|pandas|spark SCORED.parquet
"""

import json
import sys
from collections.abc import Callable

Facts = dict[str, object]


def duckdb(path: str) -> Facts:
    """Ask DuckDB."""
    import duckdb  # noqa: PLC0415

    # Lists open into rows, so that the calls are counted one by one.
    calls = duckdb.sql(
        f"SELECT c, count(*) FROM (SELECT unnest(candidate_categories) AS c FROM '{path}') "
        "GROUP BY c"
    ).fetchall()
    rows, status, score, ids = duckdb.sql(
        "SELECT count(*), list(DISTINCT prediction_status), "
        f"sum(score_codex_metaresearch::DOUBLE), count(DISTINCT id) FROM '{path}'"
    ).fetchall()[0]
    return {"rows": rows, "ids": ids, "status": status, "score": score, "calls": dict(calls)}


def pandas(path: str) -> Facts:
    """Ask pandas."""
    import pandas  # noqa: PLC0415

    works = pandas.read_parquet(path)
    return {
        "rows": len(works),
        "ids": works["id"].nunique(),
        "status": list(works["prediction_status"].unique()),
        "score": float(works["score_codex_metaresearch"].astype("float64").sum()),
        "calls": works["candidate_categories"].explode().value_counts().to_dict(),
    }


def spark(path: str) -> Facts:
    """Ask Spark, on this machine alone."""
    from pyspark.sql import SparkSession, functions  # noqa: PLC0415

    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = session.config("spark.ui.showConsoleProgress", "false")
    works = session.getOrCreate().read.parquet(path)
    score = functions.sum(works["score_codex_metaresearch"].cast("double"))
    calls = works.select(functions.explode("candidate_categories").alias("c")).groupBy("c").count()
    return {
        "rows": works.count(),
        "ids": works.select("id").distinct().count(),
        "status": [row[0] for row in works.select("prediction_status").distinct().collect()],
        "score": works.select(score).collect()[0][0],
        "calls": {row[0]: row[1] for row in calls.collect()},
    }


READERS: dict[str, Callable[[str], Facts]] = {"duckdb": duckdb, "pandas": pandas, "spark": spark}

if __name__ == "__main__":
    print(json.dumps(READERS[sys.argv[1]](sys.argv[2])))
