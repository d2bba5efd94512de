"""Two students on the same labels: scikit-learn's figures, paired limits, works that moved."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from scipy.stats import t
from sklearn.metrics import average_precision_score, roc_auc_score

from scorer.decide.sample import LabelFiles
from scorer.engine.batch import score_columns
from scorer.engine.job import RunRequest
from scorer.engine.run import run
from scorer.errors import InputError, ScorerError, UsageError
from scorer.labels.sample import read_label_table
from scorer.review import compare_sides
from scorer.review.bootstrap import Design
from scorer.review.bootstrap_interval import effective, share
from scorer.review.compare import CompareRequest, compare
from scorer.review.compare_results import Beside, Comparison, content, table
from scorer.review.metrics import Ranking, replicated
from scorer.status import STAMP
from scorer.student.bundle import Student
from scorer.targets import Head, Targets
from scorer.train.unseen import write_unseen

SAME = 1e-9
OTHER = "other@0123456789ab"
Write = Callable[..., Path]


@pytest.fixture(scope="module")
def own_scores(student: Student, tiny_labels: Path) -> pl.DataFrame:
    """The tiny bundle's scores of the labelled works: `id` and score columns."""
    works = read_label_table(tiny_labels).works
    targets = student.manifest.targets
    return score_columns(works, student.score(works), targets, None).select(
        "id", *targets.score_columns
    )


@pytest.fixture
def written(own_scores: pl.DataFrame, student: Student, tmp_path: Path) -> Write:
    """Write scores as `scorer train --out-of-fold` does; by default the tiny bundle's, and noise.

    `written(noise=0.3, scores=..., targets=..., name=...)`.
    """

    def write(
        noise: float = 0.3,
        scores: pl.DataFrame = own_scores,
        targets: Targets = student.manifest.targets,
        name: str = "other.parquet",
    ) -> Path:
        chance = np.random.default_rng(3)
        made = scores.select(
            "id",
            *(
                pl.Series(
                    c, (1 - noise) * scores[c].to_numpy() + noise * chance.random(len(scores))
                )
                for c in targets.score_columns
            ),
        )
        write_unseen(tmp_path / name, SimpleNamespace(unseen=made, targets=targets), OTHER)
        return tmp_path / name

    return write


def asked(bundle: Path, other: Path, labels: Path, **options: object) -> Comparison:
    words = {"replicates": 100} | options
    return compare(CompareRequest(str(bundle), str(other), LabelFiles(labels), **words))


def columns(labels: Path, head: str, target: str, *scores: pl.DataFrame) -> list[np.ndarray]:
    """Return yes, weight and scores of the works that a teacher judged, by Polars' own joins."""
    said = pl.read_parquet(labels).filter(
        ~pl.col(f"{head}_categories").list.contains("insufficient_payload")
    )
    said = said.select(
        pl.col("id").str.replace("https://openalex.org/", ""),
        "weight",
        yes=pl.col(f"{head}_categories").list.contains(target),
    )
    joined = [said.join(s, on="id", maintain_order="left") for s in scores]
    of_sides = [rows[f"score_{head}_{target}"].to_numpy() for rows in joined]
    return [said["yes"].to_numpy(), said["weight"].to_numpy(), *of_sides]


def pair(found: Comparison, head: str, target: str) -> object:
    return next(p for p in found.pairs if (p.head, p.target) == (head, target))


@pytest.mark.parametrize("head", ["codex", "gemma"])
@pytest.mark.parametrize("target", ["metaresearch", "bibliometrics", "open_science"])
def test_figures_of_both_are_those_of_scikit_learn(
    tiny_bundle: Path,
    tiny_labels: Path,
    written: Write,
    own_scores: pl.DataFrame,
    *,
    head: str,
    target: str,
) -> None:
    other = written()
    found = pair(asked(tiny_bundle, other, tiny_labels), head, target)
    yes, weight, a, b = columns(tiny_labels, head, target, own_scores, pl.read_parquet(other))
    assert (found.works, found.positives) == (len(yes), yes.sum()) == (285, yes.sum())
    assert found.effective_positives == pytest.approx(effective(weight[yes]))
    for ranked, sample_weight in ((found.plain, None), (found.weighted, weight)):
        for figure, metric in (
            (ranked.average_precision, average_precision_score),
            (ranked.auroc, roc_auc_score),
        ):
            of_a = metric(yes, a, sample_weight=sample_weight)
            of_b = metric(yes, b, sample_weight=sample_weight)
            assert figure.a == pytest.approx(of_a, abs=SAME)
            assert figure.b == pytest.approx(of_b, abs=SAME)
            assert figure.difference.value == pytest.approx(of_b - of_a, abs=SAME)


def test_limits_are_of_differences_in_the_same_replicates_within_strata(
    tiny_bundle: Path, tiny_labels: Path, written: Write, own_scores: pl.DataFrame
) -> None:
    other = written()
    found = pair(asked(tiny_bundle, other, tiny_labels, seed=7), "gemma", "metaresearch").weighted
    labels = read_label_table(tiny_labels)
    known = labels.judged("gemma", "metaresearch")
    yes, weight, a, b = columns(
        tiny_labels, "gemma", "metaresearch", own_scores, pl.read_parquet(other)
    )
    design = Design.of(labels.weight, labels.stratum)
    assert len(design.drawn) == 3
    judged = design.again(known)

    def with_doubles(of_known: np.ndarray) -> np.ndarray:
        whole = np.zeros(len(known))
        whole[known] = of_known
        return design.again(whole)[judged]

    drawn = np.concatenate(list(design.blocks(100, seed=7)), axis=1)[judged]
    answers = design.either(labels.positive("gemma", "metaresearch"))[judged]
    differences = [
        average_precision_score(answers, with_doubles(b), sample_weight=w)
        - average_precision_score(answers, with_doubles(a), sample_weight=w)
        for w in drawn.T
    ]
    reach = t.ppf(0.975, effective(weight[yes]) - 1) * np.std(differences[1:], ddof=1)
    told = found.average_precision.difference
    assert told.low == pytest.approx(differences[0] - reach, abs=SAME)
    assert told.high == pytest.approx(differences[0] + reach, abs=SAME)


def test_what_moves_both_alike_takes_no_part_in_the_limits(
    tiny_bundle: Path, tiny_labels: Path, written: Write, own_scores: pl.DataFrame
) -> None:
    found = pair(asked(tiny_bundle, written(noise=0.05), tiny_labels), "gemma", "metaresearch")
    labels = read_label_table(tiny_labels)
    design = Design.of(labels.weight, labels.stratum)
    score = own_scores["score_gemma_metaresearch"].to_numpy()
    known = labels.judged("gemma", "metaresearch")
    yes = labels.positive("gemma", "metaresearch") & known
    noisy = pl.read_parquet(written(noise=0.3))["score_gemma_metaresearch"].to_numpy()
    alone = replicated(
        {"": Ranking.of(design.again(noisy), design.either(yes), design.again(known))},
        design,
        100,
        0,
    )[""][0]
    assert score.shape == noisy.shape
    own = share(alone, effective(design.weight[yes]))
    told = found.weighted.average_precision.difference
    assert told.high - told.low < (own.high - own.low) / 2


def test_a_difference_has_limits_from_ten_positives_on(
    tiny_bundle: Path, tiny_labels: Path, written: Write, tmp_path: Path
) -> None:
    some = tmp_path / "some.parquet"
    pl.read_parquet(tiny_labels).head(90).write_parquet(some)
    pairs = [p for p in asked(tiny_bundle, written(), some).pairs if p.why is None]
    few = [p for p in pairs if p.positives < 10]
    assert 0 < len(few) < len(pairs)
    for found in pairs:
        told = found.plain.average_precision.difference
        assert told.value is not None
        if found in few:
            assert (told.low, told.high) == (None, None)
            assert told.why == f"no limits: too few positives: {found.positives}; needed 10"
        else:
            assert told.low <= told.value <= told.high
            assert told.why is None


def test_means_are_over_pairs_with_twenty_positives(
    tiny_bundle: Path, tiny_labels: Path, written: Write
) -> None:
    found = asked(tiny_bundle, written(), tiny_labels)
    enough = [p for p in found.pairs if p.positives >= 20]
    assert 0 < len(enough) < len(found.pairs)
    (mean,) = found.means
    assert (mean.without, mean.pairs) == (None, len(enough))
    for weighting in ("plain", "weighted"):
        for metric in ("average_precision", "auroc"):
            beside: Beside = getattr(getattr(mean, weighting), metric)
            of_pairs = [getattr(getattr(p, weighting), metric) for p in enough]
            assert beside.a == pytest.approx(np.mean([f.a for f in of_pairs]))
            assert beside.b == pytest.approx(np.mean([f.b for f in of_pairs]))
            assert beside.difference.low < beside.b - beside.a < beside.difference.high


def test_the_mean_is_also_told_without_what_is_called_by_rule(
    tiny_bundle: Path, make_labels: Callable[..., pl.DataFrame], written: Write, tmp_path: Path
) -> None:
    """Of 600 works the teachers declined 30; a bundle's untitled ones are no part of it."""
    title = pl.when(pl.col("title").str.starts_with("scan")).then(
        pl.lit("A scanned page of a book")
    )
    labels = make_labels(600, seed=2).with_columns(title=title.otherwise("title"))
    labels.write_parquet(tmp_path / "more.parquet")
    found = asked(tiny_bundle, tiny_bundle, tmp_path / "more.parquet")
    assert [mean.without for mean in found.means] == [None, "insufficient_payload"]
    assert found.means[0].pairs == found.means[1].pairs + 2


def test_a_bundle_is_scored_as_a_run_scores_the_labelled_works(
    tiny_bundle: Path, tiny_labels: Path, tmp_path: Path
) -> None:
    scored = tmp_path / "labelled.parquet"
    run(RunRequest(frame=tiny_labels, output=scored, model=str(tiny_bundle)))
    found = asked(tiny_bundle, scored, tiny_labels)
    assert found.same
    assert (found.a.kind, found.b.kind) == ("bundle", "scored file")
    assert found.a.works == found.b.works == found.compared
    assert "A and B give every compared work the same scores: nothing differs" in found.notes
    assert found.moved == ()
    for beside in (p.plain.average_precision for p in found.pairs if p.plain):
        difference = beside.difference
        assert (difference.value, difference.low, difference.high) == (0, 0, 0)


def test_the_same_student_twice_is_said(tiny_bundle: Path, tiny_labels: Path) -> None:
    found = asked(tiny_bundle, tiny_bundle, tiny_labels)
    assert f"A and B are the same student, {found.a.model_version}" in found.notes


def test_a_student_of_these_very_labels_is_said_to_be_flattered(
    tiny_bundle: Path, tiny_labels: Path, written: Write, tmp_path: Path
) -> None:
    scored = tmp_path / "labelled.parquet"
    run(RunRequest(frame=tiny_labels, output=scored, model=str(tiny_bundle)))
    found = asked(tiny_bundle, scored, tiny_labels)
    assert found.a.learned_from_labels
    assert found.b.learned_from_labels, "the bundle on the other side tells of its scored file"
    assert found.notes[0] == (
        f"{tiny_bundle}: {found.a.model_version} learned from these very labels, so its figures "
        "flatter it; give the file that scorer train --out-of-fold FILE keeps instead"
    )
    honest = asked(tiny_bundle, written(), tiny_labels)
    assert not honest.b.learned_from_labels
    assert [note for note in honest.notes if "flatter" in note] == [found.notes[0]]
    other = pl.read_parquet(tiny_labels)[:290]
    other.write_parquet(tmp_path / "other-labels.parquet")
    assert not asked(tiny_bundle, scored, tmp_path / "other-labels.parquet").a.learned_from_labels


def test_the_works_that_moved_most_are_those_of_the_largest_difference(
    tiny_bundle: Path, tiny_labels: Path, written: Write, own_scores: pl.DataFrame
) -> None:
    other = written()
    found = asked(tiny_bundle, other, tiny_labels, top=25)
    scores = pl.read_parquet(other)
    labels = read_label_table(tiny_labels)
    largest: dict[str, tuple[float, str, str]] = {}
    for p in found.pairs:
        name = f"score_{p.head}_{p.target}"
        judged = labels.judged(p.head, p.target)
        for row, work in enumerate(labels.works["id"]):
            distance = abs(float(scores[name][row]) - float(own_scores[name][row]))
            title = labels.works["title"][row]
            before = largest.get(work, (0.0, "", ""))[0]
            if judged[row] and len(title) > 10 and distance > before:
                largest[work] = (distance, p.head, p.target)
    expected = sorted(largest, key=lambda work: (-np.float32(largest[work][0]), work))[:25]
    assert [work.id for work in found.moved] == expected
    titled = (labels.works["title"].str.len_chars() > 10).to_numpy()
    titles = dict(labels.works.select("id", "title").rows())
    for work in found.moved:
        assert (work.head, work.target) == largest[work.id][1:]
        assert work.title == titles[work.id]
        row = labels.works["id"].index_of(work.id)
        assert work.yes == labels.positive(work.head, work.target)[row]
        name = f"score_{work.head}_{work.target}"
        assert (work.a, work.b) == (own_scores[name][row], scores[name][row])
        judged = labels.judged(work.head, work.target) & titled
        above = (scores[name].to_numpy()[judged] > np.float32(work.b)).sum()
        assert (work.place_b, work.judged) == (above + 1, judged.sum())


def test_none_are_listed_where_none_are_asked_for(
    tiny_bundle: Path, tiny_labels: Path, written: Write
) -> None:
    assert asked(tiny_bundle, written(), tiny_labels, top=0).moved == ()


def test_works_that_one_side_lacks_are_left_out_and_counted(
    tiny_bundle: Path, tiny_labels: Path, written: Write, own_scores: pl.DataFrame
) -> None:
    other = written(scores=own_scores[40:])
    found = asked(tiny_bundle, other, tiny_labels)
    assert (found.labelled, found.b.works) == (300, 260)
    titled = read_label_table(tiny_labels).works["title"].str.len_chars() > 10
    assert found.compared == titled[40:].sum()
    assert (
        f"{other}: has no score of 40 labelled works, first W1; they are left out on both sides"
        in found.notes
    )
    yes, _, _, b = columns(tiny_labels, "gemma", "metaresearch", own_scores, own_scores)
    later = np.arange(len(yes)) >= len(yes) - pair(found, "gemma", "metaresearch").works
    figure = pair(found, "gemma", "metaresearch").plain.average_precision
    assert figure.a == pytest.approx(average_precision_score(yes[later], b[later]), abs=SAME)


def test_labels_without_weights_have_plain_figures_alone(
    tiny_bundle: Path, tiny_labels: Path, written: Write, tmp_path: Path
) -> None:
    labels = tmp_path / "plain.parquet"
    pl.read_parquet(tiny_labels).drop("weight", "stratum").write_parquet(labels)
    found = asked(tiny_bundle, written(), labels)
    assert found.strata == 1
    assert {p.weighted for p in found.pairs} == {None}
    assert found.means[0].weighted is None
    assert f"{labels}: no column 'weight', so there are plain figures alone" in found.notes


def test_a_target_with_one_class_has_a_reason_in_place_of_figures(
    tiny_bundle: Path, tiny_labels: Path, written: Write, tmp_path: Path
) -> None:
    without = pl.col("codex_categories").list.set_difference(["metaresearch"])
    pl.read_parquet(tiny_labels).with_columns(without).write_parquet(tmp_path / "one.parquet")
    found = asked(tiny_bundle, written(), tmp_path / "one.parquet")
    one = pair(found, "codex", "metaresearch")
    assert (one.plain, one.why) == (None, "one class: no work is a yes")
    assert pair(found, "gemma", "metaresearch").why is None
    assert all(p.target != "sts" for p in found.pairs if p.head == "codex"), (
        "codex never learned it"
    )


def test_what_one_side_alone_has_learned_is_told(
    tiny_bundle: Path, tiny_labels: Path, written: Write, student: Student
) -> None:
    targets = student.manifest.targets
    heads = (targets.heads[0], Head(name="gemma", unavailable=("open_science",)))
    found = asked(
        tiny_bundle, written(targets=targets.model_copy(update={"heads": heads})), tiny_labels
    )
    assert f"{tiny_bundle}: scores alone, not compared: gemma/open_science" in found.notes


def test_a_column_that_the_bundle_reads_and_the_labels_lack_is_told(
    tiny_bundle: Path, tiny_labels: Path, written: Write, tmp_path: Path
) -> None:
    pl.read_parquet(tiny_labels).drop("venue").write_parquet(tmp_path / "less.parquet")
    found = asked(tiny_bundle, written(), tmp_path / "less.parquet")
    assert (
        f"{tiny_bundle}: reads venue, which less.parquet lacks: it scores worse without"
        in found.notes
    )


def test_scripts_and_tables_get_every_figure_and_the_status(
    tiny_bundle: Path, tiny_labels: Path, written: Write
) -> None:
    found = asked(tiny_bundle, written(), tiny_labels)
    told = content(found)
    assert told["prediction_status"] == STAMP
    assert told["a"]["learned_from_labels"] is True
    first = told["pairs"][0]["weighted"]["auroc"]
    assert set(first) == {"a", "b", "difference"}
    assert set(first["difference"]) == {"value", "low", "high"}
    rows = table(found)
    assert set(rows["prediction_status"]) == {STAMP}
    assert rows.height == len(found.pairs)
    assert rows["auroc_weighted_difference_low"][0] == first["difference"]["low"]


def refused(kind: type[ScorerError], *words: object, **options: object) -> str:
    with pytest.raises(kind) as error:
        asked(*words, **options)
    return str(error.value)


def test_a_name_that_is_nothing_is_told(tiny_bundle: Path, tiny_labels: Path) -> None:
    told = refused(UsageError, tiny_bundle, Path("no-such-thing"), tiny_labels)
    assert told.splitlines()[0] == "no-such-thing: neither a file nor a bundle."
    assert "Give a bundle's folder, a shipped one (" in told


def test_a_folder_of_that_name_does_not_hide_a_shipped_bundle(
    tiny_labels: Path, shipped_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / shipped_bundle.name).mkdir()
    monkeypatch.chdir(tmp_path)
    found = asked(Path(shipped_bundle.name), Path(shipped_bundle.name), tiny_labels)
    assert found.a.model_version.startswith(shipped_bundle.name)


def test_a_file_that_is_neither_is_told(tiny_bundle: Path, tiny_labels: Path) -> None:
    assert refused(InputError, tiny_bundle, tiny_labels, tiny_labels) == (
        f"{tiny_labels}: neither a scored file (no labels.parquet.meta.json beside it) nor the "
        "out-of-fold scores of scorer train.\nCopy the manifest along with the file, or score "
        "again: scorer run"
    )


def test_nothing_in_common_is_told(
    tiny_bundle: Path, tiny_labels: Path, written: Write, own_scores: pl.DataFrame, student: Student
) -> None:
    names = {name: name.replace("_gemma_", "_other_") for name in own_scores.columns}
    heads = (Head(name="other"),)
    targets = student.manifest.targets.model_copy(update={"heads": heads})
    other = written(scores=own_scores.rename(names), targets=targets)
    assert refused(UsageError, tiny_bundle, other, tiny_labels) == (
        "A, B and the labels have no head and target in common.\n"
        "A: codex, gemma on metaresearch, bibliometrics, sts, open_science, insufficient_payload, …"
        "; B: other on metaresearch, bibliometrics, sts, open_science, insufficient_payload, …; "
        "labels: codex, gemma on metaresearch, bibliometrics, sts, open_science, "
        "insufficient_payload, …."
    )


def test_a_target_that_is_not_in_common_is_told(
    tiny_bundle: Path, tiny_labels: Path, written: Write
) -> None:
    told = refused(UsageError, tiny_bundle, written(), tiny_labels, targets=("metresearch",))
    assert told.splitlines()[0] == (
        "--target metresearch: not a target that A, B and the labels have in common."
    )
    found = asked(tiny_bundle, written(), tiny_labels, targets=("bibliometrics",))
    assert {p.target for p in found.pairs} == {"bibliometrics"}


def test_a_target_that_is_not_in_common_is_told_before_a_bundle_scores(
    tiny_bundle: Path, tiny_labels: Path, written: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare_sides, "_scored", lambda *_: pytest.fail("scored before"))
    for sides in ((tiny_bundle, tiny_bundle), (written(), tiny_bundle)):
        refused(UsageError, *sides, tiny_labels, targets=("metresearch",))


def test_scores_of_no_common_work_are_told(
    tiny_labels: Path, written: Write, own_scores: pl.DataFrame
) -> None:
    one = written(scores=own_scores[:100], name="one.parquet")
    other = written(scores=own_scores[100:], name="other.parquet")
    assert refused(InputError, one, other, tiny_labels) == (
        f"{one} and {other}: no labelled work has a score in both.\nGive scores of the same works."
    )


def test_labels_of_one_class_are_told(
    tiny_bundle: Path, tiny_labels: Path, written: Write, tmp_path: Path
) -> None:
    labels = tmp_path / "one.parquet"
    says = [pl.lit(["metaresearch"]).alias(f"{head}_categories") for head in ("codex", "gemma")]
    table = pl.read_parquet(tiny_labels).with_columns(says)
    table.drop("codex_about_ca_topic", "gemma_about_ca_topic").write_parquet(labels)
    assert refused(InputError, tiny_bundle, written(), labels) == (
        f"{labels}: among the works that both sides scored, no head and target has a yes and a "
        "no, so nothing can be ranked.\nCompare on labels of more works."
    )
