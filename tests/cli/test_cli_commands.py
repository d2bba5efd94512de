"""`thresholds`, `verify`, `models`, `train`, and how the program ends."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

from scorer import __version__
from scorer.engine.manifest import manifest_path
from scorer.errors import ScorerError
from scorer.policy.policy import Policy, parse_policy
from scorer.student.bundle import Student, load_student
from scorer.student.folder import load_manifest

STATUS = "Status of every row: machine_predicted_unvalidated. Scores rank works for human review."
Run = Callable[..., Any]


def table(text: str) -> dict[str, list[str]]:
    """Return the rows of the tables in a command's output, by their first cell."""
    parsed = [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]
    return {row[0]: row[1:] for row in parsed if len(row) > 1}


def test_thresholds_show_a_row_a_target(scorer: Run, tiny_bundle: Path, policy: Policy) -> None:
    ended = scorer("thresholds", "--model", tiny_bundle)
    assert (ended.code, ended.err) == (0, "")
    rows = table(ended.out)
    assert rows["target"][0] == "codex"
    assert len(rows) == 7
    line = " ".join(rows["Metaresearch"])
    for head in ("codex", "gemma"):
        entry = policy.entry(head, "metaresearch")
        assert f"≥ {entry.value:.3f}" in line
        assert str(entry.support.n_pos) in line
        assert f"{entry.support.ess_pos:.1f}" in line
    assert rows["Science and technology studies"][0] == "none: unavailable"
    assert rows["Open science"][0] == "none: support"
    assert f"Policy {policy.version} of tiny@" in ended.out


@pytest.mark.parametrize(
    ("mode", "word", "silent"),
    [
        ("consensus", " and ", "never: codex is silent"),
        ("candidate", " or ", "gemma ≥ {value:.3f}"),
    ],
)
def test_a_mode_adds_the_rule_in_words(
    scorer: Run, tiny_bundle: Path, policy: Policy, *, mode: str, word: str, silent: str
) -> None:
    out = scorer("thresholds", "--model", tiny_bundle, "--mode", mode).out
    codex, gemma = (policy.entry(head, "metaresearch").value for head in ("codex", "gemma"))
    assert f"codex ≥ {codex:.3f}{word}gemma ≥ {gemma:.3f}" in out
    assert silent.format(value=policy.entry("gemma", "sts").value) in out
    rule = "never: codex and gemma are silent" if mode == "consensus" else "every head is silent"
    assert rule in out


def test_scores_add_how_many_works_are_called(scorer: Run, tiny_bundle: Path, scored: Path) -> None:
    out = scorer(
        "thresholds", "--model", tiny_bundle, "--scores", scored, "--mode", "consensus"
    ).out
    calls = pl.read_parquet(scored)["consensus_categories"].list.contains("metaresearch").sum()
    assert calls > 0
    assert re.search(rf"Metaresearch .*\s{calls}\s+{100 * calls / 200:.3g} %", out)
    assert "Calls among 200 works" in out
    assert STATUS in out


def test_thresholds_as_json(
    scorer: Run, tiny_bundle: Path, scored: Path, policy: Policy, student: Student
) -> None:
    ended = scorer(
        *("thresholds", "--model", tiny_bundle, "--scores", scored),
        *("--mode", "candidate", "--json"),
    )
    said = json.loads(ended.out)
    assert said["model_version"] == student.version
    assert said["policy_version"] == policy.version
    assert Policy.model_validate(said["policy"]) == policy
    assert (said["mode"], said["works"]) == ("candidate", 200)
    manifest = json.loads(manifest_path(scored).read_text())
    assert said["calls"] == manifest["counts"]["calls"]
    assert said["rules"]["open_science"] == "never: every head is silent"


def test_a_written_policy_reads_back_and_decides_alike(
    scorer: Run,
    tiny_bundle: Path,
    tiny_frame: Path,
    scored: Path,
    *,
    policy: Policy,
    tmp_path: Path,
) -> None:
    path = tmp_path / "policy.json"
    ended = scorer("thresholds", "--model", tiny_bundle, "-o", path)
    assert f"Written to {path}." in ended.out
    assert parse_policy(path.read_text(), "policy.json") == policy
    again = tmp_path / "again.parquet"
    run = ("run", tiny_frame, "--model", tiny_bundle)
    assert scorer(*run, "--policy", path, "-o", again).code == 0
    assert again.read_bytes() == scored.read_bytes()


def test_a_policy_for_a_folder_that_is_missing(scorer: Run, tiny_bundle: Path) -> None:
    ended = scorer("thresholds", "--model", tiny_bundle, "-o", "/nowhere/p.json")
    assert ended.code == 6
    assert ended.err == (
        "Error: /nowhere: no such folder. Make it first, or choose -o elsewhere.\n"
    )


def test_thresholds_of_scores_that_are_not_there(scorer: Run, tiny_bundle: Path) -> None:
    ended = scorer("thresholds", "--model", tiny_bundle, "--scores", "nowhere.parquet")
    assert ended.code == 3
    assert ended.err == "Error: nowhere.parquet: no such file. Check the path.\n"


def test_thresholds_of_scores_of_another_bundle(
    scorer: Run, abstract_bundle: Path, scored: Path
) -> None:
    ended = scorer("thresholds", "--model", abstract_bundle, "--scores", scored)
    assert ended.code == 3
    assert ended.err.endswith("\nName the bundle that scored it: --model\n")


def test_thresholds_of_a_bundle_whose_policy_was_changed(scorer: Run, bundle_copy: Path) -> None:
    """Every hash is checked at load: a changed policy must not pass for the bundle's own."""
    path = bundle_copy / "policy.json"
    content = json.loads(path.read_text())
    del content["policy_version"]
    content["entries"]["metaresearch"]["codex"]["value"] = 0.0
    path.write_text(json.dumps(content))
    ended = scorer("thresholds", "--model", bundle_copy)
    assert ended.code == 4
    assert "policy.json: sha256 is " in ended.err


def test_verify_prints_what_it_checked(scorer: Run, scored: Path) -> None:
    ended = scorer("verify", scored)
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert lines[-1] == STATUS
    assert lines[0] == "passed  sha256 and size are those of the manifest"
    assert len(lines) == 19
    assert all(line.startswith("passed  ") for line in lines[:-1])


def change_stamp(scored: Path) -> None:
    rows = pq.read_table(scored)
    place = rows.schema.get_field_index("prediction_status")
    column = pl.Series(["validated"] * rows.num_rows, dtype=pl.Categorical).to_arrow()
    column = column.cast("string").dictionary_encode()
    pq.write_table(rows.set_column(place, rows.schema.field(place), column), scored)


def test_verify_exits_3_with_the_first_rows(scorer: Run, scored: Path) -> None:
    change_stamp(scored)
    ended = scorer("verify", scored)
    assert ended.code == 3
    lines = ended.out.splitlines()
    at = lines.index("failed  every row says machine_predicted_unvalidated")
    assert [line.strip() for line in lines[at + 1 : at + 6]] == [
        f"row {row} (id W{row + 1})" for row in range(5)
    ]
    assert STATUS not in ended.out


@pytest.mark.parametrize("damaged", [False, True])
def test_verify_as_json(scorer: Run, scored: Path, damaged: bool) -> None:
    if damaged:
        change_stamp(scored)
    ended = scorer("verify", scored, "--json")
    assert ended.code == (3 if damaged else 0)
    said = json.loads(ended.out)
    assert said["file"] == str(scored)
    stamp = next(c for c in said["checks"] if c["check"].startswith("every row says machine"))
    assert stamp["passed"] is not damaged
    assert len(stamp["found"]) == (5 if damaged else 0)


def test_verify_without_a_manifest(scorer: Run, scored: Path) -> None:
    manifest_path(scored).unlink()
    ended = scorer("verify", scored)
    assert ended.code == 3
    assert ended.err == (
        f"Error: {scored}.meta.json: no manifest, so scored.parquet is not known to be complete.\n"
        "Copy the manifest along with the file, or score again with scorer run --overwrite.\n"
    )


def test_models_list_the_shipped_bundles(scorer: Run, shipped_bundle: Path) -> None:
    manifest = load_manifest(shipped_bundle)
    rows = table(scorer("models").out)
    assert rows["bundle"] == ["encoder", "heads", "targets", "maturity", "licence"]
    assert rows[manifest.version] == [
        "ngram",
        "codex, gemma",
        "9 categories, 2 flags, 3 axes",
        "passed",
        manifest.licence,
    ]


def test_models_as_json(scorer: Run, shipped_bundle: Path) -> None:
    said = next(m for m in json.loads(scorer("models", "--json").out) if m["mature"])
    assert said["name"] == "metacan-ngram"
    assert said["version"] == load_manifest(shipped_bundle).version
    assert said["encoder"] == "ngram"
    assert said["heads"] == ["codex", "gemma"]
    assert len(said["targets"]) == 14
    assert said["mature"] is True


def test_a_name_shows_the_card_as_it_is(
    scorer: Run, tiny_bundle: Path, student: Student, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the output is no terminal it may go to a file: Markdown must stay Markdown."""
    monkeypatch.setenv("COLUMNS", "80")
    ended = scorer("models", tiny_bundle)
    card = (tiny_bundle / "README.md").read_text()
    assert ended.out.startswith(card.rstrip())
    assert ended.out.endswith(f"Encoder: ngram\nVersion: {student.version}\n")


def test_a_name_as_json_is_the_manifest(scorer: Run, tiny_bundle: Path) -> None:
    ended = scorer("models", tiny_bundle, "--json")
    assert json.loads(ended.out) == json.loads((tiny_bundle / "bundle.json").read_text())


def test_an_unknown_bundle(scorer: Run) -> None:
    ended = scorer("models", "nonesuch")
    assert ended.code == 4
    assert re.fullmatch(
        r"Error: nonesuch: no such bundle\. Shipped: [\w, -]+; or give a bundle's folder\.\n",
        ended.err,
    )


def test_train_makes_a_bundle_that_scores(
    scorer: Run, tiny_labels: Path, tiny_frame: Path, tmp_path: Path
) -> None:
    ended = scorer(
        *("train", tiny_labels, "-o", tmp_path / "mine", "--name", "my-student"),
        *("--licence", "CC BY 4.0", "--ngrams", "100"),
    )
    assert ended.code == 0
    assert "300 labelled works, heads: codex, gemma" in ended.err
    rows = table(ended.out)
    manifest = load_student(tmp_path / "mine").manifest
    assert (manifest.name, manifest.licence) == ("my-student", "CC BY 4.0")
    assert manifest.encoder.ngrams <= 100
    assert rows["mean average precision"] == [
        f"{manifest.metrics['mean_average_precision']:.3f}",
        f"{manifest.metrics['mean_average_precision_weighted']:.3f}",
    ]
    assert ended.out.endswith(f"Next: scorer run FRAME --model {tmp_path}/mine\n")
    run = ("run", tiny_frame, "--model", tmp_path / "mine", "-o", tmp_path / "out.parquet")
    assert scorer(*run).code == 0


def test_train_from_json_files(
    scorer: Run, make_labels: Callable[..., pl.DataFrame], tmp_path: Path
) -> None:
    labels = make_labels(150)
    heads = ("codex", "gemma")
    said = [name for name in labels.columns if name.split("_")[0] in heads]
    (tmp_path / "sample.json").write_text(json.dumps(labels.drop(said).to_dicts()))
    for head in heads:
        own = labels.select(
            "id",
            *(pl.col(n).alias(n.removeprefix(f"{head}_")) for n in said if n.startswith(head)),
        )
        (tmp_path / f"{head}.json").write_text(json.dumps(own.to_dicts()))
    ended = scorer(
        *("train", "--sample", tmp_path / "sample.json", "-o", tmp_path / "mine"),
        *("--head", f"codex={tmp_path}/codex.json", "--head", f"gemma={tmp_path}/gemma.json"),
    )
    assert ended.code == 0, ended.err
    assert load_manifest(tmp_path / "mine").targets.head_names == ["codex", "gemma"]


def test_train_refuses_a_folder_that_exists(scorer: Run, tiny_labels: Path, tmp_path: Path) -> None:
    ended = scorer("train", tiny_labels, "-o", tmp_path)
    assert ended.code == 6
    assert ended.err == (
        f"Error: {tmp_path}: exists already. Choose another -o, or say --overwrite.\n"
    )


def test_train_wants_labels_or_a_sample(scorer: Run, tiny_labels: Path, tmp_path: Path) -> None:
    for words in ([], [tiny_labels, "--sample", tiny_labels]):
        ended = scorer("train", *words, "-o", tmp_path / "x")
        assert ended.code == 2
        assert ended.err == (
            "Error: Give either a label table, or --sample with --head NAME=FILE.\n"
        )


def test_train_wants_heads_with_a_sample(scorer: Run, tmp_path: Path) -> None:
    (tmp_path / "sample.json").write_text('[{"id": "W1", "title": "x"}]')
    ended = scorer("train", "--sample", tmp_path / "sample.json", "-o", tmp_path / "x")
    assert (ended.code, ended.err) == (2, "Error: --sample needs at least one --head NAME=FILE.\n")


def test_train_wants_name_and_file_for_a_head(scorer: Run, tmp_path: Path) -> None:
    ended = scorer("train", "--sample", "s.json", "--head", "codex.json", "-o", tmp_path / "x")
    assert (ended.code, ended.err) == (2, "Error: --head codex.json: expected NAME=VALUE.\n")


def test_train_without_its_extra_says_how_to_get_it(
    scorer: Run, tiny_labels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(sys.modules):
        if name.startswith("scorer.train."):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "joblib", None)
    ended = scorer("train", tiny_labels, "-o", tmp_path / "x")
    assert ended.code == 2
    assert ended.err == (
        "Error: Training needs joblib, which is not installed.\n"
        "Install the extra: pip install 'scorer[train]'\n"
    )


def test_a_bundle_name_that_cannot_be_one_is_refused(
    scorer: Run, tiny_labels: Path, tmp_path: Path
) -> None:
    ended = scorer("train", tiny_labels, "-o", tmp_path / "my student")
    assert ended.code == 2
    assert "my student" in ended.err
    assert len(ended.err.splitlines()) <= 2


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_names_the_commands(scorer: Run, option: str) -> None:
    ended = scorer(option)
    assert ended.code == 0
    for command in ("run", "thresholds", "verify", "models", "train", "gate"):
        assert re.search(rf"\b{command}\b", ended.out)


@pytest.mark.parametrize("command", ["run", "thresholds", "verify", "models", "train", "gate"])
def test_every_option_of_a_command_has_a_help_text(scorer: Run, command: str) -> None:
    ended = scorer(command, "--help")
    assert ended.code == 0
    assert f"Example: scorer {command}" in ended.out


def test_the_version(scorer: Run) -> None:
    ended = scorer("--version")
    assert (ended.code, ended.out) == (0, f"scorer {__version__}\n")


def test_help_loads_no_heavy_library() -> None:
    loaded = subprocess.run(
        [
            *(sys.executable, "-c"),
            "import sys; from scorer.cli.app import app; app(['--help'], standalone_mode=False);"
            "print([n for n in ('polars', 'pyarrow', 'onnxruntime', 'numpy', 'sklearn', 'pydantic')"
            " if n in sys.modules])",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert loaded.stdout.splitlines()[-1] == "[]"


def fail(_: Path) -> None:
    raise ScorerError("something is wrong")


def test_any_other_failure_of_ours_exits_1(scorer: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scorer.engine.verify.verify", fail)
    ended = scorer("verify", "x.parquet")
    assert (ended.code, ended.err) == (1, "Error: something is wrong\n")


def test_debug_shows_the_traceback(scorer: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scorer.engine.verify.verify", fail)
    with pytest.raises(ScorerError, match="something is wrong"):
        scorer("--debug", "verify", "x.parquet")


def test_a_failure_that_nobody_foresaw_is_short_too(
    scorer: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Contract 7: 1 for anything else, in one or two lines, tracebacks only with --debug."""

    def crash(_: Path) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("scorer.engine.verify.verify", crash)
    ended = scorer("verify", "x.parquet")
    assert ended.code == 1
    assert "division by zero" in ended.err
    assert len(ended.err.splitlines()) <= 2


@pytest.mark.parametrize("command", ["verify", "thresholds", "models", "train"])
def test_an_interrupted_command_exits_130(
    scorer: Run, tiny_labels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    called, arguments = {
        "verify": ("scorer.engine.verify.verify", ["x"]),
        "thresholds": ("scorer.student.folder.find_bundle", []),
        "models": ("scorer.student.folder.find_bundle", ["x"]),
        "train": ("scorer.train.distil.train", [tiny_labels, "-o", tmp_path / "x"]),
    }[command]
    monkeypatch.setattr(called, interrupt)
    assert scorer(command, *arguments).code == 130
