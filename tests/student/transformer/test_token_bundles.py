"""Bundles of a transformer: the scores of a plain script, the same bits in any batch and thread."""

import json
import shutil
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import polars as pl
import pytest
from encoders import Drawn, drawn_bundle, tiny_tokenizer
from tokenizers import Tokenizer

from scorer.errors import BundleError, ScorerError, UsageError
from scorer.student import runtime
from scorer.student.bundle import Student, load_student
from scorer.student.manifest import MixedSettings
from scorer.student.session import Scores
from scorer.student.transformer.encoder_folder import EncoderFolder

LARGEST_DIFFERENCE = 2e-6  # of a score, from a script that rounds in another order


def refused(act: Callable[[], object], kind: type[ScorerError] = BundleError) -> str:
    with pytest.raises(kind) as caught:
        act()
    return str(caught.value)


def together(scores: Scores) -> np.ndarray:
    """All outputs side by side, head by head: float32 [works, outputs]."""
    return np.hstack(
        [
            part
            for head in scores.binary
            for part in (scores.binary[head], *scores.axes[head].values())
        ]
    )


def reckoned(bundle: Drawn, embeddings: np.ndarray, ngrams: np.ndarray | float = 0.0) -> np.ndarray:
    """All outputs by plain float64 sums: sigmoids of binary targets, softmaxes of axes."""
    logits = embeddings.astype(np.float64) @ bundle.weights + bundle.bias + ngrams
    targets, found, start = bundle.student.manifest.targets, [], 0
    for _ in targets.head_names:
        stop = start + len(targets.binary)
        found.append(1 / (1 + np.exp(-logits[:, start:stop])))
        for axis in targets.axes:
            start, stop = stop, stop + len(axis.values)
            powers = np.exp(logits[:, start:stop])
            found.append(powers / powers.sum(axis=1, keepdims=True))
        start = stop
    return np.hstack(found)


@pytest.fixture(scope="module", params=["token", "mixed"])
def bundle(request: pytest.FixtureRequest) -> Drawn:
    drawn: Drawn = request.getfixturevalue(f"{request.param}_bundle")
    return drawn


@pytest.fixture(scope="module")
def student(bundle: Drawn) -> Student:
    return bundle.student


@pytest.fixture(scope="module")
def works(tiny_frame: Path, mixed_bundle: Drawn, read_frame: Callable[..., pl.DataFrame]):
    return read_frame(tiny_frame, mixed_bundle.student)


def test_a_bundle_says_what_it_reads(token_bundle: Drawn, mixed_bundle: Drawn) -> None:
    tokens, mixed = token_bundle.student, mixed_bundle.student
    assert tokens.manifest.encoder.fields() == ["title", "venue", "topic", "field"]
    every = ["title", "venue", "topic", "field", "lang", "type", "year"]
    assert mixed.manifest.encoder.fields() == every
    assert tokens.is_slow
    assert mixed.is_slow
    assert tokens.compiled() is tokens
    assert mixed.compiled() is mixed
    assert tokens.version != mixed.version


def test_scores_are_those_of_heads_on_the_embeddings(
    token_bundle: Drawn, works: pl.DataFrame, tiny_encoder: Path
) -> None:
    embeddings = EncoderFolder.open(tiny_encoder).embed(works)
    expected = reckoned(token_bundle, embeddings)
    assert expected.std(axis=0).min() > 0.01  # the scores under comparison differ
    assert np.abs(together(token_bundle.student.score(works)) - expected).max() < LARGEST_DIFFERENCE


def test_a_mixed_logit_adds_the_integers_times_their_unit(
    mixed_bundle: Drawn, works: pl.DataFrame, tiny_encoder: Path
) -> None:
    student, table = mixed_bundle.student, mixed_bundle.table
    assert table is not None
    encoded = student.encoder.encode(works).ngrams
    sums = np.array(
        [
            table.weights[encoded.ids[start:stop] - 1].sum(axis=0) + table.bias
            for start, stop in zip(encoded.offsets, encoded.offsets[1:], strict=False)
        ]
    )
    embeddings = EncoderFolder.open(tiny_encoder).embed(works)
    expected = reckoned(mixed_bundle, embeddings, sums * table.unit)
    assert np.abs(together(student.score(works)) - expected).max() < LARGEST_DIFFERENCE
    without = reckoned(mixed_bundle, embeddings, table.bias * table.unit)
    assert np.abs(expected - without).max() > 0.1  # n-grams have a say
    settings = student.manifest.encoder
    assert isinstance(settings, MixedSettings)
    assert settings.ngram.logit_unit == table.unit


@pytest.mark.parametrize("size", [1, 7, 64])
def test_batch_size_and_order_change_no_bit(
    student: Student, works: pl.DataFrame, size: int
) -> None:
    whole = together(student.score(works))
    order = np.random.default_rng(size).permutation(works.height)
    parts = [
        together(student.score(works[order[at : at + size]])) for at in range(0, len(order), size)
    ]
    assert np.concatenate(parts).tobytes() == whole[order].tobytes()


def test_two_threads_at_once_get_the_same_bits(student: Student, works: pl.DataFrame) -> None:
    whole = together(student.score(works))
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(student.score, [works[:90], works[90:]] * 3))
    for first in range(0, 6, 2):
        assert (
            np.concatenate([*map(together, found[first : first + 2])]).tobytes() == whole.tobytes()
        )


def test_no_works_have_no_scores(student: Student, works: pl.DataFrame) -> None:
    assert together(student.score(works[:0])).shape == (
        0,
        together(student.score(works[:1])).shape[1],
    )


def plain_script(folder: Path, frame: pl.DataFrame, names: list[str]) -> np.ndarray:
    """What anyone would write around the bundle's two files, a work at a time."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length=128)
    session = ort.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    rows = []
    for title in frame["title"]:
        ids = np.array([tokenizer.encode(title).ids], np.int64)
        inputs = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        rows.append(np.hstack(session.run(names, inputs))[0])
    return np.array(rows)


def test_scores_of_200_titles_are_those_of_a_plain_script_in_any_order(
    minilm: Path, tiny_bundle: Path, shared: Path, tmp_path: Path
) -> None:
    """The stated tolerance is nothing: the same bits in any order and on one thread or two."""
    every = pl.read_parquet(shared / "frames" / "openalex_titles.parquet")
    # A plain script knows nothing of markup.
    works = every.filter(pl.col("title").str.contains(r"^[A-Za-z0-9 ,.:;()-]+$")).head(200)
    bundle = drawn_bundle(tmp_path / "b", minilm, tiny_bundle)
    student = bundle.student
    assert student.manifest.encoder.tolerance == 0
    whole = together(student.score(works))
    assert whole.std(axis=0).min() > 0.01
    targets = student.manifest.targets
    kinds = ["binary", *(axis.name for axis in targets.axes)]
    names = [f"{head}/{kind}" for head in targets.head_names for kind in kinds]
    assert np.abs(whole - plain_script(bundle.folder, works, names)).max() < LARGEST_DIFFERENCE
    order = np.random.default_rng(5).permutation(200)
    with ThreadPoolExecutor(2) as threads:
        halves = [works[order[:77]], works[order[77:]]]
        found = np.concatenate([*map(together, threads.map(student.score, halves))])
    assert found.tobytes() == whole[order].tobytes()


@pytest.fixture
def copied(bundle: Drawn, tmp_path: Path) -> Path:
    """A copy that the test may damage."""
    return Path(shutil.copytree(bundle.folder, tmp_path / "copied"))


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "policy.json"])
def test_a_file_that_is_missing_or_changed_is_told(copied: Path, name: str) -> None:
    content = (copied / name).read_bytes()
    (copied / name).write_bytes(content + b"\n")
    assert refused(lambda: load_student(copied)).startswith(f"{copied / name}: sha256 is ")
    (copied / name).unlink()
    assert refused(lambda: load_student(copied)) == (
        f"{copied / name}: missing. Copy the bundle again, or train it again."
    )


def resealed(folder: Path, reseal: Callable[..., str], change: Callable[[dict], None]) -> None:
    """Change the manifest, its hashes and version true again."""
    content = json.loads((folder / "bundle.json").read_text(encoding="utf-8"))
    change(content)
    (folder / "bundle.json").write_text(json.dumps(content), encoding="utf-8")
    reseal(folder)


def tokens_of(content: dict) -> dict:
    encoder = content["encoder"]
    return encoder["tokenizer"] if encoder["kind"] == "mixed" else encoder


def test_a_tokenizer_without_a_hash_is_told(copied: Path, reseal: Callable[..., str]) -> None:
    resealed(copied, reseal, lambda content: content["files"].pop("tokenizer.json"))
    assert refused(lambda: load_student(copied)) == (
        f"{copied / 'bundle.json'}: lists no hash for tokenizer.json. Train it again."
    )


def test_a_tokenizer_of_another_size_than_the_manifest_says_is_told(
    copied: Path, reseal: Callable[..., str]
) -> None:
    tiny_tokenizer(["one"]).save(str(copied / "tokenizer.json"))
    said = tokens_of(json.loads((copied / "bundle.json").read_text()))["vocabulary"]
    reseal(copied)
    assert refused(lambda: load_student(copied)) == (
        f"{copied / 'tokenizer.json'}: 5 tokens, the manifest says {said}."
    )


def test_a_tokenizer_of_more_words_than_the_graph_is_told(
    copied: Path, reseal: Callable[..., str]
) -> None:
    size = Tokenizer.from_file(str(copied / "tokenizer.json")).get_vocab_size()
    tiny_tokenizer([f"w{n}" for n in range(size)]).save(str(copied / "tokenizer.json"))
    resealed(copied, reseal, lambda content: tokens_of(content).update(vocabulary=size + 4))
    first, second = refused(lambda: load_student(copied)).splitlines()
    assert first == (
        f"{copied / 'model.onnx'}: cannot read token {size + 3}, its tokenizer's last; they do not "
        "belong together."
    )
    assert second.startswith("model.onnx: failed (")


def test_a_graph_of_other_inputs_is_told(
    token_bundle: Drawn, mixed_bundle: Drawn, tmp_path: Path, reseal: Callable[..., str]
) -> None:
    tokens = Path(shutil.copytree(token_bundle.folder, tmp_path / "token"))
    mixed = Path(shutil.copytree(mixed_bundle.folder, tmp_path / "mixed"))
    shutil.copy(mixed_bundle.folder / "model.onnx", tokens)
    shutil.copy(token_bundle.folder / "model.onnx", mixed)
    for folder in (tokens, mixed):
        reseal(folder)
    taken = "attention_mask tensor(int64), {}input_ids tensor(int64), token_type_ids tensor(int64)"
    remedy = "Export the encoder anew, with these inputs."
    assert refused(lambda: load_student(tokens)) == (
        f"{tokens / 'model.onnx'}: takes {taken.format('ids tensor(int32), ')}; expected "
        "input_ids, attention_mask and, where there, token_type_ids, int64 [B, L].\n" + remedy
    )
    assert refused(lambda: load_student(mixed)) == (
        f"{mixed / 'model.onnx'}: takes {taken.format('')}; expected input_ids, attention_mask, "
        "ids and, where there, token_type_ids, int64 [B, L].\n" + remedy
    )


def test_scores_that_are_not_finite_are_told(copied: Path, reseal: Callable[..., str]) -> None:
    model = onnx.load(copied / "model.onnx")
    (bias,) = [one for one in model.graph.initializer if one.name == "student/bias"]
    bias.raw_data = np.full(len(bias.raw_data) // 4, np.nan, "<f4").tobytes()
    onnx.save(model, copied / "model.onnx")
    reseal(copied)
    assert refused(lambda: load_student(copied)) == (
        f"{copied / 'model.onnx'}: gives scores that are not finite. Train the bundle again."
    )


def test_a_manifest_with_a_wrong_setting_names_it(copied: Path) -> None:
    path = copied / "bundle.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    tokens_of(content).update(max_tokens=0)
    path.write_text(json.dumps(content), encoding="utf-8")
    where = "encoder.tokenizer" if content["encoder"]["kind"] == "mixed" else "encoder"
    assert refused(lambda: load_student(copied)) == (
        f"{path}: {where}.max_tokens: Input should be greater than or equal to 3."
    )


def test_a_bundle_of_an_unknown_kind_is_told(copied: Path) -> None:
    path = copied / "bundle.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    content["encoder"]["kind"] = "oracle"
    path.write_text(json.dumps(content), encoding="utf-8")
    text = refused(lambda: load_student(copied))
    assert text.startswith(f"{path}: encoder: Input tag 'oracle' found using 'kind' does not match")


def test_without_the_extra_its_command_is_told(
    bundle: Drawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    assert refused(lambda: load_student(bundle.folder), UsageError) == (
        f"{bundle.folder}: reading texts by a tokenizer needs tokenizers, which is not installed.\n"
        "Install the extra: pip install 'scorer[transformer]'"
    )


@pytest.mark.filterwarnings("ignore:Specified provider")
def test_a_provider_that_does_not_start_is_told(
    bundle: Drawn, tiny_bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where its libraries are missing onnxruntime goes on without, and says so in its log alone."""
    known = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}
    monkeypatch.setattr(runtime, "providers", lambda: known)
    assert refused(lambda: load_student(bundle.folder, provider="cuda"), UsageError) == (
        "--provider cuda: onnxruntime has it, but it does not start on this machine.\n"
        "Check its driver and libraries, or leave the option out."
    )
    assert not load_student(tiny_bundle, provider="cuda").is_slow  # it runs on the processor
