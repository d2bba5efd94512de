"""What `scorer verify` looks at in a file that two students scored: that the right rows are new."""

import polars as pl

from scorer.engine.manifest import RunManifest
from scorer.policy.calls import COVERED
from scorer.policy.refinement import thresholds, within_band

CHOSEN = "the works chosen were scored again, no others"


def wrong_stage(rows: pl.DataFrame, manifest: RunManifest, *, again: bool) -> pl.Series:
    """Tell which rows should be the other student's (Boolean).

    `rows`: of one student; `again`: of the second. What that one was chosen for is seen in the
    others alone: there are the scores that works were chosen by.
    """
    second = manifest.refined
    assert second is not None
    covered = rows["segment"] == COVERED
    if again:
        return ~covered
    if second.skipped_shards:  # chosen works that could not be read again are among these
        return pl.repeat(False, rows.height, eager=True)
    if second.band is not None:
        values = thresholds(manifest.targets, manifest.policy)
        return within_band(rows, values, second.band)
    if second.last_rank is None:
        return covered
    surely = [pl.col(name) >= score for name, score in second.at_least.items()]
    chosen = pl.any_horizontal(surely) if surely else pl.lit(False)
    return rows.select((chosen & (pl.col("segment") == COVERED)).alias("chosen")).to_series()
