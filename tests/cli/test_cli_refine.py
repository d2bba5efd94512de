"""`scorer run --refine` as a shell sees it, and the commands that read what it wrote."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from scorer.engine.manifest import read_manifest

Run = Callable[..., Any]


@pytest.fixture
def refine(
    scorer: Run, tiny_frame: Path, tiny_bundle: Path, second_bundle: Path, tmp_path: Path
) -> Run:
    """`scorer run` of the tiny frame in two stages, to `out.parquet`, with what else is given."""

    def run(*options: object) -> Any:
        output = tmp_path / "out.parquet"
        models = ("--model", tiny_bundle, "--refine", second_bundle)
        return scorer("run", tiny_frame, *models, "-o", output, *options)

    return run


@pytest.mark.parametrize(
    ("share", "works"), [("5%", 10), ("0.05", 10), ("7.5 %", 15), ("100%", 187), ("1e-3", 1)]
)
def test_a_share_is_written_in_per_cent_or_as_a_number(
    refine: Run, tmp_path: Path, share: str, works: int
) -> None:
    assert refine("--refine-share", share, "-q").code == 0
    refined = read_manifest(tmp_path / "out.parquet").refined
    assert refined is not None
    assert refined.works == works


def test_the_summary_names_both_students(refine: Run, tmp_path: Path) -> None:
    ended = refine("--refine-share", "20%")
    manifest = read_manifest(tmp_path / "out.parquet")
    assert manifest.refined is not None
    second = manifest.refined.model_version
    assert ended.out.splitlines()[1:3] == [
        f"40 of them scored again by {second}, and called by its own policy: 20 % of the works, "
        "those that rank highest for any target.",
        "It reads type too, which the frame lacks: it scores worse without.",
    ]
    assert ended.err == f"Refining 40 of 200 works by {second}.\n"


def test_a_band_without_works_is_said_twice(refine: Run, second_bundle: Path) -> None:
    ended = refine("--refine-band", "0.000000001")
    assert ended.code == 0
    assert ended.err == "No work lies within 1e-09 of a threshold: nothing was refined.\n"
    version = json.loads((second_bundle / "bundle.json").read_text())["version"]
    assert ended.out.splitlines()[1] == (
        f"None was scored again by {version}: nothing was refined."
    )


def test_json_has_the_second_stage(refine: Run) -> None:
    ended = refine("--refine-band", "0.1", "--json")
    assert json.loads(ended.out)["refined"]["band"] == 0.1


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (
            ("--refine-share", "some"),
            2,
            "--refine-share some: expected a share, for instance 5% or 0.05.",
        ),
        (("--refine-share", "0%"), 2, "--refine-share 0%: expected over 0 and up to 100 %"),
        (("--refine-share", "5"), 2, "--refine-share 5: expected over 0 and up to 100 %"),
        (("--refine-share", "nan"), 2, "--refine-share nan: expected over 0 and up to 100 %"),
        (("--refine-share", "120%"), 2, "--refine-share 120%: expected over 0 and up to 100 %"),
        (("--refine-band", "2"), 2, "--refine-band 2: expected over 0 and up to 1"),
        (("--refine", "nowhere"), 4, "nowhere"),
        (("--baseline",), 2, "--baseline is for students before maturity"),
    ],
)
def test_bad_words_end_with_their_code(
    refine: Run, tmp_path: Path, options: tuple[str, ...], code: int, said: str
) -> None:
    ended = refine(*options)
    assert ended.code == code
    assert said in ended.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["--policy", "--refine-policy"])
def test_a_policy_is_not_written_over(
    scorer: Run,
    *,
    tiny_frame: Path,
    tiny_bundle: Path,
    second_bundle: Path,
    tmp_path: Path,
    option: str,
) -> None:
    bundle = tiny_bundle if option == "--policy" else second_bundle
    policy = tmp_path / "policy.json"
    policy.write_bytes((bundle / "policy.json").read_bytes())
    words = ("--model", tiny_bundle, "--refine", second_bundle, option, policy, "-o", policy)
    ended = scorer("run", tiny_frame, *words, "--overwrite")
    assert (ended.code, ended.err) == (
        2,
        f"Error: {policy}: the input itself cannot be the output. Choose another -o.\n",
    )
    assert policy.read_bytes() == (bundle / "policy.json").read_bytes()


def test_verify_passes_and_call_refuses(scorer: Run, stacked: Path, tmp_path: Path) -> None:
    assert scorer("verify", stacked).code == 0
    ended = scorer("call", stacked, "-o", tmp_path / "called.parquet")
    assert ended.code == 2
    assert "40 of its works were scored again by second@" in ended.err


def test_one_work_is_told_by_the_student_that_scored_it(
    scorer: Run, stacked: Path, tiny_frame: Path, tiny_bundle: Path, second_bundle: Path
) -> None:
    rows = pl.read_parquet(stacked).with_columns(pl.col("model_version").cast(pl.String))
    models = ("--model", tiny_bundle, "--model", second_bundle)
    for version in read_manifest(stacked).words("model_version"):
        row = rows.filter(
            (pl.col("model_version") == version) & (pl.col("segment") == "covered")
        ).row(0, named=True)
        ended = scorer(
            *("show", row["id"], "--scores", stacked, "--frame", tiny_frame, *models, "--json")
        )
        assert ended.code == 0, ended.err
        page = json.loads(ended.out)
        assert page["origin"]["model_version"] == version
        assert page["origin"]["policy_version"] == row["policy_version"]
        assert page["score_status"] == f"calls:{version}"
        scores = [score for target in page["targets"] for score in target["heads"]]
        called = {score["called"] for score in scores if score["decided_by"] == "threshold"}
        assert called <= {True, False}
        for score in scores:
            if score["decided_by"] == "threshold":
                assert score["called"] == (score["score"] >= score["value"])
        assert page["explanation"] is not None, "taken apart by the weights of that student"
        explained = scorer(
            *("explain", row["id"], "--frame", tiny_frame, "--scores", stacked),
            *("--model", tiny_bundle if version.startswith("tiny") else second_bundle),
        )
        assert explained.code == 0, explained.err


def test_rank_and_evaluate_read_files_of_two_students(
    scorer: Run, stacked: Path, tiny_labels: Path
) -> None:
    both = " and ".join(read_manifest(stacked).words("model_version"))
    ended = scorer(
        "rank", stacked, "--by", "metaresearch", "--order", "uncertainty", "--top", 200, "--json"
    )
    assert ended.code == 0, ended.err
    listed = {work["id"]: work for work in json.loads(ended.out)["works"]}
    rows = pl.read_parquet(stacked).with_columns(pl.col(pl.Categorical).cast(pl.String))
    stages = {stage.model_version: stage for stage in read_manifest(stacked).stages}
    assert len(listed) > 150
    for row in rows.filter(pl.col("id").is_in(list(listed))).iter_rows(named=True):
        assert listed[row["id"]]["model_version"] == row["model_version"]
        policy, near = stages[row["model_version"]].policy, 0.0
        for head in ("codex", "gemma"):
            entry = policy.entry(head, "metaresearch")
            score, value = row[f"score_{head}_metaresearch"], getattr(entry, "value", None)
            if value is not None:
                over = score > value
                near = max(near, (1 - score) / (1 - value) if over else score / value)
        assert listed[row["id"]]["uncertainty"] == pytest.approx(near, abs=1e-5)
    ended = scorer("evaluate", stacked, tiny_labels, "--replicates", 100, "--json")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["model_version"] == both


def test_a_stack_can_be_compared_with_its_first_student(
    scorer: Run, stacked: Path, tiny_bundle: Path, tiny_labels: Path
) -> None:
    ended = scorer(
        *("compare", stacked, tiny_bundle, "--labels", tiny_labels),
        *("--replicates", 100, "--json"),
    )
    assert ended.code == 0, ended.err
    first, second = read_manifest(stacked).words("model_version")
    assert f'"{first} and {second}"' in ended.out


def test_a_site_tells_of_both_students(
    scorer: Run, stacked: Path, tiny_frame: Path, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    ended = scorer(
        *("report", stacked, "--frame", tiny_frame, "-o", tmp_path / "site", "--top", 3, "-q")
    )
    assert ended.code == 0, ended.err
    manifest = read_manifest(stacked)
    assert manifest.refined is not None
    text = (tmp_path / "site" / "en" / "index.html").read_text()
    assert f"{manifest.refined.model_version} scored 40 of the works again" in text
    french = (tmp_path / "site" / "fr" / "method.html").read_text()
    assert f"{manifest.refined.model_version} a réattribué les scores de 40" in french
    versions = pl.read_parquet(stacked, columns=["id", "model_version"])
    for page in (tmp_path / "site" / "en" / "works").iterdir():
        work = re.sub(r"\.html$", "", page.name)
        ((version,),) = (
            versions.filter(pl.col("id") == work)
            .select(pl.col("model_version").cast(pl.String))
            .rows()
        )
        assert f"The student {version} scored this work" in page.read_text()
