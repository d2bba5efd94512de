"""Encoder folders: embeddings that depend on the work alone, and folders that do not fit."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import polars as pl
import pytest
from encoders import WIDTH, tiny_folder, tiny_graph, tiny_tokenizer
from onnx import TensorProto, helper
from tokenizers import Tokenizer

from scorer.errors import BundleError, ScorerError, UsageError
from scorer.student.manifest import TokenizerSettings
from scorer.student.transformer.encoder_folder import EncoderFolder
from scorer.student.transformer.inputs import batches
from scorer.student.transformer.texts import work_texts
from scorer.student.transformer.tokens import EncodedTexts, TokenizerEncoder

WORDS = ["peer", "review", "of", "bees", "nature"]


def frame_of(*titles: str | None) -> pl.DataFrame:
    return pl.DataFrame({"id": [f"W{n}" for n in range(len(titles))], "title": list(titles)})


def refusal(act: Callable[[], object], kind: type[ScorerError] = BundleError) -> str:
    with pytest.raises(kind) as caught:
        act()
    return str(caught.value)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_folder(tmp_path_factory.mktemp("encoders") / "five", WORDS)


def test_an_encoder_says_its_width_and_the_size_of_its_vocabulary(tiny: Path) -> None:
    encoder = EncoderFolder.open(tiny)
    assert encoder.width == WIDTH
    assert encoder.settings == TokenizerSettings(vocabulary=4 + len(WORDS), width=WIDTH)
    assert encoder.settings.fields() == ["title", "venue", "topic", "field"]
    assert (encoder.output, encoder.pooled) == ("last_hidden_state", False)


def test_an_embedding_is_the_mean_of_its_tokens_four_long(tiny: Path) -> None:
    ids = Tokenizer.from_file(str(tiny / "tokenizer.json")).encode("Peer review of ants").ids
    session = ort.InferenceSession(tiny / "model.onnx", providers=["CPUExecutionProvider"])
    one = np.array([ids], np.int64)
    inputs = {"input_ids": one, "attention_mask": one * 0 + 1, "token_type_ids": one * 0}
    tokens = session.run(None, inputs)[0][0].astype(np.float64)
    mean = tokens.mean(axis=0)
    found = EncoderFolder.open(tiny).embed(frame_of("Peer review of ants"))
    assert found.dtype == np.float32
    assert np.abs(found[0] - 4 * mean / np.linalg.norm(mean)).max() < 1e-5


def test_a_graph_that_pools_by_itself_is_read_as_it_is(tmp_path: Path, tiny: Path) -> None:
    encoder = EncoderFolder.open(tiny_folder(tmp_path / "pooled", WORDS, pooled=True))
    assert (encoder.output, encoder.pooled, encoder.width) == ("sentence_embedding", True, WIDTH)
    frame = frame_of("Bees", "Peer review of bees", None)
    apart = np.abs(encoder.embed(frame) - EncoderFolder.open(tiny).embed(frame))
    assert apart.max() < 1e-5


def test_a_graph_without_token_types_is_given_none(tmp_path: Path, tiny: Path) -> None:
    folder = tiny_folder(tmp_path / "two", WORDS, inputs=("input_ids", "attention_mask"))
    frame = frame_of("Bees", "Peer review of bees")
    assert (EncoderFolder.open(folder).embed(frame) == EncoderFolder.open(tiny).embed(frame)).all()


def test_a_text_is_cut_after_so_many_tokens(tiny: Path) -> None:
    settings = TokenizerSettings(vocabulary=9, width=WIDTH, max_tokens=5)
    encoder = TokenizerEncoder(settings, tiny_tokenizer(WORDS))
    found = encoder.encode(frame_of("peer review of bees of bees", "bees", None))
    assert found.ids.tolist() == [2, 4, 5, 6, 3, 2, 7, 3, 2, 3]
    assert found.offsets.tolist() == [0, 5, 8, 10]


def test_a_text_without_a_token_is_read_as_padding() -> None:
    tokenizer = tiny_tokenizer(WORDS)
    tokenizer.post_processor = None
    encoder = TokenizerEncoder(TokenizerSettings(vocabulary=9, width=WIDTH), tokenizer)
    assert encoder.encode(frame_of("", "bees")).ids.tolist() == [0, 7]
    assert encoder.encode(frame_of()).offsets.tolist() == [0]


def texts_of(lengths: list[int]) -> EncodedTexts:
    offsets = np.cumsum([0, *lengths], dtype=np.int64)
    return EncodedTexts(np.arange(offsets[-1]), np.zeros(offsets[-1], np.int64), offsets)


def test_batches_hold_works_of_one_length() -> None:
    found = [
        (places.tolist(), inputs["input_ids"].tolist(), inputs["attention_mask"].min())
        for places, inputs in batches(texts_of([2, 3, 2, 2]), {"input_ids"}, 4)
    ]
    assert found == [
        ([0, 2], [[0, 1], [5, 6]], 1),
        ([3], [[7, 8]], 1),
        ([1], [[2, 3, 4]], 1),
    ]
    alone = [places.tolist() for places, _ in batches(texts_of([2, 3, 2]), {"input_ids"}, 1)]
    assert alone == [[0], [2], [1]]
    assert list(batches(texts_of([]), {"input_ids"}, 4)) == []


def dynamic(path: Path) -> None:
    """Let a graph scale its vectors by the largest of the whole batch, as dynamic int8 does."""
    model = onnx.load(path)
    last = model.graph.node.pop()
    model.graph.node.extend(
        [
            helper.make_node("DynamicQuantizeLinear", [last.input[0]], ["q", "qs", "qz"]),
            helper.make_node("DequantizeLinear", ["q", "qs", "qz"], ["back"]),
            helper.make_node("Tanh", ["back"], [last.output[0]]),
        ]
    )
    onnx.save(model, path)


@pytest.mark.parametrize("change", [lambda _: None, dynamic], ids=["float", "dynamic int8"])
def test_an_embedding_is_the_same_bits_in_any_batch(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    folder = tiny_folder(tmp_path / "e", WORDS)
    change(folder / "model.onnx")
    rng = np.random.default_rng(1)
    frame = frame_of(*(" ".join(rng.choice(WORDS, rng.integers(1, 9))) for _ in range(600)))
    encoder = EncoderFolder.open(folder)
    whole = encoder.embed(frame)
    assert len(np.unique(whole, axis=0)) > 400
    order = rng.permutation(frame.height)
    assert encoder.embed(frame[order], threads=2).tobytes() == whole[order].tobytes()
    few = np.concatenate([encoder.embed(frame[n : n + 7]) for n in range(0, 70, 7)])
    assert few.tobytes() == whole[:70].tobytes()


def test_progress_is_told_as_works_are_done(tiny: Path) -> None:
    told: list[int] = []
    EncoderFolder.open(tiny).embed(frame_of(*["bees"] * 600), progress=told.append)
    assert told == [256, 256, 88]


def test_embeddings_are_those_of_a_plain_script(minilm: Path, shared: Path) -> None:
    frame = pl.read_parquet(shared / "frames" / "openalex_titles.parquet")[:40]
    tokenizer = Tokenizer.from_file(str(minilm / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(128)
    session = ort.InferenceSession(minilm / "model.onnx", providers=["CPUExecutionProvider"])
    encoder = EncoderFolder.open(minilm)
    found = encoder.embed(frame)
    for row, text in enumerate(work_texts(frame, encoder.settings)):
        ids = np.array([tokenizer.encode(text).ids], np.int64)
        inputs = {"input_ids": ids, "attention_mask": ids * 0 + 1, "token_type_ids": ids * 0}
        mean = session.run(["last_hidden_state"], inputs)[0][0].mean(axis=0)
        assert np.abs(found[row] - 4 * mean / np.linalg.norm(mean)).max() < 1e-5


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_file_that_is_missing_is_told(tmp_path: Path, name: str) -> None:
    folder = tiny_folder(tmp_path / "e", WORDS)
    (folder / name).unlink()
    assert refusal(lambda: EncoderFolder.open(folder)) == (
        f"{folder / name}: missing. An encoder's folder holds model.onnx and tokenizer.json."
    )


def test_a_bundle_in_an_encoders_place_is_told(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path / "e", WORDS)
    (folder / "bundle.json").write_text("{}")
    assert refusal(lambda: EncoderFolder.open(folder)) == (
        f"{folder}: is a bundle, whose graph has heads already.\n"
        "Name the folder of the encoder that it was made from."
    )


def test_a_tokenizer_that_is_none_is_told(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path / "e", WORDS)
    (folder / "tokenizer.json").write_text("{}")
    text = refusal(lambda: EncoderFolder.open(folder))
    assert text.startswith(f"{folder / 'tokenizer.json'}: not a tokenizer (")


def test_a_tokenizer_of_more_words_than_the_graph_has_vectors_is_told(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path / "e", WORDS)
    tiny_tokenizer([*WORDS, "ants"]).save(str(folder / "tokenizer.json"))
    first, second = refusal(lambda: EncoderFolder.open(folder)).splitlines()
    assert first == (
        f"{folder / 'model.onnx'}: cannot read token 9, its tokenizer's last; they do not belong "
        "together."
    )
    assert second.startswith("model.onnx: failed (")


def test_a_graph_of_too_few_positions_is_told(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path / "e", WORDS, positions=64)
    first, second = refusal(lambda: EncoderFolder.open(folder)).splitlines()
    assert first == (
        f"{folder / 'model.onnx'}: cannot read a text of 128 tokens, as long as they may be."
    )
    assert second.startswith("model.onnx: failed (")
    assert EncoderFolder.open(folder, max_tokens=64).settings.max_tokens == 64


@pytest.mark.parametrize(
    ("inputs", "kind", "taken"),
    [
        (("input_ids",), TensorProto.INT64, "input_ids tensor(int64)"),
        (
            ("input_ids", "attention_mask"),
            TensorProto.INT32,
            "attention_mask tensor(int32), input_ids tensor(int32)",
        ),
        (
            ("input_ids", "attention_mask", "pixels"),
            TensorProto.INT64,
            "attention_mask tensor(int64), input_ids tensor(int64), pixels tensor(int64)",
        ),
    ],
)
def test_a_graph_of_other_inputs_is_told(
    tmp_path: Path, inputs: tuple[str, ...], kind: int, taken: str
) -> None:
    folder = tiny_folder(tmp_path / "e", WORDS, inputs=inputs, kind=kind)
    assert refusal(lambda: EncoderFolder.open(folder)) == (
        f"{folder / 'model.onnx'}: takes {taken}; expected input_ids, attention_mask and, where "
        "there, token_type_ids, int64 [B, L].\nExport the encoder anew, with these inputs."
    )


def test_a_graph_that_gives_no_embedding_is_told(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path / "e", WORDS)
    model = onnx.load(folder / "model.onnx")
    model.graph.node.append(helper.make_node("Size", ["last_hidden_state"], ["size"]))
    del model.graph.output[:]
    model.graph.output.append(helper.make_tensor_value_info("size", TensorProto.INT64, []))
    onnx.save(model, folder / "model.onnx")
    assert refusal(lambda: EncoderFolder.open(folder)) == (
        f"{folder / 'model.onnx'}: gives size tensor(int64) []; expected float32 embeddings, of "
        "tokens [B, L, width] or of texts [B, width].\n"
        "Export the encoder anew, without a head of its own."
    )


def test_an_embedding_whose_width_is_the_texts_length_is_told(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path / "e", WORDS)
    model = onnx.load(folder / "model.onnx")
    model.graph.node.append(
        helper.make_node("Transpose", ["last_hidden_state"], ["turned"], perm=[0, 2, 1])
    )
    del model.graph.output[:]
    turned = helper.make_tensor_value_info("turned", TensorProto.FLOAT, ["B", None, None])
    model.graph.output.append(turned)
    onnx.save(model, folder / "model.onnx")
    first, second = refusal(lambda: EncoderFolder.open(folder)).splitlines()
    assert first.startswith(f"{folder / 'model.onnx'}: cannot read token 8, ")
    assert second == f"model.onnx: output 'turned' has shape [1, {WIDTH}, 1] for [1, 1] tokens."


def test_embeddings_that_are_not_finite_are_told(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path / "e", WORDS)
    model = onnx.load(folder / "model.onnx")
    (vectors,) = model.graph.initializer
    vectors.raw_data = np.full(len(vectors.raw_data) // 4, np.nan, "<f4").tobytes()
    onnx.save(model, folder / "model.onnx")
    assert refusal(lambda: EncoderFolder.open(folder)) == (
        f"{folder / 'model.onnx'}: gives embeddings that are not finite. Export it anew."
    )


def test_a_provider_that_is_not_there_is_told(tiny: Path) -> None:
    text = refusal(lambda: EncoderFolder.open(tiny, provider="cuda"), UsageError)
    assert text == (
        "--provider cuda: onnxruntime has none of that name here; it has cpu.\n"
        "Name one of these, or install a build of onnxruntime that has it."
    )


def test_without_the_extra_its_command_is_told(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    assert refusal(lambda: EncoderFolder.open(tiny), UsageError) == (
        f"{tiny}: reading texts by a tokenizer needs tokenizers, which is not installed.\n"
        "Install the extra: pip install 'scorer[transformer]'"
    )


def test_the_hash_is_of_both_files(tmp_path: Path, tiny: Path) -> None:
    same = tiny_folder(tmp_path / "same", WORDS)
    assert EncoderFolder.open(same).sha256 == EncoderFolder.open(tiny).sha256
    (same / "model.onnx").write_bytes(tiny_graph(4 + len(WORDS), opset=16))
    assert EncoderFolder.open(same).sha256 != EncoderFolder.open(tiny).sha256
