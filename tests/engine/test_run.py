"""A frame scored end to end: schema, stamp, manifest, and what lies there at the end."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import scorer
import scorer.engine.job
import scorer.engine.run
from scorer.engine.manifest import RunManifest, read_manifest
from scorer.engine.progress import Silence
from scorer.engine.request import RunRequest
from scorer.engine.run import run
from scorer.engine.verify import verify
from scorer.errors import InputError, OutputError, PolicyError, RefusedError, UsageError
from scorer.policy.policy import Policy
from scorer.student.bundle import Student

STAMP = "machine_predicted_unvalidated"
HEADS = ["codex", "gemma"]
TARGETS = [
    *("metaresearch", "bibliometrics", "sts", "open_science", "insufficient_payload"),
    "about_ca_topic",
]


class Notes(Silence):
    """Progress that remembers what it was told."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.started: tuple[int, int] | None = None
        self.advanced: list[int] = []

    def start(self, total: int, done: int) -> None:
        self.started = (total, done)

    def advance(self, works: int) -> None:
        self.advanced.append(works)

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture
def whole(scored: Path) -> tuple[Path, RunManifest]:
    """The tiny frame scored once: output and manifest."""
    return scored, read_manifest(scored)


def test_the_schema_is_contract_four(whole: tuple[Path, RunManifest]) -> None:
    word, names = pa.dictionary(pa.int32(), pa.string()), pa.list_(pa.string())
    kinds = [*HEADS, "candidate", "consensus"]
    expected = [
        ("id", pa.string()),
        ("segment", word),
        *((f"score_{head}_{target}", pa.float32()) for head in HEADS for target in TARGETS),
        ("codex_categories", names),
        ("codex_flags", names),
        ("gemma_categories", names),
        ("gemma_flags", names),
        ("candidate_categories", names),
        ("candidate_flags", names),
        ("consensus_categories", names),
        ("consensus_flags", names),
        *((f"{kind}_domain", pa.string()) for kind in kinds),
        *((f"{kind}_genre", pa.string()) for kind in kinds),
        ("classification", word),
        ("teacher_disagreement", pa.float32()),
        ("threshold_uncertainty", pa.float32()),
        ("model_version", word),
        ("policy_version", word),
        ("score_status", word),
        ("prediction_status", word),
        ("usable_title", pa.bool_()),
        *((f"best_{kind}_domain", pa.string()) for kind in [*HEADS, "candidate"]),
    ]
    schema = pq.read_schema(whole[0])
    assert [(field.name, field.type) for field in schema] == expected


def test_every_row_and_the_metadata_carry_the_stamp(whole: tuple[Path, RunManifest]) -> None:
    output, manifest = whole
    rows = pl.read_parquet(output)
    assert rows.height == 200
    assert rows["prediction_status"].cast(pl.String).unique().to_list() == [STAMP]
    assert pq.read_metadata(output).metadata[b"prediction_status"] == STAMP.encode()
    assert manifest.prediction_status == STAMP


def test_every_row_names_model_policy_and_status(
    whole: tuple[Path, RunManifest], student: Student, policy: Policy
) -> None:
    said = pl.read_parquet(whole[0], columns=["model_version", "policy_version", "score_status"])
    assert said.cast(pl.String).unique().rows() == [
        (student.version, policy.version, f"calls:{student.version}")
    ]


def test_output_rows_stand_in_the_order_of_the_frame(
    whole: tuple[Path, RunManifest], tiny_frame: Path
) -> None:
    ids = pl.read_parquet(tiny_frame)["id"].str.strip_prefix("https://openalex.org/")
    assert ids.head(2).to_list() == ["W1", "W2"]
    assert pl.read_parquet(whole[0])["id"].to_list() == ids.to_list()


def test_works_without_a_usable_title_call_insufficient_payload_alone(
    whole: tuple[Path, RunManifest],
) -> None:
    rows = pl.read_parquet(whole[0]).head(3)  # null, empty, "Short"
    assert rows["segment"].cast(pl.String).to_list() == ["insufficient_payload"] * 3
    for kind in [*HEADS, "candidate", "consensus"]:
        assert rows[f"{kind}_categories"].to_list() == [["insufficient_payload"]] * 3
        assert rows[f"{kind}_flags"].to_list() == [[]] * 3
        assert rows[f"{kind}_genre"].to_list() == [None] * 3


def test_candidate_is_union_and_consensus_is_intersection(
    whole: tuple[Path, RunManifest],
) -> None:
    rows = pl.read_parquet(whole[0])
    apart = 0
    for row in rows.iter_rows(named=True):
        for what in ("categories", "flags"):
            codex, gemma = set(row[f"codex_{what}"]), set(row[f"gemma_{what}"])
            apart += codex != gemma
            assert set(row[f"candidate_{what}"]) == codex | gemma
            assert set(row[f"consensus_{what}"]) == codex & gemma
    assert apart > 0, "the frame shows no difference between the heads"


def test_the_classification_follows_the_mode(request_for: Callable[..., RunRequest]) -> None:
    found = {}
    for mode in ("both", "candidate", "consensus"):
        output = request_for().output.with_name(f"{mode}.parquet")
        run(request_for(mode=mode, output=output))
        rows = pl.read_parquet(output)
        consensus = rows["consensus_categories"].list.len() > 0
        candidate = rows["candidate_categories"].list.len() > 0
        found[mode] = (rows["classification"].cast(pl.String), candidate, consensus)
    for mode, (words, candidate, consensus) in found.items():
        assert candidate.sum() > consensus.sum() > 0
        assert (words == "none").sum() == (
            (~consensus).sum() if mode == "consensus" else (~candidate).sum()
        )
        assert (words == "consensus").sum() == (0 if mode == "candidate" else consensus.sum())


def test_the_manifest_counts_equal_a_recount(whole: tuple[Path, RunManifest]) -> None:
    output, manifest = whole
    rows, counts = pl.read_parquet(output), manifest.counts
    assert counts.rows == rows.height == 200
    for column, counted in (
        ("segment", counts.segments),
        ("classification", counts.classification),
    ):
        said = rows[column].cast(pl.String).value_counts()
        assert dict(said.iter_rows()) == {word: n for word, n in counted.items() if n}
    assert counts.segments == {"covered": 187, "insufficient_payload": 13, "excluded": 0}
    assert list(counts.calls) == TARGETS
    for target in TARGETS:
        what = "flags" if target == "about_ca_topic" else "categories"
        for kind in [*HEADS, "candidate", "consensus"]:
            recount = rows[f"{kind}_{what}"].list.contains(target).sum()
            assert counts.calls[target][kind] == recount, (target, kind)
    assert counts.calls["metaresearch"]["codex"] > 0


def test_the_manifest_tells_output_source_and_policy(
    whole: tuple[Path, RunManifest], tiny_frame: Path, student: Student, policy: Policy
) -> None:
    output, manifest = whole
    assert read_manifest(output) == manifest
    assert manifest.output.name == "out.parquet"
    assert manifest.output.size == output.stat().st_size
    assert manifest.output.sha256 == hashlib.sha256(output.read_bytes()).hexdigest()
    (source,) = manifest.sources
    assert (source.name, source.rows) == ("tiny.parquet", 200)
    assert source.size == tiny_frame.stat().st_size
    assert source.sha256 == hashlib.sha256(tiny_frame.read_bytes()).hexdigest()
    assert manifest.policy == policy
    assert manifest.policy_version == policy.version
    assert manifest.model_version == student.version
    assert manifest.score_status == f"calls:{student.version}"
    assert (manifest.model_licence, manifest.attribution) == ("CC0", "nobody")
    assert manifest.columns["title"] == "title"
    assert manifest.resumed_rows == 0
    assert "not ground truth" in manifest.limitations[0]
    assert manifest.software["scorer"] == scorer.__version__
    assert (manifest.made_by, manifest.frame) == ("run", manifest.sources)
    assert (manifest.direct, manifest.excluded) == ({}, None)
    assert set(manifest.software) == {
        *("scorer", "polars", "pyarrow", "onnxruntime", "numpy", "ftfy")
    }


def test_the_parts_are_gone_at_the_end(request_for: Callable[..., RunRequest]) -> None:
    request = request_for()
    run(request)
    assert sorted(path.name for path in request.output.parent.iterdir()) == [
        "out.parquet",
        "out.parquet.meta.json",
    ]


def test_the_default_output_lies_in_the_working_folder(
    request_for: Callable[..., RunRequest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run(request_for(output=None))
    assert (tmp_path / "tiny.scored.parquet").is_file()
    assert (tmp_path / "tiny.scored.parquet.meta.json").is_file()


@pytest.mark.usefixtures("small_shards")
def test_one_and_two_threads_give_the_same_bytes(request_for: Callable[..., RunRequest]) -> None:
    output = request_for().output
    one = run(request_for(threads=1))
    two = run(request_for(threads=2, output=output.with_name("two.parquet")))
    assert one.output.sha256 == two.output.sha256
    assert pq.ParquetFile(output).metadata.num_row_groups == 4


@pytest.mark.usefixtures("small_shards")
def test_progress_hears_of_every_work(request_for: Callable[..., RunRequest]) -> None:
    progress = Notes()
    run(request_for(), progress)
    assert progress.started == (200, 0)
    assert progress.advanced == [64, 64, 64, 8]
    assert progress.notes == []


@pytest.mark.parametrize(("limit", "rows"), [(0, 0), (7, 7), (66, 66), (10_000, 200)])
@pytest.mark.usefixtures("small_shards")
def test_limit_scores_the_first_works_alone(
    request_for: Callable[..., RunRequest], limit: int, rows: int, whole: tuple[Path, RunManifest]
) -> None:
    request = request_for(limit=limit)
    manifest = run(request)
    assert manifest.counts.rows == rows
    assert pl.read_parquet(request.output).equals(pl.read_parquet(whole[0]).head(rows))


def test_a_duplicate_behind_the_limit_does_not_matter(
    request_for: Callable[..., RunRequest], tmp_path: Path
) -> None:
    frame = tmp_path / "twice.parquet"
    pl.DataFrame(
        {"id": ["W1", "W2", "W1"], "title": ["Citation impact of journals"] * 3}
    ).write_parquet(frame)
    assert run(request_for(frame=frame, limit=2)).counts.rows == 2


def test_a_negative_limit_is_refused(request_for: Callable[..., RunRequest]) -> None:
    with pytest.raises(UsageError):
        run(request_for(limit=-1))


def test_a_frame_without_rows_gives_an_empty_valid_output(
    request_for: Callable[..., RunRequest], tmp_path: Path, whole: tuple[Path, RunManifest]
) -> None:
    frame = tmp_path / "empty.parquet"
    pl.DataFrame(schema={"id": pl.String, "title": pl.String}).write_parquet(frame)
    request = request_for(frame=frame)
    manifest = run(request)
    assert pq.read_schema(request.output).equals(pq.read_schema(whole[0]), check_metadata=True)
    assert pq.read_metadata(request.output).num_rows == 0
    assert manifest.counts.segments == {
        "covered": 0,
        "insufficient_payload": 0,
        "excluded": 0,
    }
    assert manifest.counts.classification == {}
    assert manifest.counts.calls["metaresearch"] == dict.fromkeys(
        [*HEADS, "candidate", "consensus"], 0
    )
    assert [check.name for check in verify(request.output) if check.offending] == []


def test_integer_ids_become_decimal_strings(
    request_for: Callable[..., RunRequest], tmp_path: Path
) -> None:
    frame = tmp_path / "integers.parquet"
    pl.DataFrame({"id": [10, 2], "title": ["Citation impact of journals", None]}).write_parquet(
        frame
    )
    request = request_for(frame=frame)
    run(request)
    assert pl.read_parquet(request.output)["id"].to_list() == ["10", "2"]


def test_the_frame_itself_is_no_output(
    request_for: Callable[..., RunRequest], tiny_frame: Path, tmp_path: Path
) -> None:
    frame = tmp_path / "frame.parquet"
    frame.write_bytes(tiny_frame.read_bytes())
    with pytest.raises((UsageError, OutputError)):
        run(request_for(frame=frame, output=frame, overwrite=True))
    assert frame.read_bytes() == tiny_frame.read_bytes()


def test_a_folder_as_output_is_refused_before_anything_is_scored(
    request_for: Callable[..., RunRequest], tmp_path: Path
) -> None:
    progress = Notes()
    with pytest.raises((OutputError, UsageError)):
        run(request_for(output=tmp_path, overwrite=True), progress)
    assert progress.started is None


def test_an_immature_bundle_is_refused(
    request_for: Callable[..., RunRequest], immature_bundle: Path
) -> None:
    with pytest.raises(RefusedError) as refused:
        run(request_for(model=str(immature_bundle)))
    lines = str(refused.value).splitlines()
    assert lines[0].endswith(": its maturity gate has not passed (still moves).")
    assert lines[0].startswith("tiny@")
    assert lines[1] == (
        "Use a bundle whose gate has passed (scorer models), or --baseline: scores, no calls."
    )
    assert refused.value.exit_code == 5
    assert list(request_for().output.parent.glob("out.parquet*")) == []


def test_a_policy_file_decides_the_calls(
    request_for: Callable[..., RunRequest], tmp_path: Path, policy: Policy
) -> None:
    never = policy.model_dump(mode="json")
    never["entries"]["metaresearch"]["codex"] = {"kind": "none", "reason": "off"}
    changed = Policy.model_validate(never)
    (tmp_path / "policy.json").write_text(changed.to_json())
    manifest = run(request_for(policy=tmp_path / "policy.json"))
    assert manifest.policy_version == changed.version != policy.version
    assert manifest.counts.calls["metaresearch"]["codex"] == 0
    assert manifest.counts.calls["metaresearch"]["gemma"] > 0
    assert manifest.counts.calls["metaresearch"]["consensus"] == 0


def test_a_policy_file_that_is_missing_is_told(request_for: Callable[..., RunRequest]) -> None:
    with pytest.raises(PolicyError, match=r"nowhere\.json: no such file\. Check the path\."):
        run(request_for(policy=Path("nowhere.json")))


def test_a_frame_that_changes_during_the_run_is_refused(
    request_for: Callable[..., RunRequest], tiny_frame: Path, tmp_path: Path
) -> None:
    frame = tmp_path / "changing.parquet"
    frame.write_bytes(tiny_frame.read_bytes())

    class Meddling(Silence):
        def advance(self, works: int) -> None:
            pl.DataFrame({"id": ["W1"], "title": ["Another frame altogether"]}).write_parquet(frame)

    with pytest.raises(InputError) as refused:
        run(request_for(frame=frame), Meddling())
    assert str(refused.value) == (
        f"{frame}: changed while it was read; no output was written.\n"
        "Give the command again when the file is finished."
    )
    assert not request_for().output.exists()
    assert run(request_for(frame=frame)).counts.rows == 1


def test_a_frame_with_a_damaged_page_keeps_the_parts_before_it(
    request_for: Callable[..., RunRequest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scorer.engine.job, "TITLES_A_BATCH", 5)
    frame = tmp_path / "damaged.parquet"
    works = pl.DataFrame(
        {"id": [f"W{n}" for n in range(40)], "title": [f"Citation impact {n}" for n in range(40)]}
    )
    works.write_parquet(frame, row_group_size=20, compression="zstd")
    title = pq.read_metadata(frame).row_group(1).column(1)
    content = bytearray(frame.read_bytes())
    at = title.dictionary_page_offset or title.data_page_offset
    content[at : at + title.total_compressed_size] = bytes(title.total_compressed_size)
    frame.write_bytes(content)
    with pytest.raises(InputError) as refused:
        run(request_for(frame=frame, threads=1))
    parts = tmp_path / "out.parquet.parts"
    assert (parts / "part-000002.parquet").is_file()
    assert not request_for().output.exists()
    first, second = str(refused.value).splitlines()
    assert first.startswith("damaged.parquet: damaged near row 20, in row group 1 (")
    assert second == "Copy or make the file again."
