"""`scorer explain`: integers that add up, in the terminal and as JSON; bad input told plainly."""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

Run = Callable[..., Any]


@pytest.fixture
def explain(scorer: Run, tiny_frame: Path, tiny_bundle: Path) -> Run:
    """`scorer explain W21` on the tiny frame, with what else is given."""

    def run(*options: object, work: str = "W21") -> Any:
        where = () if "--frame" in options else ("--frame", tiny_frame)
        return scorer("explain", work, *where, "--model", tiny_bundle, *options)

    return run


def test_the_lines_of_each_table_add_up(explain: Run) -> None:
    ended = explain("--target", "metaresearch", "--top", "3")
    assert (ended.code, ended.err) == (0, "")
    tables = re.split(r"\nMetaresearch, (?:codex|gemma): 0\.\d{3}\n", ended.out)[1:]
    assert len(tables) == 2
    for table in tables:
        numbers = re.findall(r"  ([+−]?[\d,]+)\s*$", table, flags=re.MULTILINE)
        units = [int(n.replace("−", "-").replace(",", "")) for n in numbers]
        assert 6 <= len(units) <= 9
        assert sum(units[:-1]) == units[-1] != 0
    assert "Status, word for word: machine_predicted_unvalidated" in ended.out


def test_json_parts_are_those_of_the_scored_file(explain: Run, scored: Path) -> None:
    ended = explain("--scores", scored, "--json", "--top", "1000")
    facts = json.loads(ended.out)
    assert facts["prediction_status"] == "machine_predicted_unvalidated"
    assert facts["same_as"] == scored.name
    assert facts["not_learned"] == [["codex", "sts"]]
    row = pl.read_parquet(scored).filter(pl.col("id") == "W21").row(0, named=True)
    assert len(facts["explanation"]["scores"]) == 2 * len(facts["labels"]) - 1
    for part in facts["explanation"]["scores"]:
        units = [one["units"] for one in (*part["up"], *part["down"])]
        assert part["bias"] + sum(units) == part["total"] == part["logit"]
        assert part["other_units"] == 0
        assert part["score"] == row[f"score_{part['head']}_{part['target']}"]


def test_one_head_and_target_are_chosen_in_french(explain: Run) -> None:
    ended = explain("--head", "gemma", "--target", "sts", "--lang", "fr")
    assert ended.code == 0
    (said,) = re.findall(r"^.+, (?:codex|gemma)\u00a0: \d,\d{3}$", ended.out, re.MULTILINE)
    assert said.startswith("Études des sciences")
    assert "somme\u00a0: le logit" in ended.out


def test_what_a_head_has_not_learned_is_told(explain: Run) -> None:
    ended = explain("--head", "codex", "--target", "sts")
    assert ended.code == 0
    assert "codex has not learned Science and technology studies: there is nothing" in ended.out


def test_unknown_names_are_told_with_those_that_there_are(explain: Run) -> None:
    ended = explain("--target", "meta")
    assert ended.code == 2
    assert ended.err.startswith("Error: --target meta: there is none of that name; metaresearch, ")
    ended = explain("--head", "claude")
    assert ended.err == "Error: --head claude: there is none of that name; codex, gemma.\n"


def test_a_record_that_was_not_scored_is_told(
    explain: Run, scored: Path, tiny_frame: Path, tmp_path: Path
) -> None:
    changed = tmp_path / "changed.parquet"
    pl.read_parquet(tiny_frame).with_columns(title=pl.lit("Peer review of bees")).write_parquet(
        changed
    )
    ended = explain("--scores", scored, "--frame", changed)
    assert ended.code == 3
    assert ended.err == (
        f"Error: {changed}: scored anew, W21 gets another score_codex_metaresearch than {scored} "
        "holds.\nName the frame that was scored: --frame\n"
    )


def test_a_bundle_that_is_not_at_hand_is_told(scorer: Run, scored: Path, tiny_frame: Path) -> None:
    ended = scorer("explain", "W21", "--frame", tiny_frame, "--scores", scored)
    assert ended.code == 4
    assert re.fullmatch(
        rf"Error: {re.escape(str(scored))}: scored by tiny@\w{{12}}, which is not at hand\. "
        r"Name its folder: --model\n",
        ended.err,
    )


def test_an_id_that_is_not_there_is_told(explain: Run, scored: Path) -> None:
    assert "Did you mean" in explain("--scores", scored, work="W2l").err
    alone = explain(work="W2l")
    assert alone.code == 3
    assert "W2l" in alone.err


def test_the_frame_must_be_named(scorer: Run) -> None:
    assert scorer("explain", "W21").code == 2


def test_parts_of_a_calibrated_score_add_up_to_the_logit_and_its_map_is_named(
    scorer: Run, tiny_frame: Path, calibrated_bundle: Path, tmp_path: Path
) -> None:
    scored = tmp_path / "calibrated.parquet"
    assert scorer("run", tiny_frame, "--model", calibrated_bundle, "-o", scored, "-q").code == 0
    words = ("explain", "W21", "--frame", tiny_frame, "--model", calibrated_bundle)
    facts = json.loads(scorer(*words, "--scores", scored, "--json", "--top", "1000").out)
    row = pl.read_parquet(scored).filter(pl.col("id") == "W21").row(0, named=True)
    assert facts["explanation"]["calibration"] == "isotonic"
    for part in facts["explanation"]["scores"]:
        units = [one["units"] for one in (*part["up"], *part["down"])]
        assert part["bias"] + sum(units) == part["total"]
        raw = 1 / (1 + math.exp(-part["logit"] * facts["explanation"]["logit_unit"]))
        assert part["uncalibrated"] == pytest.approx(raw, abs=1e-6)
        assert part["score"] == row[f"score_{part['head']}_{part['target']}"]
    ended = scorer(*words, "--target", "metaresearch", "--head", "gemma")
    part = next(
        part
        for part in facts["explanation"]["scores"]
        if (part["head"], part["target"]) == ("gemma", "metaresearch")
    )
    told = [" ".join(line.split()) for line in ended.out.splitlines()]
    assert f"the score of this logit {part['uncalibrated']:.3f}" in told
    calibrated = "calibrated to the teacher's labels (isotonic): the score"
    assert f"{calibrated} {part['score']:.3f}" in told
