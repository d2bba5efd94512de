"""A work's page from real files: every outcome, records of every kind, files that do not match."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import polars as pl
import pytest

from scorer.engine.call import CallRequest, call
from scorer.engine.manifest import RunManifest
from scorer.engine.request import RunRequest
from scorer.engine.run import run
from scorer.policy.policy import Policy, Silent
from scorer.report.facts import target_scores
from scorer.report.html import work_html
from scorer.report.language import Language, Texts
from scorer.report.page import Note, WorkPage
from scorer.report.show import ShowRequest, show
from scorer.report.words import PageWords
from scorer.targets import Binary, Head, Label, Targets

EN, FR = Texts(Language.en), Texts(Language.fr)
Show = Callable[..., WorkPage]


@pytest.fixture(scope="module")
def scored(tiny_frame: Path, tiny_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny frame, scored."""
    output = tmp_path_factory.mktemp("scored") / "tiny.scored.parquet"
    run(RunRequest(frame=tiny_frame, output=output, model=str(tiny_bundle)))
    return output


@pytest.fixture
def page_of(scored: Path, tiny_frame: Path, tiny_bundle: Path) -> Show:
    """Show a work of the tiny frame, with changes to the request."""

    def made(work: str, **changes: object) -> WorkPage:
        request = {"scores": scored, "frame": str(tiny_frame), "models": [str(tiny_bundle)]}
        return show(ShowRequest(work, **(request | changes)))

    return made


def first(scored: Path, *conditions: pl.Expr) -> str:
    """Return the first work of a scored file that is as the conditions say."""
    rows = pl.read_parquet(scored).with_columns(pl.col(pl.Categorical).cast(pl.String))
    found: str = rows.filter(pl.col("segment") == "covered", *conditions)["id"][0]
    return found


def row_of(scored: Path, work: str) -> dict[str, object]:
    return pl.read_parquet(scored).filter(pl.col("id") == work).row(0, named=True)


def outcome(page: WorkPage) -> list[str]:
    return PageWords(page, EN).outcome()


def test_a_consensus_names_all_heads(page_of: Show, scored: Path) -> None:
    only = pl.col("consensus_categories") == pl.lit(["metaresearch"])
    same = pl.col("candidate_categories") == pl.lit(["metaresearch"])
    page = page_of(first(scored, only, same))
    assert (page.classification, page.called_by) == ("consensus", ("codex", "gemma"))
    assert outcome(page) == [
        "Machine, unvalidated.",
        "Consensus: all heads (codex and gemma) call Metaresearch.",
    ]
    called = next(target for target in page.targets if target.name == "metaresearch")
    assert (called.call, [one.called for one in called.heads]) == ("consensus", [True, True])


def test_a_candidate_names_its_one_head(page_of: Show, scored: Path) -> None:
    sole = pl.col("gemma_categories") == pl.lit(["sts"])
    page = page_of(first(scored, sole, pl.col("codex_categories").list.len() == 0))
    assert (page.classification, page.called_by) == ("candidate", ("gemma",))
    assert outcome(page)[1].startswith("Candidate from one head, gemma: it calls Science")
    assert PageWords(page, FR).outcome()[1].startswith("Candidat d'une seule tête, gemma\u00a0:")


def test_what_no_head_calls_is_none(page_of: Show, scored: Path) -> None:
    page = page_of(first(scored, pl.col("candidate_categories").list.len() == 0))
    assert (page.classification, page.called_by) == ("none", ())
    assert outcome(page)[1] == "None: no head calls a category."


def test_scores_and_calls_are_those_of_the_file(page_of: Show, scored: Path) -> None:
    work = first(scored, pl.col("consensus_categories").list.len() > 0)
    page, row = page_of(work), row_of(scored, work)
    assert page.classification == page.classification_in_file == row["classification"]
    for target in page.targets:
        what = "categories" if target.kind == "category" else "flags"
        for one in target.heads:
            assert one.called == (target.name in row[f"{one.head}_{what}"])
            if one.decided_by != "unavailable":
                assert one.score == row[f"score_{one.head}_{target.name}"]
    for axis in page.axes:
        for head, value in axis.heads.items():
            assert (value and value.name) == row[f"{head}_{axis.name}"]


def test_what_a_head_has_not_learned_has_no_score(page_of: Show) -> None:
    page = page_of("W21")
    sts = next(target for target in page.targets if target.name == "sts")
    assert (sts.heads[0].score, sts.heads[0].decided_by) == (None, "unavailable")
    assert sts.heads[1].score is not None
    say = PageWords(page, EN)
    assert say.decided(sts.heads[0]) == "not learned"
    assert "too few labels: Science and technology studies." in " ".join(say.heads()[0][1])


def test_a_head_without_support_is_told(page_of: Show) -> None:
    page = page_of("W21")
    few = next(target for target in page.targets if target.name == "open_science")
    assert {one.decided_by for one in few.heads} == {"support"}
    assert all(one.n_pos is not None and one.n_pos < 20 for one in few.heads)
    words = " ".join(PageWords(page, EN).heads()[0][1])
    assert "no call for want of support: Open science" in words


@pytest.mark.parametrize("work", ["W1", "W2", "W3"])
def test_without_a_usable_title_the_rule_decides(page_of: Show, work: str) -> None:
    page = page_of(work)
    assert (page.segment, page.classification) == ("insufficient_payload", "consensus")
    assert outcome(page)[1] == "By rule, for want of a usable title: Insufficient payload."
    assert any("By rule the only call is" in said.text for said in PageWords(page, EN).how())


def test_the_rule_has_a_row_where_the_student_has_no_such_target() -> None:
    label = Label(en="One", fr="Une")
    targets = Targets(
        heads=(Head(name="codex"),),
        binary=(
            Binary(name="one", kind="category", label=label),
            Binary(name="mark", kind="flag", label=label),
        ),
    )
    entries = {name: {"codex": Silent(reason="off")} for name in targets.binary_names}
    manifest = SimpleNamespace(targets=targets, policy=Policy(entries=entries))
    said = dict.fromkeys(("codex_categories", "candidate_categories", "consensus_categories"))
    rule = {name: ["insufficient_payload"] for name in said}
    flags = {name.replace("categories", "flags"): [] for name in said}
    row = rule | flags | {"segment": "insufficient_payload"}
    row |= {"score_codex_one": 0.25, "score_codex_mark": 0.5}
    shown_targets = target_scores(row, cast("RunManifest", manifest))
    assert [target.name for target in shown_targets] == ["one", "insufficient_payload", "mark"]
    assert [target.call for target in shown_targets] == ["none", "consensus", "none"]
    assert shown_targets[1].heads[0].score is None
    covered = row | {"segment": "covered"}
    assert [t.name for t in target_scores(covered, cast("RunManifest", manifest))] == [
        "one",
        "mark",
    ]


def test_titles_are_shown_without_markup_and_kept_as_given(page_of: Show) -> None:
    record = page_of("W4").record
    assert record is not None
    assert record.title == "Citation impact & journals of bees"
    assert record.title_as_given == "<i>Citation</i> impact &amp;amp; journals of bees"
    assert PageWords(page_of("W1"), EN).heading() == "(no title)"


def test_without_a_frame_there_is_the_id_alone(page_of: Show) -> None:
    page = page_of("W21", frame=None)
    assert (page.record, page.explanation) == (None, None)
    say = PageWords(page, EN)
    assert say.record() == [("Id", "W21")]
    assert say.record_end()[0].startswith("No frame was given")


@pytest.mark.parametrize("work", ["W21", "https://openalex.org/W21", " http://openalex.org/W21 "])
def test_an_id_comes_with_its_address_or_without(page_of: Show, work: str) -> None:
    assert page_of(work).id == "W21"


def test_labels_instead_of_a_head_are_told(page_of: Show, scored: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.json"
    labels.write_text(json.dumps([{"id": "W21", "categories": ["sts"]}]))
    direct = tmp_path / "direct.parquet"
    call(CallRequest(scored, output=direct, direct={"gemma": labels}))
    page = page_of("W21", scores=direct)
    assert page.origin.direct == ("gemma",)
    say = PageWords(page, EN)
    said = {target.name: say.decided(target.heads[1]) for target in page.targets}
    assert (said["sts"], said["metaresearch"]) == ("label: yes", "label: no")
    heads = say.heads()
    assert heads[0][1][0].startswith("codex is a learned head")
    assert heads[1][1][0].startswith("gemma is direct: its calls are labels that were given")
    assert "sts" in [target.name for target in page.targets if "gemma" in target.called_by]


def test_works_on_a_list_are_scored_and_not_called(
    page_of: Show, scored: Path, tmp_path: Path
) -> None:
    listed, excluded = tmp_path / "listed.txt", tmp_path / "excluded.parquet"
    listed.write_text("W21\n")
    call(CallRequest(scored, output=excluded, exclude_ids=listed))
    page = page_of("W21", scores=excluded)
    assert page.segment == "excluded"
    assert outcome(page)[1] == "None: the work is excluded from calls."


def test_scores_alone_lead_to_no_classification(
    page_of: Show, immature_bundle: Path, scored: Path, tiny_bundle: Path, tmp_path: Path
) -> None:
    alone = tmp_path / "alone.parquet"
    frame = page_of("W21")
    assert frame.baseline is None
    works = tmp_path / "works.parquet"
    pl.DataFrame({"id": ["W21"], "title": ["Citation impact of forest networks"]}).write_parquet(
        works
    )
    request = RunRequest(frame=works, output=alone, model=str(immature_bundle), baseline=True)
    status = run(request).score_status
    page = page_of("W21", scores=alone, frame=str(works), models=[str(immature_bundle)])
    assert (page.classification, page.called_by, page.threshold_uncertainty) == (None, (), None)
    assert page.score_status == status
    assert outcome(page)[1] == "None is made: the file holds scores alone."
    say = PageWords(page, EN)
    how = {said.text: said.verbatim for said in say.how()}
    assert how["Status of the scores, word for word:"] == status
    assert how["In the words of its bundle:"] == "still moves"
    assert f"{page.origin.model_version} was trained in 2 rounds." in how
    assert "Its maturity gate has not passed." in how
    assert say.heads() == [
        ("", ["No head calls anything: the student's maturity gate has not passed."])
    ]

    both = page_of("W21", baseline_scores=alone, models=[str(immature_bundle), str(tiny_bundle)])
    assert both.baseline is not None
    assert both.baseline.targets is not None
    assert both.baseline.targets == page.targets
    assert both.baseline.origin.score_status == status
    lacking = page_of("W22", baseline_scores=alone, models=[str(immature_bundle)])
    assert lacking.baseline is not None
    said = [one.text for one in PageWords(lacking, EN).baseline(lacking.baseline)]
    assert "alone.parquet does not hold this work." in said


def test_where_the_bundle_is_not_at_hand_the_page_says_so(page_of: Show) -> None:
    page = page_of("W21", models=[])
    assert (page.origin.student, page.explanation) == (None, None)
    assert page.notes == (Note("no_bundle", {"model": page.origin.model_version}),)
    how = [said.text for said in PageWords(page, EN).how()]
    assert "How many labels it learned from is not known here: its bundle is not at hand." in how


def test_the_same_works_in_another_file_are_noted_and_explained(
    page_of: Show, tiny_frame: Path, tmp_path: Path
) -> None:
    again = tmp_path / "again.csv"
    pl.read_parquet(tiny_frame).write_csv(again)
    page = page_of("W21", frame=str(again))
    assert page.explanation is not None
    assert [note.key for note in page.notes] == ["frame_differs"]
    assert PageWords(page, EN).notes()[0].startswith("again.csv is not the file that was scored")
    assert page_of("W21").notes == ()


def test_a_record_that_changed_since_is_told(
    page_of: Show, tiny_frame: Path, tmp_path: Path
) -> None:
    changed = tmp_path / "changed.parquet"
    pl.read_parquet(tiny_frame).with_columns(title=pl.lit("Peer review of bees")).write_parquet(
        changed
    )
    page = page_of("W21", frame=str(changed))
    assert page.explanation is None
    assert [note.key for note in page.notes] == ["frame_differs", "other_scores"]
    assert "Scored anew, the record in changed.parquet gets other" in PageWords(page, EN).notes()[1]


def test_parts_on_the_page_add_up_to_the_scores_of_the_file(page_of: Show, scored: Path) -> None:
    page, row = page_of("W21"), row_of(scored, "W21")
    assert page.explanation is not None
    assert len(page.explanation.scores) == 2 * len(page.targets) - 1  # codex never learned sts
    for part in page.explanation.scores:
        shown_units = sum(one.units for one in (*part.up, *part.down))
        assert part.bias + shown_units + part.other_units == part.total
        assert part.score == row[f"score_{part.head}_{part.target}"]
        assert max(len(part.up), len(part.down)) <= 5


def test_nothing_takes_the_stamp_off(page_of: Show) -> None:
    page = page_of("W21")
    facts = {name: getattr(page, name) for name in page.__slots__}
    with pytest.raises(ValueError, match="machine_predicted_unvalidated, always"):
        WorkPage(**(facts | {"prediction_status": "validated"}))


def test_the_same_files_give_the_same_bytes(page_of: Show, tmp_path: Path, scored: Path) -> None:
    one = page_of("W21")
    copy = tmp_path / scored.name
    for suffix in ("", ".meta.json"):
        shutil.copy(f"{scored}{suffix}", f"{copy}{suffix}")
    two = page_of("W21", scores=copy)
    assert one.to_json() == two.to_json()
    assert work_html(one, FR) == work_html(two, FR)


def test_a_pasted_address_shows_the_work(page_of: Show, scored: Path) -> None:
    work = first(scored, pl.lit(True))
    assert work.startswith("W")
    for address in (f"https://openalex.org/{work}", f"openalex.org/works/{work.lower()}"):
        assert page_of(address) == page_of(work)


def test_a_doi_s_address_shows_the_work_that_goes_by_it(tiny_bundle: Path, tmp_path: Path) -> None:
    frame, scores = tmp_path / "dois.parquet", tmp_path / "dois.scored.parquet"
    title = "Peer review and the reproducibility of trials"
    pl.DataFrame({"id": ["10.1/ab"], "title": [title]}).write_parquet(frame)
    run(RunRequest(frame=frame, output=scores, model=str(tiny_bundle)))
    page = show(
        ShowRequest("https://doi.org/10.1/AB", scores, frame=str(frame), models=[str(tiny_bundle)])
    )
    assert page.id == "10.1/ab"
    assert page.record is not None
    assert page.record.title == title
