"""What `call` does not take: scores without calls, changed files, places that are taken."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from decisions import nullable

from scorer.decide.called import count_calls
from scorer.engine.call import CallRequest, call
from scorer.engine.files import sha256
from scorer.engine.manifest import manifest_path, read_manifest
from scorer.engine.request import RunRequest
from scorer.engine.run import run
from scorer.errors import InputError, OutputError, PolicyError, RefusedError, UsageError
from scorer.policy.policy import Policy
from scorer.student.bundle import Student


@pytest.fixture
def copied(parted: Path, tmp_path: Path) -> Path:
    """A copy of the scored file and its manifest that the test may damage."""
    path = tmp_path / "scores.parquet"
    shutil.copy(parted, path)
    shutil.copy(manifest_path(parted), manifest_path(path))
    return path


@pytest.fixture
def crafted(copied: Path) -> Callable[..., Path]:
    """Change the copy's table; its manifest has the right size and hash."""

    def write(damage: Callable[[pa.Table], pa.Table]) -> Path:
        pq.write_table(damage(nullable(pq.read_table(copied))), copied, row_group_size=64)
        content = json.loads(manifest_path(copied).read_text())
        content["output"] |= {"size": copied.stat().st_size, "sha256": sha256(copied)}
        manifest_path(copied).write_text(json.dumps(content))
        return copied

    return write


def in_row(name: str, row: int, value: object) -> Callable[[pa.Table], pa.Table]:
    def damage(table: pa.Table) -> pa.Table:
        field, values = table.schema.field(name), table[name].to_pylist()
        values[row] = value
        if pa.types.is_dictionary(field.type):
            column = pa.array(values, pa.string()).dictionary_encode()
        else:
            column = pa.array(values, field.type)
        return table.set_column(table.schema.get_field_index(name), field, column)

    return damage


def refused(kind: type[Exception], request: CallRequest) -> str:
    """Call; return the error's text; nothing is written, and nothing left lying about."""
    there = sorted(path.name for path in request.output.parent.iterdir())
    with pytest.raises(kind) as caught:
        call(request)
    assert sorted(path.name for path in request.output.parent.iterdir()) == there
    return str(caught.value)


def test_a_file_of_scores_only_is_refused(
    request_for: Callable[..., RunRequest],
    call_for: Callable[..., CallRequest],
    immature_bundle: Path,
) -> None:
    scores = request_for(model=str(immature_bundle), baseline=True)
    run(scores)
    status = read_manifest(scores.output).score_status
    assert status.startswith("score_only:tiny@")
    assert refused(RefusedError, call_for(scores=scores.output)) == (
        f"{scores.output}: says {status}: its student's maturity gate has not passed, so no calls "
        "can be made from it.\n"
        "Score the frame with a bundle whose gate has passed: scorer models"
    )
    assert RefusedError.exit_code == 5


def test_rows_that_say_score_only_are_refused_whatever_the_manifest_says(
    call_for: Callable[..., CallRequest], crafted: Callable[..., Path]
) -> None:
    scores = crafted(in_row("score_status", 150, "score_only:tiny@0123456789ab"))
    assert refused(RefusedError, call_for(scores=scores)) == (
        f"{scores}: says score_only:tiny@0123456789ab: its student's maturity gate has not "
        "passed, so no calls can be made from it.\n"
        "Score the frame with a bundle whose gate has passed: scorer models"
    )


@pytest.mark.parametrize("column", ["prediction_status", "model_version", "score_status"])
@pytest.mark.parametrize("said", ["another", None])
def test_rows_of_another_status_are_refused(
    call_for: Callable[..., CallRequest],
    crafted: Callable[..., Path],
    column: str,
    said: str | None,
) -> None:
    scores = crafted(in_row(column, 199, said))
    word = pq.read_table(scores)[column][0].as_py()
    assert refused(InputError, call_for(scores=scores)) == (
        f"{scores}: some rows do not say {word}; they were changed after scoring.\n"
        "Score the frame again: scorer run --overwrite"
    )


def test_a_file_that_was_changed_after_scoring_is_refused(
    call_for: Callable[..., CallRequest], copied: Path
) -> None:
    content = copied.read_bytes()
    at = content.rindex(b"parquet-cpp")
    copied.write_bytes(content[:at] + b"q" + content[at + 1 :])
    said = read_manifest(copied).output.sha256
    assert refused(InputError, call_for(scores=copied)) == (
        f"{copied}: sha256 is {sha256(copied)[:12]}…, its manifest says {said[:12]}…: "
        "changed after scoring; nothing was written.\n"
        "Copy it again, or score the frame again."
    )


@pytest.mark.parametrize("codec", ["snappy", "gzip", "lz4", "none"])
def test_a_file_that_another_program_wrote_anew_is_refused(
    call_for: Callable[..., CallRequest], copied: Path, codec: str
) -> None:
    """With statistics, pages and a codec of its own, which `call` must be able to read past."""
    pq.write_table(pq.read_table(copied), copied, compression=codec, row_group_size=50)
    text = refused(InputError, call_for(scores=copied))
    assert "changed after scoring; nothing was written." in text


def test_the_old_output_stays_where_the_new_one_is_refused(
    call_for: Callable[..., CallRequest], copied: Path
) -> None:
    output = call_for().output
    call(call_for())
    before = sha256(output)
    copied.write_bytes(copied.read_bytes().replace(b"parquet-cpp", b"parquet-qpp"))
    refused(InputError, call_for(scores=copied, overwrite=True))
    assert sha256(output) == before == read_manifest(output).output.sha256


@pytest.mark.parametrize("score", [float("nan"), 1.5, -0.25])
def test_a_score_out_of_range_is_refused(
    call_for: Callable[..., CallRequest], crafted: Callable[..., Path], score: float
) -> None:
    scores = crafted(in_row("score_codex_metaresearch", 70, score))
    text = refused(InputError, call_for(scores=scores, threads=1))
    assert text.startswith(f"{scores}: column 'score_codex_metaresearch'")
    assert text.endswith(
        f": the score is {score}, expected 0 to 1.\n"
        "The file was changed after scoring: score the frame again with scorer run."
    )


def test_a_missing_score_is_refused(
    call_for: Callable[..., CallRequest], crafted: Callable[..., Path]
) -> None:
    scores = crafted(in_row("score_gemma_sts", 70, None))
    assert "column 'score_gemma_sts'" in refused(InputError, call_for(scores=scores))


def test_a_missing_manifest_is_told(call_for: Callable[..., CallRequest], copied: Path) -> None:
    manifest_path(copied).unlink()
    assert refused(InputError, call_for(scores=copied)) == (
        f"{copied}.meta.json: no manifest, so scores.parquet is not known to be complete.\n"
        "Copy the manifest along with the file, or score again with scorer run --overwrite."
    )


def test_a_file_that_is_not_there_is_told(
    call_for: Callable[..., CallRequest], tmp_path: Path
) -> None:
    text = refused(InputError, call_for(scores=tmp_path / "no.parquet"))
    assert text == f"{tmp_path}/no.parquet: no such file. Check the path."


def test_a_damaged_page_is_told_in_plain_words(
    call_for: Callable[..., CallRequest], copied: Path
) -> None:
    content = bytearray(copied.read_bytes())
    chunk = pq.read_metadata(copied).row_group(2).column(2)
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    content[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    copied.write_bytes(content)
    text = refused(InputError, call_for(scores=copied))
    assert text.startswith(f"{copied}: damaged (")
    assert text.endswith(").\nCopy it again, or score again.")


def test_a_frame_is_not_a_scored_file(
    call_for: Callable[..., CallRequest], copied: Path, tiny_frame: Path
) -> None:
    shutil.copy(tiny_frame, copied)
    assert refused(InputError, call_for(scores=copied)) == (
        f"{copied}: column 0 is id (large_string), expected id (string).\n"
        "Not a scored file of this version: score the frame again with scorer run."
    )


def test_a_policy_of_another_bundle_is_refused(
    call_for: Callable[..., CallRequest], policy: Policy, tmp_path: Path
) -> None:
    content = policy.model_dump(mode="json")
    content["entries"]["poetry"] = content["entries"].pop("sts")
    other = tmp_path / "other.json"
    other.write_text(json.dumps(content))
    assert refused(PolicyError, call_for(policy=other)) == (
        f"{other}: unknown target 'poetry'; the bundle has metaresearch, bibliometrics, sts, "
        "open_science, insufficient_payload, about_ca_topic.\n"
        "Use a policy that was made for this bundle."
    )


def test_an_output_that_exists_is_refused_and_may_be_overwritten(
    call_for: Callable[..., CallRequest],
) -> None:
    request = call_for()
    request.output.write_text("my only copy")
    assert refused(OutputError, request) == (
        f"{request.output}: exists already. Choose another output with -o, or say --overwrite."
    )
    assert request.output.read_text() == "my only copy"
    call(call_for(overwrite=True))
    assert sha256(request.output) == read_manifest(request.output).output.sha256


def test_the_scores_themselves_are_no_output(
    call_for: Callable[..., CallRequest], copied: Path, tmp_path: Path
) -> None:
    before = sha256(copied)
    link = tmp_path / "link.parquet"
    link.symlink_to(copied)
    for output in (copied, link):
        text = refused(UsageError, call_for(scores=copied, output=output, overwrite=True))
        assert text == (f"{copied}: the input itself cannot be the output. Choose another -o.")
    assert sha256(copied) == before


def test_the_policy_is_no_output(call_for: Callable[..., CallRequest], tmp_path: Path) -> None:
    policy = tmp_path / "policy.json"
    policy.write_text("{}")
    text = refused(UsageError, call_for(policy=policy, output=policy, overwrite=True))
    assert text == f"{policy}: the input itself cannot be the output. Choose another -o."
    assert policy.read_text() == "{}"


def test_majority_of_two_heads_is_refused(call_for: Callable[..., CallRequest]) -> None:
    assert refused(UsageError, call_for(mode="majority")) == (
        "mode majority: needs three heads or more, the student has 2.\n"
        "With two, more than half is both: --mode consensus."
    )
    assert refused(UsageError, call_for(mode="most")) == (
        "mode most: expected one of candidate, consensus, majority, both."
    )


def test_counting_calls_of_scores_only_is_refused_too(
    request_for: Callable[..., RunRequest], immature_bundle: Path, student: Student, policy: Policy
) -> None:
    scores = request_for(model=str(immature_bundle), baseline=True)
    run(scores)
    version = read_manifest(scores.output).model_version
    with pytest.raises(RefusedError, match="maturity gate has not passed, so no calls can be made"):
        count_calls(scores.output, version, student.manifest.targets, policy)
