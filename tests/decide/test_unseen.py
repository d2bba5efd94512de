"""Out-of-fold scores: what training keeps, what fitting reads, and what is refused."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.decide.fit import fit
from scorer.decide.inputs import FitRequest
from scorer.decide.sample import LabelFiles
from scorer.decide.sources import BestFBeta, BestWorks, Choice
from scorer.decide.unseen import OutOfFold
from scorer.engine.decision import bundle_policy
from scorer.errors import InputError, OutputError, UsageError
from scorer.policy.policy import Threshold
from scorer.status import STAMP
from scorer.student.folder import load_manifest
from scorer.train.distil import train
from scorer.train.trained import TrainRequest

Keep = tuple[Path, Path]


@pytest.fixture(scope="session")
def kept(tiny_labels: Path, tmp_path_factory: pytest.TempPathFactory) -> Keep:
    """A bundle as `tiny_bundle`, and the out-of-fold scores that its training kept."""
    folder = tmp_path_factory.mktemp("kept")
    scores = folder / "unseen.parquet"
    request = TrainRequest(output=folder / "tiny", labels=tiny_labels, out_of_fold=scores)
    train(request)
    return folder / "tiny", scores


@pytest.fixture
def rewritten(kept: Keep, tmp_path: Path) -> Callable[..., Path]:
    """Write the scores with other rows or metadata: `rewritten(change, key=value)`."""

    def write(change: Callable[[pa.Table], pa.Table], **said: str) -> Path:
        table = change(pq.read_table(kept[1]))
        metadata = {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()}
        pq.write_table(table.replace_schema_metadata(metadata | said), tmp_path / "u.parquet")
        return tmp_path / "u.parquet"

    return write


def refused(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        OutOfFold.read(path)
    return str(caught.value)


def test_training_keeps_a_score_for_every_labelled_work(kept: Keep, tiny_labels: Path) -> None:
    manifest = load_manifest(kept[0])
    table = pq.read_table(kept[1])
    said = table.schema.metadata
    assert said[b"prediction_status"].decode() == STAMP
    assert said[b"model_version"].decode() == manifest.version
    read = OutOfFold.read(kept[1])
    assert read.targets == manifest.targets
    assert read.scores.columns == ["id", *manifest.targets.score_columns]
    ids = pl.read_parquet(tiny_labels)["id"].str.replace("https://openalex.org/", "")
    assert read.scores["id"].to_list() == ids.to_list()
    assert set(read.scores["score_codex_sts"]) == {0.0}  # no head could learn it


def test_fitting_on_them_gives_the_thresholds_of_training(kept: Keep, tiny_labels: Path) -> None:
    fitted = fit(FitRequest(LabelFiles(tiny_labels), out_of_fold=kept[1], default=BestFBeta(2.0)))
    trained = bundle_policy(kept[0], load_manifest(kept[0]))
    for target, heads in trained.entries.items():
        for head, entry in heads.items():
            found = fitted.policy.entry(head, target)
            assert found.kind == entry.kind
            if isinstance(entry, Threshold) and isinstance(found, Threshold):
                assert (found.value, found.found_by) == (entry.value, entry.found_by)


def test_they_take_the_place_of_joined_scores(kept: Keep, tiny_labels: Path) -> None:
    def request(**changes: object) -> FitRequest:
        return FitRequest(LabelFiles(tiny_labels), out_of_fold=kept[1], **changes)

    with pytest.raises(UsageError) as caught:
        fit(request(exceptions={"codex": Choice(BestFBeta(1), "x")}))
    assert str(caught.value) == (
        "gemma.metaresearch: nothing says how to find its threshold.\nGive --fbeta, --quota, "
        "--recall or --precision for all, or --scores SCORED to keep what its policy has."
    )
    with pytest.raises(UsageError) as caught:
        fit(request(default=BestWorks()))
    assert str(caught.value) == (
        "codex.metaresearch: a quota counts works of a frame: add --scores SCORED."
    )


def test_scores_of_two_students_are_refused(
    kept: Keep, tiny_labels: Path, scored_sample: Path, rewritten: Callable[..., Path]
) -> None:
    labels = LabelFiles(tiny_labels)
    other = rewritten(lambda table: table, model_version="other@000000000000")
    with pytest.raises(InputError) as caught:
        fit(FitRequest(labels, scores=scored_sample, out_of_fold=other, default=BestFBeta(1)))
    first, second = str(caught.value).splitlines()
    assert first.startswith(f"{other}: scores of other@000000000000; {scored_sample} was scored by")
    assert second == "Thresholds of one student say nothing of another's scores."


def test_files_of_another_kind_are_refused(
    rewritten: Callable[..., Path], scored_sample: Path
) -> None:
    remedy = "\nscorer train LABELS -o FOLDER --out-of-fold FILE writes them."
    assert refused(scored_sample) == (
        f"{scored_sample}: no out-of-fold scores: does not say which student it is of.{remedy}"
    )
    path = rewritten(lambda table: table, prediction_status="validated")
    assert refused(path) == (
        f"{path}: no out-of-fold scores: says validated, expected {STAMP}.{remedy}"
    )
    path = rewritten(lambda table: table.drop_columns(["score_codex_sts"]))
    assert refused(path) == (
        f"{path}: no out-of-fold scores: its columns are not id and the student's scores.{remedy}"
    )


@pytest.mark.parametrize(
    ("score", "said"), [(float("nan"), "nan"), (1.5, "1.5"), (-0.5, "-0.5"), (None, "None")]
)
def test_a_score_out_of_range_is_refused(
    rewritten: Callable[..., Path], score: float | None, said: str
) -> None:
    def spoil(table: pa.Table) -> pa.Table:
        place = table.schema.get_field_index("score_gemma_sts")
        values = pa.array([0.5, score] + [0.5] * (table.num_rows - 2), pa.float32())
        return table.set_column(place, table.schema.field(place), values)

    path = rewritten(spoil)
    assert refused(path) == (
        f"{path}: column 'score_gemma_sts', row 1 (counted from 0): the score is {said}, expected "
        "0 to 1.\nWrite the file again: scorer train --out-of-fold"
    )


def test_where_they_cannot_lie_is_said_before_training(tiny_labels: Path, tmp_path: Path) -> None:
    def refused(place: Path, **changes: object) -> str:
        with pytest.raises((OutputError, UsageError)) as caught:
            train(
                TrainRequest(
                    **{"output": tmp_path / "b", "labels": tiny_labels, "out_of_fold": place}
                    | changes
                )
            )
        return str(caught.value)

    there = tmp_path / "there.parquet"
    there.touch()
    assert refused(there) == (
        f"{there}: exists already. Choose another --out-of-fold, or say --overwrite."
    )
    assert refused(tmp_path / "b" / "u.parquet") == (
        f"{tmp_path}/b/u.parquet: lies in the bundle's folder, which holds nothing else.\n"
        "Keep the out-of-fold scores elsewhere: --out-of-fold."
    )
    assert refused(Path("/nowhere/u.parquet")) == (
        "/nowhere: no such folder. Make it first, or choose -o elsewhere."
    )
    assert refused(tiny_labels, overwrite=True) == (
        f"{tiny_labels}: the input itself cannot be the output. Choose another -o."
    )
    assert not (tmp_path / "b").exists()
