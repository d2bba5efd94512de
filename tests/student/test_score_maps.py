"""Calibration maps: monotone, the same bits in any batch, data that is checked at loading."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.errors import BundleError
from scorer.student.bundle import Student, load_student
from scorer.student.calibration import CALIBRATION_FILE, Calibration, ScoreMap

BENT = {"score": [0.0, 0.25, 1.0], "calibrated": [0.0, 0.5, 0.6]}
WHOLE = {
    "schema_version": 1,
    "method": "isotonic",
    "maps": {"codex": {"metaresearch": BENT}, "gemma": {"about_ca_topic": BENT}},
}
shares = st.floats(0, 1, width=32)


@pytest.fixture
def calibrated(
    made_bundle: Path, reseal: Callable[..., str], tmp_path: Path
) -> Callable[..., Path]:
    """Write a copy of the made bundle with this `calibration.json`, its hash true."""

    def make(content: object) -> Path:
        folder = Path(shutil.copytree(made_bundle, tmp_path / "calibrated"))
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / CALIBRATION_FILE).write_text(text)
        manifest = folder / "bundle.json"
        said = json.loads(manifest.read_text())
        said["files"][CALIBRATION_FILE] = ""
        manifest.write_text(json.dumps(said))
        reseal(folder)
        return folder

    return make


def test_scores_between_knots_lie_on_the_line_between_them() -> None:
    bent = ScoreMap.at(**BENT)
    scores = np.array([0, 0.125, 0.25, 0.625, 1], np.float32)
    found = bent.of(scores)
    assert found.dtype == np.float32
    assert found.tolist() == np.array([0, 0.25, 0.5, 0.55, 0.6], np.float32).tolist()


@given(
    st.lists(shares, min_size=2, max_size=40, unique=True),
    st.lists(shares, min_size=40, max_size=40),
    st.lists(shares, min_size=1, max_size=60),
)
def test_a_higher_score_never_becomes_the_lower_one(
    score: list[float], calibrated: list[float], scores: list[float]
) -> None:
    bent = ScoreMap.at(sorted(score), sorted(calibrated[: len(score)]))
    ordered = np.sort(np.array(scores, np.float32))
    near = np.concatenate(
        [ordered, np.nextafter(ordered, np.float32(1)), np.array(score, np.float32)]
    )
    found = bent.of(np.sort(near))
    assert (np.diff(found) >= 0).all()
    assert ((found >= 0) & (found <= 1)).all()


@given(st.lists(shares, min_size=1, max_size=200))
def test_a_score_gets_the_same_bits_alone_and_among_others(scores: list[float]) -> None:
    bent = ScoreMap.at([0, 0.1, 0.30000001, 0.7, 1], [0, 1e-5, 0.2, 0.21, 0.9])
    batch = np.array(scores, np.float32)
    alone = np.concatenate([bent.of(batch[row : row + 1]) for row in range(len(batch))])
    assert bent.of(batch).tobytes() == alone.tobytes()


def test_only_scores_with_a_map_change(
    calibrated: Callable[..., Path], made_student: Student, works: pl.DataFrame
) -> None:
    student = load_student(calibrated(WHOLE))
    assert student.version != made_student.version
    plain, found = made_student.score(works), student.score(works)
    names = student.manifest.targets.binary_names
    for head, of_head in plain.binary.items():
        for place, target in enumerate(names):
            expected = of_head[:, place]
            if target in WHOLE["maps"][head]:
                expected = ScoreMap.at(**BENT).of(expected)
                assert (expected != of_head[:, place]).any()
            assert found.binary[head][:, place].tobytes() == expected.tobytes()
        assert found.binary[head].dtype == np.float32
        for axis, values in plain.axes[head].items():
            assert found.axes[head][axis].tobytes() == values.tobytes()
    again = student.uncalibrated(works)
    assert all((again.binary[h] == plain.binary[h]).all() for h in plain.binary)


def test_batches_and_compiled_loops_change_no_bit(
    calibrated: Callable[..., Path], works: pl.DataFrame
) -> None:
    student = load_student(calibrated(WHOLE))
    whole = student.score(works).binary
    cut = [student.score(works[at : at + 7]).binary for at in range(0, 700, 7)]
    compiled = student.compiled()
    assert compiled.session is not student.session
    fast = compiled.score(works).binary
    for head, scores in whole.items():
        assert scores[:700].tobytes() == np.concatenate([part[head] for part in cut]).tobytes()
        assert np.array_equal(fast[head], scores)


def test_what_is_written_is_read_again(tmp_path: Path, made_student: Student) -> None:
    chance = np.random.default_rng(0)
    maps = {
        (head, target): ScoreMap.at(np.unique(chance.random(30)), np.sort(chance.random(30)))
        for head in ("codex", "gemma")
        for target in ("metaresearch", "sts")
    }
    made = Calibration("platt", maps)
    (tmp_path / "c.json").write_text(made.to_json())
    read = Calibration.read(tmp_path / "c.json", made_student.manifest.targets)
    assert (read.method, list(read.maps)) == ("platt", list(maps))
    for pair, one in maps.items():
        assert one.score.tobytes() == read.maps[pair].score.tobytes()
        assert one.calibrated.tobytes() == read.maps[pair].calibrated.tobytes()
    assert read.to_json() == made.to_json()


def bent(**knots: list[float]) -> dict[str, object]:
    return WHOLE | {"maps": {"codex": {"metaresearch": BENT | knots}}}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (bent(score=[0.0, 1.0]), "a map needs two knots or more, a calibrated score for each"),
        (bent(score=[0.5], calibrated=[0.5]), "a map needs two knots or more"),
        (bent(score=[0.0, 0.0, 1.0]), "scores of a map's knots rise, and their calibrated scores"),
        (bent(calibrated=[0.0, 0.6, 0.5]), "scores of a map's knots rise"),
        (bent(calibrated=[0.0, 0.5, 1.5]), "knots of a map lie from 0 to 1"),
        (WHOLE | {"method": "magic"}, "method: Input should be 'isotonic' or 'platt'"),
        (WHOLE | {"code": "import os"}, "code: Extra inputs are not permitted"),
        ("[0.1", "content: Invalid JSON"),
        (bent(calibrated=[0.0, float("nan"), 0.5]), "knots of a map lie from 0 to 1"),
    ],
)
def test_maps_that_are_none_are_refused(
    calibrated: Callable[..., Path], content: object, told: str
) -> None:
    folder = calibrated(content)
    with pytest.raises(BundleError) as refused:
        load_student(folder)
    assert str(refused.value).startswith(f"{folder / CALIBRATION_FILE}: ")
    assert told in str(refused.value)
    assert str(refused.value).endswith("Train the bundle again.")


def test_maps_of_other_targets_are_refused(calibrated: Callable[..., Path]) -> None:
    folder = calibrated(WHOLE | {"maps": {"codex": {"astrology": BENT}}})
    with pytest.raises(BundleError) as refused:
        load_student(folder)
    assert str(refused.value) == (
        f"{folder / CALIBRATION_FILE}: maps scores of codex for astrology, which the bundle does "
        "not have.\nTrain the bundle again."
    )


def test_a_file_that_the_manifest_does_not_list_maps_nothing(
    made_bundle: Path, made_student: Student, works: pl.DataFrame, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(made_bundle, tmp_path / "copy"))
    (folder / CALIBRATION_FILE).write_text(json.dumps(WHOLE))
    found = load_student(folder)
    assert (found.version, found.calibration) == (made_student.version, None)
    assert np.array_equal(
        found.score(works).binary["codex"], made_student.score(works).binary["codex"]
    )
