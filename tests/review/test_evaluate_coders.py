"""Evaluation against coders: from the sheets that `sample` wrote, answered, to figures."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import openpyxl
import polars as pl
import pytest
from sklearn.metrics import (
    average_precision_score,
    cohen_kappa_score,
    precision_score,
    recall_score,
)

from scorer.engine.call import CallRequest, call
from scorer.errors import InputError, UsageError
from scorer.review.allocation import Allocation
from scorer.review.audit import write_audit
from scorer.review.evaluate import EvaluateRequest, evaluate
from scorer.review.evaluate_coders import Settled
from scorer.review.evaluate_results import Evaluation
from scorer.review.sample import SampleRequest, sample

TARGETS = ("metaresearch", "bibliometrics")
SAME = 1e-9
Answer = Callable[[str, str, int], str]
Coded = Callable[..., list[Path]]


def honest(target: str, work: str, coder: int) -> str:
    """Answer by the id alone; coder 2 differs on every ninth work, nobody is sure of every 13th."""
    number = int(work.removeprefix("W"))
    if number % 13 == 0:
        return "unsure"
    yes = (number * (7 if target == "metaresearch" else 11)) % 10 < 3
    return "yes" if yes != (coder == 2 and number % 9 == 0) else "no"


@pytest.fixture
def coded(made_scored: Path, made_frame: Path, tmp_path: Path) -> Coded:
    """Draw a sample, write its sheets and answer them: `coded(answer, coders=2, ending=".csv")`."""

    def make(
        answer: Answer = honest,
        *,
        coders: int = 2,
        ending: str = ".csv",
        allocation: Allocation = "neyman",
    ) -> list[Path]:
        request = SampleRequest(
            made_scored,
            240,
            ask=TARGETS,
            frame=made_frame,
            strata=("calls",),
            allocation=allocation,
        )
        drawn = sample(request)
        *sheets, _ = write_audit(drawn, tmp_path / f"audit{ending}", coders=coders, blind=True)
        for coder, path in enumerate(sheets, 1):
            fill(path, answer, coder)
        return sheets

    return make


def judged(scores: Path, sheets: list[Path], **changes: object) -> Evaluation:
    """Evaluate a scored file against sheets, with few replicates."""
    settings = {"sheets": tuple(sheets), "replicates": 100} | changes
    return evaluate(EvaluateRequest(scores, **settings))


def fill(path: Path, answer: Answer, coder: int) -> None:
    """Answer a sheet as a coder would, in the format that it has."""
    if path.suffix == ".csv":
        table = pl.read_csv(path, infer_schema=False)
        for target in TARGETS:
            said = [answer(target, work, coder) for work in table["id"]]
            table = table.with_columns(pl.Series(f"answer_{target}", said))
        table.write_csv(path, include_bom=True)
        return
    book = openpyxl.load_workbook(path)
    rows = book["answers"]
    header = [cell.value for cell in rows[1]]
    for row in rows.iter_rows(min_row=2):
        work = row[header.index("id")].value
        for target in TARGETS:
            row[header.index(f"answer_{target}")].value = answer(target, work, coder)
    book.save(path)


def known(made_scored: Path, sheets: list[Path], coder: int = 1) -> pl.DataFrame:
    """Return key and scored rows of the works of which the coder is sure, with `yes`."""
    key = pl.read_parquet(sheets[0].with_name("audit.key.parquet")).select("id", "weight")
    rows = key.join(pl.read_parquet(made_scored), on="id", maintain_order="left")
    said = pl.Series([honest("metaresearch", work, coder) for work in rows["id"]])
    return rows.with_columns(yes=said == "yes").filter(said != "unsure")


@pytest.mark.parametrize("ending", [".csv", ".xlsx"])
def test_figures_are_those_of_scikit_learn_by_the_design(
    made_scored: Path, coded: Coded, ending: str
):
    sheets = coded(coders=1, ending=ending)
    found = judged(made_scored, sheets)
    rows = known(made_scored, sheets)
    yes, by = rows["yes"].to_numpy(), {"sample_weight": rows["weight"].to_numpy()}
    called = rows["consensus_categories"].list.contains("metaresearch").to_numpy()
    lowest = rows.select(pl.min_horizontal("^score_.*_metaresearch$")).to_series().to_numpy()
    compared = found.whole.compared["metaresearch"]["consensus"]
    assert compared.works == len(yes)
    expected = average_precision_score(yes, lowest, **by)
    assert compared.average_precision.value == pytest.approx(expected, abs=SAME)
    assert compared.precision.value == pytest.approx(precision_score(yes, called, **by), abs=SAME)
    assert compared.recall.value == pytest.approx(recall_score(yes, called, **by), abs=SAME)
    assert list(found.whole.compared) == list(TARGETS)
    assert found.who == "coders"
    assert "takes no status off" in found.rule


def test_prevalence_is_weighted_and_agreement_is_between_the_coders(
    made_scored: Path, coded: Coded
):
    sheets = coded()
    found = judged(made_scored, sheets, settled=Settled.any)
    one, two = known(made_scored, sheets), known(made_scored, sheets, coder=2)
    weight = one["weight"].to_numpy()
    rates = found.whole.prevalence["metaresearch"]
    assert list(rates) == ["coder 1", "coder 2", "coders (any)"]
    expected = np.average(one["yes"].to_numpy(), weights=weight)
    assert rates["coder 1"].share.value == pytest.approx(expected)
    agreed = found.whole.agreement["metaresearch"][-1]
    assert (agreed.what, agreed.between) == ("answers", ("coder 1", "coder 2"))
    both = one["yes"].to_numpy(), two["yes"].to_numpy()
    kappa = cohen_kappa_score(*both, sample_weight=weight)
    assert agreed.kappa.value == pytest.approx(kappa, abs=SAME)
    either = np.logical_or(*both)
    assert found.whole.compared["metaresearch"]["codex"].positives == either.sum()


@pytest.mark.parametrize("settled", list(Settled))
def test_where_coders_differ_the_rule_decides(made_scored: Path, coded: Coded, settled: Settled):
    sheets = coded()
    found = judged(made_scored, sheets, settled=settled)
    one, two = (known(made_scored, sheets, coder)["yes"].to_numpy() for coder in (1, 2))
    compared = found.whole.compared["metaresearch"]["candidate"]
    works = {Settled.agreed: (one == two).sum()}.get(settled, len(one))
    yes = {Settled.any: one | two}.get(settled, one & two).sum()
    assert (compared.works, compared.positives) == (works, yes)
    told = [note for note in found.notes if note.startswith("coders differ in ")]
    assert len(told) == (settled == Settled.agreed)


def test_a_sample_of_fixed_allocation_is_said_to_have_wide_limits(made_scored: Path, coded: Coded):
    (note,) = judged(made_scored, coded(coders=1, allocation="fixed")).notes
    assert note.startswith("the sample was drawn with --allocation fixed: few heavy works")


def test_levels_of_the_sheets_can_be_split_by(made_scored: Path, coded: Coded):
    sheets = coded(coders=1)
    found = judged(made_scored, sheets, by=("year", "lang"))
    assert sum(section.works for section in found.groups["year"].values()) == 240
    assert list(found.groups["lang"]) == ["en"]


def test_a_blank_cell_is_an_error_that_names_it(made_scored: Path, coded: Coded):
    sheets = coded(lambda target, work, coder: "" if coder == 2 else honest(target, work, coder))
    with pytest.raises(InputError, match=r"audit\.coder2\.csv: cell \w+2 \(answer_metaresearch"):
        judged(made_scored, sheets)


def test_works_added_or_taken_away_are_named(made_scored: Path, coded: Coded):
    sheets = coded(coders=1)
    table = pl.read_csv(sheets[0], infer_schema=False)
    more = table.with_columns(
        pl.when(pl.int_range(pl.len()) == 4).then(pl.lit("W999999")).otherwise("id").alias("id")
    )
    more.write_csv(sheets[0])
    with pytest.raises(InputError, match=r"row 6: work W999999 is not in the sample of .*key"):
        judged(made_scored, sheets)
    table.slice(3).write_csv(sheets[0])
    gone = sorted(table["id"][:3])[0]
    with pytest.raises(InputError, match=f"works of the sample that have no row: 3, first {gone}"):
        judged(made_scored, sheets)


def test_the_same_sheet_twice_is_refused(made_scored: Path, coded: Coded):
    sheets = coded(coders=1)
    with pytest.raises(UsageError, match="Two sheets are of coder 1: "):
        judged(made_scored, [sheets[0], sheets[0]])


def test_a_sheet_without_its_key_says_where_it_is_looked_for(made_scored: Path, coded: Coded):
    sheets = coded(coders=1)
    key = sheets[0].with_name("audit.key.parquet")
    key.rename(key.with_name("elsewhere.parquet"))
    with pytest.raises(
        InputError, match=r"audit\.key\.parquet: no such file\. It tells the design"
    ):
        judged(made_scored, sheets)
    elsewhere = key.with_name("elsewhere.parquet")
    found = judged(made_scored, sheets, key=elsewhere)
    assert found.works == 240
    with pytest.raises(InputError, match="not the key of a sample that scorer sample wrote"):
        judged(made_scored, sheets, key=made_scored)


def test_scores_of_another_frame_are_an_error(made_scored: Path, coded: Coded, scored: Path):
    sheets = coded(coders=1)
    with pytest.raises(InputError, match=r"lacks [\d,]+ works of the sample, first W\d+\.\nGive"):
        judged(scored, sheets)


def test_an_audit_serves_another_policy_over_the_same_scores_and_says_so(
    made_scored: Path, coded: Coded, tmp_path: Path
):
    sheets = coded(coders=1)
    assert judged(made_scored, sheets).notes == ()
    direct = tmp_path / "direct.parquet"
    ids = pl.read_parquet(made_scored, columns=["id"])["id"]
    said = [["metaresearch"] if honest("metaresearch", work, 1) == "yes" else [] for work in ids]
    pl.DataFrame(
        {"id": ids, "categories": pl.Series(said, dtype=pl.List(pl.String))}
    ).write_parquet(direct)
    given = tmp_path / "given.parquet"
    call(CallRequest(scores=made_scored, output=given, direct={"gemma": direct}))
    found = judged(given, sheets)
    assert found.notes[0].startswith("the sample was drawn from made.scored.parquet, another file")
    # Direct labels that are just the coder's word: every call of theirs is right.
    compared = found.whole.compared["metaresearch"]
    assert (compared["gemma"].precision.value, compared["gemma"].recall.value) == (1.0, 1.0)
    assert compared["gemma"].precision.low < 1
    assert compared["codex"].precision.value < 1
