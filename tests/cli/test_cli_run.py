"""`scorer run`: what it shows, and each kind of bad input as a plain line with its exit code."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import scorer.engine.job
import scorer.engine.run
from scorer.cli.app import app
from scorer.engine.checkpoint import Checkpoint
from scorer.policy.policy import Policy
from scorer.student.bundle import Student

STATUS = "Status of every row: machine_predicted_unvalidated. Scores rank works for human review."
Run = Callable[..., Any]


@pytest.fixture
def score(scorer: Run, tiny_bundle: Path, tmp_path: Path) -> Run:
    """`scorer run FRAME` with the tiny bundle, to `out.parquet`, with what else is given."""

    def run(frame: Path, *options: object) -> Any:
        where = () if "-o" in options else ("-o", tmp_path / "out.parquet")
        model = () if "--model" in options else ("--model", tiny_bundle)
        return scorer("run", frame, *model, *where, *options)

    return run


@pytest.fixture
def make_frame(tmp_path: Path) -> Callable[..., Path]:
    """Write a frame of the given columns."""

    def make(**columns: Any) -> Path:
        path = tmp_path / "frame.parquet"
        pl.DataFrame(columns).write_parquet(path)
        return path

    return make


def cells(line: str) -> list[str]:
    return re.split(r"\s{2,}", line.strip())


def rows_of_table(text: str) -> dict[str, list[str]]:
    """Return the rows of the table in a command's output, by their first cell."""
    parsed = [cells(line) for line in text.splitlines()]
    return {row[0]: row[1:] for row in parsed if len(row) > 1}


def test_a_run_shows_a_row_a_target_and_the_status(score: Run, tiny_frame: Path) -> None:
    ended = score(tiny_frame)
    assert (ended.code, ended.err) == (0, "")
    table = rows_of_table(ended.out)
    assert table["works called, by target"] == ["codex", "gemma", "candidate", "consensus"]
    assert list(table)[1:] == [
        *("Metaresearch", "Bibliometrics", "Science and technology studies", "Open science"),
        *("Insufficient payload", "About a Canadian topic"),
    ]
    assert table["Science and technology studies"][0] == "0"
    codex, gemma, candidate, consensus = (int(n) for n in table["Metaresearch"])
    assert consensus <= min(codex, gemma) <= max(codex, gemma) <= candidate
    assert "200 works scored by tiny@" in ended.out
    assert "187 with a usable title (93.5 %)." in ended.out
    assert "Some heads make no call on some targets: see scorer thresholds." in ended.out
    assert ended.out.rstrip().endswith(STATUS)


@pytest.mark.parametrize(
    ("mode", "other"), [("consensus", "candidate"), ("candidate", "consensus")]
)
def test_a_mode_shows_its_own_combination_alone(
    score: Run, tiny_frame: Path, mode: str, other: str
) -> None:
    table = rows_of_table(score(tiny_frame, "--mode", mode).out)
    assert table["works called, by target"] == ["codex", "gemma", mode]
    assert other not in table["works called, by target"]


def test_both_sets_are_written_in_any_mode(score: Run, tiny_frame: Path, tmp_path: Path) -> None:
    score(tiny_frame, "--mode", "consensus")
    rows = pl.read_parquet(tmp_path / "out.parquet")
    assert rows["candidate_categories"].list.len().sum() > 0
    assert rows["consensus_categories"].list.len().sum() > 0


def test_json_is_the_manifest(score: Run, tiny_frame: Path, tmp_path: Path) -> None:
    ended = score(tiny_frame, "--json")
    said = json.loads(ended.out)
    assert said["prediction_status"] == "machine_predicted_unvalidated"
    assert said["counts"]["rows"] == 200
    assert said == json.loads((tmp_path / "out.parquet.meta.json").read_text())


def test_quiet_says_nothing(score: Run, tiny_frame: Path, tmp_path: Path) -> None:
    ended = score(tiny_frame, "--quiet")
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    assert (tmp_path / "out.parquet").is_file()


def test_the_path_of_the_output_stays_in_one_piece(
    score: Run, tiny_frame: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    output = tmp_path / ("a-name-that-is-longer-than-a-narrow-screen-" * 2 + ".parquet")
    assert str(output) in score(tiny_frame, "-o", output).out


def test_the_output_goes_to_the_working_folder(
    scorer: Run, tiny_frame: Path, tiny_bundle: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    assert scorer("run", tiny_frame, "--model", tiny_bundle).code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "tiny.scored.parquet",
        "tiny.scored.parquet.meta.json",
    ]


def test_options_reach_the_run(score: Run, tiny_frame: Path, tmp_path: Path) -> None:
    ended = score(tiny_frame, "--limit", 9, "--threads", 1, "--keep", "doi", "--map", "title=topic")
    assert ended.code == 0
    rows = pl.read_parquet(tmp_path / "out.parquet")
    assert (rows.height, rows.columns[-1]) == (9, "doi")
    meta = json.loads((tmp_path / "out.parquet.meta.json").read_text())
    assert meta["columns"]["title"] == "topic"


def test_a_run_that_scored_nothing_tells_no_pace(score: Run, tiny_frame: Path) -> None:
    assert " works/s" not in score(tiny_frame, "--limit", 0).out
    assert " works/s" in score(tiny_frame, "--limit", 9, "--overwrite").out


def test_progress_is_told_in_lines_where_there_is_no_terminal(
    score: Run, tiny_frame: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scorer.cli.tables._SECONDS_BETWEEN_LINES", 0.0)
    monkeypatch.setattr(scorer.engine.job, "TITLES_A_BATCH", 64)
    ended = score(tiny_frame)
    lines = ended.err.splitlines()
    assert [line.split(",")[0] for line in lines] == [
        f"{done} of 200 works" for done in (64, 128, 192)
    ]
    assert re.fullmatch(r"64 of 200 works, [\d,]+ works/s, [\d,]+ s left", lines[0])


def test_a_bar_is_shown_on_a_terminal(
    score: Run, tiny_frame: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    ended = score(tiny_frame)
    assert ended.code == 0
    assert "scoring" in ended.err
    assert "200/200" in ended.err
    assert "works/s" in ended.err


def test_the_same_through_typers_runner(
    tiny_frame: Path, tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    result = CliRunner().invoke(
        app,
        ["run", str(tiny_frame), "--model", str(tiny_bundle), "-o", str(tmp_path / "o.parquet")],
    )
    assert result.exit_code == 0
    assert STATUS in result.stdout


# Bad input of issue 2, line by line.


def test_no_such_file(score: Run) -> None:
    ended = score(Path("nowhere.parquet"))
    assert (ended.code, ended.err) == (3, "Error: nowhere.parquet: no such file. Check the path.\n")


def test_a_frame_in_another_format_than_its_name_says(score: Run, tmp_path: Path) -> None:
    path = tmp_path / "frame.parquet"
    path.write_text("id,title\nW1,Citation impact\n")
    ended = score(path)
    assert ended.code == 0
    assert ended.err == f"{path}: holds comma-separated text; read as that\n"


def test_an_empty_file(score: Run, tmp_path: Path) -> None:
    path = tmp_path / "frame.parquet"
    path.touch()
    ended = score(path)
    assert (ended.code, ended.err) == (3, f"Error: {path}: the file is empty. Make it again.\n")


def test_a_folder_as_frame(score: Run, tmp_path: Path) -> None:
    ended = score(tmp_path)
    assert ended.code == 3
    assert ended.err == f"Error: {tmp_path}: a folder with no data in it. Check the path.\n"


def test_truncated_parquet(score: Run, tiny_frame: Path, tmp_path: Path) -> None:
    path = tmp_path / "frame.parquet"
    path.write_bytes(tiny_frame.read_bytes()[:1500])
    ended = score(path)
    assert ended.code == 3
    assert ended.err == (
        f"Error: {path}: cut off: it starts as Parquet and lacks its end (size 1,500 bytes).\n"
        "Copy or make the file again.\n"
    )


def test_no_id_column(score: Run, make_frame: Callable[..., Path]) -> None:
    ended = score(make_frame(Work_ID=["W1"], title=["Citation impact"]))
    assert ended.code == 3
    assert ended.err == (
        "Error: frame.parquet: no column 'id'. Columns found: Work_ID, title.\n"
        "If it is 'Work_ID', say: --map id=Work_ID\n"
    )


def test_no_title_column(score: Run, make_frame: Callable[..., Path]) -> None:
    ended = score(make_frame(id=["W1"], Titre=["Citation impact"], year=[2020]))
    assert ended.code == 3
    assert ended.err == (
        "Error: frame.parquet: no column 'title'. Columns found: id, Titre, year.\n"
        "If it is 'Titre', say: --map title=Titre\n"
    )


def test_no_title_column_and_none_that_is_close(
    score: Run, make_frame: Callable[..., Path]
) -> None:
    ended = score(make_frame(id=["W1"], x=["Citation impact"]))
    assert ended.code == 3
    assert ended.err == (
        "Error: frame.parquet: no column 'title'. Columns found: id, x.\n"
        "If another column holds it, say: --map title=COLUMN\n"
    )


def test_null_ids(score: Run, make_frame: Callable[..., Path]) -> None:
    ids = [None, "W1", None, None, None, None, None]
    ended = score(make_frame(id=ids, title=["Citation impact"] * 7))
    assert ended.code == 3
    assert ended.err == (
        "Error: frame.parquet: null ids: 6, first in rows 0, 2, 3, 4, 5 (counted from 0).\n"
        "Every work needs an id: give these rows one, or leave them out.\n"
    )


def test_duplicate_ids(score: Run, make_frame: Callable[..., Path]) -> None:
    ids = [f"W{n}" for n in range(6)] * 2 + ["https://openalex.org/W3", "W9"]
    ended = score(make_frame(id=ids, title=["Citation impact"] * 14))
    assert ended.code == 3
    assert ended.err == (
        "Error: frame.parquet: ids that occur more than once: 6, first: W0 (2 times), "
        "W1 (2 times), W2 (2 times), W3 (3 times), W4 (2 times).\n"
        "Keep one row a work (ids that differ only in the OpenAlex URL prefix are the same).\n"
    )


def test_a_column_of_the_wrong_type(score: Run, make_frame: Callable[..., Path]) -> None:
    ended = score(make_frame(id=["W1"], title=[17]))
    assert ended.code == 3
    assert ended.err == (
        "Error: frame.parquet: column 'title' holds int64, expected a string for 'title'.\n"
        "Convert the column, or name another one: --map title=COLUMN\n"
    )


def test_ids_of_the_wrong_type(score: Run, make_frame: Callable[..., Path]) -> None:
    ended = score(make_frame(id=[1.5], title=["Citation impact"]))
    assert ended.code == 3
    assert ended.err == (
        "Error: frame.parquet: column 'id' holds double, expected a string or an integer "
        "for 'id'.\nConvert the column, or name another one: --map id=COLUMN\n"
    )


def test_a_year_that_no_calendar_has(score: Run, make_frame: Callable[..., Path]) -> None:
    """Null or an error that names the column, but no error of polars'."""
    ended = score(make_frame(id=["W1"], title=["Citation impact"], year=[10**12]))
    assert ended.code in {0, 3}
    assert len(ended.err.splitlines()) <= 2


def test_zero_rows_are_fine(scorer: Run, score: Run, tmp_path: Path) -> None:
    path = tmp_path / "frame.parquet"
    pq.write_table(
        pa.table({"id": pa.array([], pa.string()), "title": pa.array([], pa.string())}), path
    )
    ended = score(path)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == (
        f"No works in frame.parquet; {tmp_path}/out.parquet has no rows. Check that it is the "
        "one you mean.\n"
    )
    assert scorer("verify", tmp_path / "out.parquet").code == 0


def test_a_bundle_with_a_wrong_hash(score: Run, tiny_frame: Path, bundle_copy: Path) -> None:
    with (bundle_copy / "model.onnx").open("ab") as file:
        file.write(b"\0")
    ended = score(tiny_frame, "--model", bundle_copy)
    assert ended.code == 4
    first, second = ended.err.splitlines()
    assert re.fullmatch(
        rf"Error: {re.escape(str(bundle_copy))}/model\.onnx: sha256 is [0-9a-f]{{12}}…, "
        r"the manifest says [0-9a-f]{12}…",
        first,
    )
    assert second == ("The file was changed or damaged: copy the bundle again, or train it again.")


@pytest.mark.parametrize("name", ["model.onnx", "vocabulary.parquet", "policy.json", "README.md"])
def test_a_bundle_with_a_missing_file(
    score: Run, tiny_frame: Path, bundle_copy: Path, name: str
) -> None:
    (bundle_copy / name).unlink()
    ended = score(tiny_frame, "--model", bundle_copy)
    assert ended.code == 4
    assert ended.err == (
        f"Error: {bundle_copy}/{name}: missing. Copy the bundle again, or train it again.\n"
    )


def test_a_bundle_that_is_not_there(score: Run, tiny_frame: Path, tmp_path: Path) -> None:
    ended = score(tiny_frame, "--model", tmp_path / "none")
    assert ended.code == 4
    assert ended.err == (f"Error: {tmp_path}/none: no bundle there (bundle.json is missing).\n")


def test_a_bundle_that_names_a_file_outside_its_folder(
    score: Run, tiny_frame: Path, bundle_copy: Path, reseal: Callable[..., str]
) -> None:
    files = json.loads((bundle_copy / "bundle.json").read_text())["files"]
    reseal(bundle_copy, files=files | {"../labels.txt": "0" * 64})
    ended = score(tiny_frame, "--model", bundle_copy)
    assert ended.code == 4
    assert ended.err == (
        f"Error: {bundle_copy}: '../labels.txt' points out of the bundle's folder; not loaded.\n"
    )


def test_a_bundle_whose_weights_lie_outside_its_folder(
    score: Run, tiny_frame: Path, bundle_copy: Path, reseal: Callable[..., str]
) -> None:
    model = onnx.load(bundle_copy / "model.onnx")
    onnx.external_data_helper.convert_model_to_external_data(model, location="weights.bin")
    onnx.save(model, bundle_copy / "model.onnx")
    graph = onnx.load(bundle_copy / "model.onnx", load_external_data=False)
    for tensor in graph.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = "../weights.bin"
    (bundle_copy / "weights.bin").rename(bundle_copy.parent / "weights.bin")
    (bundle_copy / "model.onnx").write_bytes(graph.SerializeToString())
    reseal(bundle_copy)
    ended = score(tiny_frame, "--model", bundle_copy)
    assert ended.code == 4
    assert ended.err == (
        f"Error: {bundle_copy}/model.onnx: keeps weights in another file, which may lie anywhere; "
        "not loaded.\nA bundle holds its whole graph in model.onnx: save it as one file.\n"
    )


def test_a_bundle_with_an_output_of_the_wrong_shape(
    score: Run, tiny_frame: Path, bundle_copy: Path, reseal: Callable[..., str]
) -> None:
    model = onnx.load(bundle_copy / "model.onnx")
    renamed = {"codex/binary": "x", "codex/genre": "codex/binary"}
    for node in model.graph.node:
        node.output[:] = [renamed.get(name, name) for name in node.output]
    for output in model.graph.output:
        output.name = renamed.get(output.name, output.name)
    (bundle_copy / "model.onnx").write_bytes(model.SerializeToString())
    reseal(bundle_copy)
    ended = score(tiny_frame, "--model", bundle_copy)
    assert ended.code == 4
    assert ended.err == (
        f"Error: {bundle_copy}/model.onnx: output 'codex/binary' is tensor(float) ['B', 2], "
        "expected float32 [B, 6].\n"
    )


def edited(policy: Policy, path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    content = policy.model_dump(mode="json")
    change(content["entries"])
    path.write_text(json.dumps(content))
    return path


def test_a_policy_of_unknown_heads(
    score: Run, tiny_frame: Path, policy: Policy, tmp_path: Path
) -> None:
    path = edited(
        policy, tmp_path / "p.json", lambda e: e["sts"].update(claude=e["sts"].pop("gemma"))
    )
    ended = score(tiny_frame, "--policy", path)
    assert ended.code == 4
    assert ended.err == (
        f"Error: {path}: sts: unknown head 'claude'; the bundle has codex, gemma.\n"
        "Use a policy that was made for this bundle.\n"
    )


def test_a_policy_of_unknown_targets(
    score: Run, tiny_frame: Path, policy: Policy, tmp_path: Path
) -> None:
    path = edited(policy, tmp_path / "p.json", lambda e: e.update(alchemy=e.pop("sts")))
    ended = score(tiny_frame, "--policy", path)
    assert ended.code == 4
    assert ended.err == (
        f"Error: {path}: unknown target 'alchemy'; the bundle has metaresearch, bibliometrics, "
        "sts, open_science, insufficient_payload, about_ca_topic.\n"
        "Use a policy that was made for this bundle.\n"
    )


@pytest.mark.parametrize("content", ["[1]", "17", '"policy"', "null", "{", "{}", "\ufeff{}"])
def test_a_policy_file_that_holds_no_policy(
    score: Run, tiny_frame: Path, tmp_path: Path, content: str
) -> None:
    path = tmp_path / "p.json"
    path.write_text(content, encoding="utf-8")
    ended = score(tiny_frame, "--policy", path)
    assert ended.code == 4
    assert ended.err.startswith(f"Error: {path}: ")
    assert len(ended.err.splitlines()) <= 2


def test_an_output_folder_that_is_missing(score: Run, tiny_frame: Path, tmp_path: Path) -> None:
    ended = score(tiny_frame, "-o", tmp_path / "none" / "out.parquet")
    assert ended.code == 6
    assert ended.err == (
        f"Error: {tmp_path}/none: no such folder. Make it first, or choose -o elsewhere.\n"
    )


def test_an_output_folder_that_is_read_only(score: Run, tiny_frame: Path, tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "ro,size=64k", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no read-only disk can be mounted here")
    try:
        ended = score(tiny_frame, "-o", folder / "out.parquet")
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
    assert ended.code == 6
    assert ended.err == (
        f"Error: {folder}/out.parquet.parts: may not be written. "
        "Check permissions, or choose -o elsewhere.\n"
    )


def test_a_disk_that_is_full_in_mid_run(score: Run, tiny_frame: Path, tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no small disk can be mounted here")
    try:
        full = score(tiny_frame, "-o", folder / "out.parquet")
        subprocess.run(
            ["mount", "-o", "remount,size=8m", str(folder)], capture_output=True, check=True
        )
        again = score(tiny_frame, "-o", folder / "out.parquet")
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
    assert full.code == 6
    assert full.err == (
        f"Error: {folder}/out.parquet.parts/part-000000.parquet: no space left on the disk.\n"
        "Free some and give the same command again: a run goes on from its finished parts.\n"
    )
    assert again.code == 0


def test_a_second_run_at_the_same_time(score: Run, tiny_frame: Path, tmp_path: Path) -> None:
    with Checkpoint(tmp_path / "out.parquet.parts", "the first run"):
        ended = score(tiny_frame)
    assert ended.code == 6
    assert ended.err == (
        f"Error: {tmp_path}/out.parquet.parts: another run is writing this output now.\n"
        "Wait for it to end, or choose another output with -o.\n"
    )


def test_an_output_that_exists(score: Run, tiny_frame: Path, tmp_path: Path) -> None:
    assert score(tiny_frame).code == 0
    ended = score(tiny_frame)
    assert ended.code == 6
    assert ended.err == (
        f"Error: {tmp_path}/out.parquet: exists already. Choose another output with -o, "
        "or say --overwrite.\n"
    )
    assert score(tiny_frame, "--overwrite").code == 0


def test_an_immature_bundle(score: Run, tiny_frame: Path, immature_bundle: Path) -> None:
    ended = score(tiny_frame, "--model", immature_bundle)
    assert ended.code == 5
    assert re.fullmatch(
        r"Error: tiny@[0-9a-f]{12}: its maturity gate has not passed \(still moves\)\.\n"
        r"Use a bundle whose gate has passed \(scorer models\), or --baseline: scores, no "
        r"calls\.\n",
        ended.err,
    )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--map", "title"], "--map title: expected NAME=VALUE."),
        (["--map", "titel=x"], "--map titel=x: no such frame column; there are id, title, "),
        (["--map", "title=x"], "--map title=x: tiny.parquet has no column 'x'. Columns found: "),
        (["--keep", "x"], "--keep x: tiny.parquet has no such column. Columns found: "),
        (["--keep", "id"], "--keep id: the output has a column of that name already.\n"),
    ],
)
def test_an_option_that_names_nothing(
    score: Run, tiny_frame: Path, options: list[str], text: str
) -> None:
    ended = score(tiny_frame, *options)
    assert ended.code == 2
    assert ended.err.startswith(f"Error: {text}")


@pytest.mark.parametrize(
    "options", [["--mode", "all"], ["--limit", "-1"], ["--threads", "0"], ["--nonsense"]]
)
def test_an_option_that_is_out_of_range(score: Run, tiny_frame: Path, options: list[str]) -> None:
    assert score(tiny_frame, *options).code == 2


def test_an_interruption_exits_130(
    score: Run, tiny_frame: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(scorer.engine.run, "_score", interrupted)
    ended = score(tiny_frame)
    assert ended.code == 130
    assert ended.err == "Interrupted. The same command goes on from the finished parts.\n"


def test_a_resumed_run_says_so(
    score: Run, tiny_frame: Path, tmp_path: Path, student: Student, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scorer.engine.job, "TITLES_A_BATCH", 64)
    score_parts = scorer.engine.run._score

    def half(job: Any, _: Any, parts: Any, *rest: Any) -> None:
        parts.save(0, job.part(next(iter(job.shards(0)))).content)
        raise KeyboardInterrupt

    monkeypatch.setattr(scorer.engine.run, "_score", half)
    assert score(tiny_frame).code == 130
    monkeypatch.setattr(scorer.engine.run, "_score", score_parts)
    ended = score(tiny_frame)
    assert ended.code == 0
    assert ended.err == "64 works were scored before; going on from there.\n"
