"""Operating points: the figures of scikit-learn, and where the policy really stands."""

import json
import re
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import fbeta_score, precision_recall_curve, precision_score, recall_score

from scorer.decide.curve import MOST_POINTS, Curves, curves
from scorer.decide.picture import check_format
from scorer.decide.plot import draw
from scorer.decide.sample import LabelFiles
from scorer.engine.manifest import Output, manifest_path, read_manifest
from scorer.engine.rows import row_schema
from scorer.errors import InputError, UsageError
from scorer.policy.policy import Direct, Policy
from scorer.status import STAMP

PLAIN = "https://openalex.org/"
Columns = tuple[np.ndarray, np.ndarray, np.ndarray, pl.DataFrame]


@pytest.fixture(scope="module")
def found(scored_sample: Path, tiny_labels: Path) -> Curves:
    """The curves of the labelled works."""
    return curves(scored_sample, LabelFiles(tiny_labels), beta=2.0)


def expected(labels: Path, scores: Path, kind: str, target: str) -> Columns:
    """Return score, truth, weight and the scored rows, by Polars' own join."""
    said = pl.read_parquet(labels).with_columns(pl.col("id").str.replace(PLAIN, ""))
    said = said.select("id", "weight", *(f"{h}_categories" for h in ("codex", "gemma")))
    rows = pl.read_parquet(scores).filter(pl.col("segment") == "covered")
    rows = rows.rename({f"{h}_categories": f"{h}_called" for h in ("codex", "gemma")})
    both = rows.join(said, on="id", maintain_order="left")
    heads = [kind] if kind in ("codex", "gemma") else ["codex", "gemma"]
    for head in heads:
        declined = pl.col(f"{head}_categories").list.contains("insufficient_payload")
        both = both.filter(~declined)
    yes = [both[f"{head}_categories"].list.contains(target).to_numpy() for head in heads]
    score = [both[f"score_{head}_{target}"].to_numpy() for head in heads]
    together = (np.minimum, np.logical_and) if kind == "consensus" else (np.maximum, np.logical_or)
    return together[0].reduce(score), together[1].reduce(yes), both["weight"].to_numpy(), both


@pytest.mark.parametrize("kind", ["codex", "gemma", "candidate", "consensus"])
@pytest.mark.parametrize("target", ["metaresearch", "bibliometrics"])
def test_points_are_those_of_scikit_learn(
    found: Curves, tiny_labels: Path, scored_sample: Path, kind: str, target: str
) -> None:
    score, yes, weight, _ = expected(tiny_labels, scored_sample, kind, target)
    curve = found.by_target[target][kind]
    assert (curve.works, curve.positives) == (len(yes), yes.sum())
    precision, recall, threshold = precision_recall_curve(yes, score, sample_weight=weight)
    assert curve.along.threshold[::-1].tolist() == threshold.tolist()
    assert curve.along.precision[::-1] == pytest.approx(precision[:-1])
    assert curve.along.recall[::-1] == pytest.approx(recall[:-1])
    fbeta = [fbeta_score(yes, score >= t, beta=2, sample_weight=weight) for t in threshold]
    assert curve.along.fbeta(2.0)[::-1] == pytest.approx(fbeta)
    assert curve.best.fbeta == pytest.approx(max(fbeta))


@pytest.mark.parametrize("kind", ["codex", "gemma", "candidate", "consensus"])
def test_the_current_point_is_what_the_file_says_was_called(
    found: Curves, tiny_labels: Path, scored_sample: Path, kind: str
) -> None:
    _, yes, weight, rows = expected(tiny_labels, scored_sample, kind, "metaresearch")
    column = f"{kind}_called" if kind in ("codex", "gemma") else f"{kind}_categories"
    now = rows[column].list.contains("metaresearch").to_numpy()
    point = found.by_target["metaresearch"][kind].current
    assert point.precision == pytest.approx(precision_score(yes, now, sample_weight=weight))
    assert point.recall == pytest.approx(recall_score(yes, now, sample_weight=weight))
    assert point.fbeta == pytest.approx(fbeta_score(yes, now, beta=2, sample_weight=weight))


def test_a_threshold_between_two_scores_calls_what_the_higher_one_calls(found: Curves) -> None:
    curve = found.by_target["metaresearch"]["codex"]
    high, low = (float(t) for t in curve.along.threshold[3:5])
    assert curve.at(high).threshold == curve.at((high + low) / 2).threshold == high
    assert curve.at(low).threshold == low
    assert curve.at(1.0) is None
    assert curve.at(0.0).recall == curve.at_recall(1.0).recall == 1.0


def test_what_makes_no_calls_has_no_point_and_says_why(found: Curves) -> None:
    why = {
        target: {kind: curve.silent for kind, curve in by_kind.items() if curve.silent}
        for target, by_kind in found.by_target.items()
    }
    assert why["metaresearch"] == {}
    assert why["sts"] == {"codex": "none: unavailable", "consensus": "never: codex silent"}
    assert why["open_science"] == {
        "codex": "none: support",
        "gemma": "none: support",
        "candidate": "never: every head is silent",
        "consensus": "never: every head is silent",
    }
    silent = [c for k in found.by_target.values() for c in k.values() if c.silent]
    assert all(curve.current is None for curve in silent)
    assert found.by_target["open_science"]["codex"].along is not None


def test_a_direct_head_has_no_point_for_its_labels_are_not_in_the_scores(
    policy: Policy, changed: Callable[..., Path], tiny_labels: Path
) -> None:
    scores = changed(lambda rows: rows)
    content = json.loads(manifest_path(scores).read_text())
    for heads in content["policy"]["entries"].values():
        heads["gemma"] = Direct(sha256="0" * 64).model_dump(mode="json")
    manifest_path(scores).write_text(json.dumps(content))
    by_kind = curves(with_best_columns(scores), LabelFiles(tiny_labels)).by_target["metaresearch"]
    assert by_kind["gemma"].silent == "direct label"
    assert by_kind["candidate"].silent == by_kind["consensus"].silent == "gemma: direct label"
    assert by_kind["codex"].current is not None


def with_best_columns(scores: Path) -> Path:
    """Give a file the columns that it has where a head is direct."""
    manifest, table = read_manifest(scores), pq.read_table(scores)
    schema = row_schema(manifest.targets, manifest.policy, manifest.mode)
    empty = pa.nulls(table.num_rows, pa.string())
    columns = [table[f.name] if f.name in table.column_names else empty for f in schema]
    pq.write_table(pa.Table.from_arrays(columns, schema=schema), scores)
    true = manifest.model_copy(update={"output": Output.of(scores)})
    manifest_path(scores).write_text(true.model_dump_json())
    return scores


def test_points_are_thinned_and_keep_both_ends(
    changed: Callable[..., Path], tiny_labels: Path
) -> None:
    distinct = changed(
        lambda rows: rows.with_columns(
            score_codex_metaresearch=(pl.int_range(pl.len()) / 300).cast(pl.Float32)
        )
    )
    curve = curves(distinct, LabelFiles(tiny_labels)).by_target["metaresearch"]["codex"]
    points = curve.points()
    assert MOST_POINTS / 2 < len(points) <= MOST_POINTS < len(curve.along.threshold)
    ends = curve.along.threshold[[0, -1]].tolist()
    assert [points[0].threshold, points[-1].threshold] == ends
    assert all(one.threshold > two.threshold for one, two in pairwise(points))


def test_labels_of_every_head_are_needed(
    scored_sample: Path, tiny_labels: Path, tmp_path: Path
) -> None:
    table = pl.read_parquet(tiny_labels)
    codex = [name for name in table.columns if name.startswith("codex_")]
    table.drop(codex).write_parquet(tmp_path / "one.parquet")
    with pytest.raises(InputError, match=r"one.parquet: no labels of the head 'codex'; it has"):
        curves(scored_sample, LabelFiles(tmp_path / "one.parquet"))


def test_a_picture_is_the_same_bytes_every_time_and_carries_the_status(found: Curves) -> None:
    pytest.importorskip("matplotlib")
    drawn = draw(found, "svg")
    assert draw(found, "svg") == drawn
    text = drawn.decode()
    assert text.count(STAMP) == 2  # for people, and in the metadata
    assert "against the teachers' labels, not the truth" in text.replace("&#39;", "'")
    assert not re.search(r"<dc:date>", text)
    for target in found.targets.binary:
        assert target.label.en in text
    picture = draw(found, "png")
    assert picture.startswith(b"\x89PNG")
    assert STAMP.encode() in picture


def test_other_kinds_of_picture_are_refused() -> None:
    with pytest.raises(UsageError) as caught:
        check_format(Path("curve.pdf"))
    assert str(caught.value) == "curve.pdf: pictures are .png or .svg. Choose another --plot."


def test_a_picture_without_matplotlib_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError) as caught:
        check_format(Path("curve.svg"))
    assert str(caught.value) == (
        "Plots need matplotlib, which is not installed.\n"
        "Install the extra: pip install 'scorer[plot]'"
    )
