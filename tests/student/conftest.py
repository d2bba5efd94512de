"""A small made student: six hundred n-grams, two heads, five binary targets, two axes.

Unlike the bundle that the whole suite shares it is not trained: its weights are drawn, so that
every score is known without a fit.
"""

import hashlib
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_matrix

from scorer.policy.policy import Policy, Silent
from scorer.student.bundle import Student, load_student
from scorer.student.listing import list_ngrams
from scorer.student.manifest import Manifest, Maturity, NgramSettings, TextField, TrainingData
from scorer.student.ngrams import NgramEncoder
from scorer.targets import Axis, Binary, Head, Label, Targets
from scorer.train.graph import build_graph
from scorer.train.quantise import Table, quantise

WORDS = [
    *("open", "science", "of", "the", "review", "méta", "trial", "cohort", "data", "peer", "bias"),
    *(
        "αβγ",
        "Canada",
        "h-index",
        "2020",
        "replication",
        "and",
        "methods",
        "<i>E. coli</i>",
        "ΟΔΟΣ",
    ),
    *("p &lt; 0.05", "R&amp;D", "\ufb01nding"),
]
NGRAMS = 600
BINARY = {
    "metaresearch": "category",
    "sts": "category",
    "insufficient_payload": "category",
    "about_ca_system": "flag",
    "about_ca_topic": "flag",
}
AXES = {"domain": ("methods", "reporting", "incentives"), "genre": ("empirical", "review")}
OUTPUTS = 2 * (len(BINARY) + sum(map(len, AXES.values())))


def _label(name: str) -> Label:
    return Label(en=name, fr=name)


def _targets() -> Targets:
    return Targets(
        heads=(Head(name="codex"), Head(name="gemma", unavailable=("sts",))),
        binary=tuple(
            Binary(name=name, kind=kind, label=_label(name)) for name, kind in BINARY.items()
        ),
        axes=tuple(
            Axis(
                name=name,
                label=_label(name),
                values=values,
                value_labels=tuple(map(_label, values)),
                only_with="metaresearch" if name == "domain" else None,
            )
            for name, values in AXES.items()
        ),
    )


def _works(rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    titles = [" ".join(rng.choice(WORDS, rng.integers(0, 12))) for _ in range(rows)]
    return pl.DataFrame(
        {
            "id": [f"W{row}" for row in range(rows)],
            "title": [None if row % 97 == 5 else title for row, title in enumerate(titles)],
            "abstract": [
                None if row % 3 else " ".join(rng.choice(WORDS, rng.integers(1, 90)))
                for row in range(rows)
            ],
            "venue": rng.choice(["Journal of Trials", "Nature", None], rows).tolist(),
            "lang": rng.choice(["en", "fr", None], rows).tolist(),
            "year": rng.choice([1999, 2004, 2021, None], rows).tolist(),
        },
        schema_overrides={"year": pl.Int32},
    )


def _settings(ngrams: int, unit: float) -> NgramSettings:
    return NgramSettings(
        text=(
            TextField(field="title", bigrams=True, beginnings=(4,)),
            TextField(field="abstract", bigrams=True),
            TextField(field="venue"),
        ),
        whole=("venue", "lang"),
        decade=True,
        shape=True,
        ngrams=ngrams,
        logit_unit=unit,
    )


@dataclass(frozen=True)
class Made:
    """What a bundle is written from; a test replaces a part of it."""

    targets: Targets
    settings: NgramSettings
    vocabulary: pl.DataFrame
    table: Table
    model: bytes
    changes: dict[str, Any] = field(default_factory=dict)
    """Fields of the manifest that differ from those that fit."""

    def write(self, folder: Path) -> Path:
        """Write the bundle, its hashes and its version true."""
        folder.mkdir(parents=True)
        silent = {head: Silent(reason="off") for head in self.targets.head_names}
        policy = Policy(entries=dict.fromkeys(self.targets.binary_names, silent))
        vocabulary = io.BytesIO()
        self.vocabulary.write_parquet(vocabulary)
        files = {
            "model.onnx": self.model,
            "vocabulary.parquet": vocabulary.getvalue(),
            "policy.json": policy.to_json().encode(),
            "README.md": b"# made\n",
        }
        for name, content in files.items():
            (folder / name).write_bytes(content)
        manifest = Manifest(
            schema_version=1,
            name="made",
            licence="MIT",
            targets=self.targets,
            encoder=self.settings,
            maturity=Maturity(rounds=1, criteria={}, passed=True, note="made"),
            training=TrainingData(
                rows=1, heads=(), source="made", licence="MIT", attribution="made", sha256=""
            ),
            metrics={},
            files={name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
        ).model_copy(update=self.changes)
        (folder / "bundle.json").write_text(manifest.to_json(), encoding="utf-8")
        return folder


def _presence(encoder: NgramEncoder, works: pl.DataFrame) -> csr_matrix:
    encoded = encoder.encode(works)
    return csr_matrix(
        (np.ones(len(encoded.ids)), encoded.ids - 1, encoded.offsets), (works.height, NGRAMS)
    )


@pytest.fixture(scope="session")
def works() -> pl.DataFrame:
    """1,050 works, some without title, every third with an abstract."""
    return _works(1_050)


@pytest.fixture(scope="session")
def made(works: pl.DataFrame) -> Made:
    """The parts of a bundle that fit one another."""
    every = list_ngrams(works, _settings(1, 1.0)).select("channel", "ngram")
    vocabulary = every.unique(maintain_order=True).sample(NGRAMS, seed=0, shuffle=True)
    rng = np.random.default_rng(1)
    bias = rng.normal(-0.5, 1, OUTPUTS)
    bias[OUTPUTS // 2 + 1] = np.nan  # the second head has not learned `sts`
    table = quantise(rng.normal(0, 0.4, (NGRAMS, OUTPUTS)), bias)
    targets = _targets()
    return Made(
        targets, _settings(NGRAMS, table.unit), vocabulary, table, build_graph(table, targets)
    )


@pytest.fixture(scope="session")
def made_bundle(made: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the made bundle; for reading only."""
    return made.write(tmp_path_factory.mktemp("bundles") / "made")


@pytest.fixture(scope="session")
def made_student(made_bundle: Path) -> Student:
    """The made bundle, loaded."""
    return load_student(made_bundle)


@pytest.fixture(scope="session")
def presence() -> Callable[[NgramEncoder, pl.DataFrame], csr_matrix]:
    """Presence features [works, n-grams] through an encoder: `presence(encoder, works)`."""
    return _presence
