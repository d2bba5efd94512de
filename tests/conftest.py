"""Fixtures for the whole suite: made labels, a tiny bundle trained from them, frames to score.

The labels are made, not sampled: a title holds the words of its categories, so that a tiny student
can learn them. `codex` never says `sts` (no head can be fitted there); `open_science` has fewer
positives than the gate asks for.
"""

import hashlib
import json
import random
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import joblib
import polars as pl
import pytest
from encoders import Drawn, drawn_bundle, minilm_folder, tiny_folder
from hypothesis import settings

from scorer.engine.job import default_policy
from scorer.engine.request import RunRequest
from scorer.engine.run import run
from scorer.frame.parquet import ParquetFrame
from scorer.policy.policy import Policy
from scorer.student.bundle import Student, load_student
from scorer.student.manifest import MANIFEST_FILE, Manifest
from scorer.train.distil import train
from scorer.train.fit import Recipe
from scorer.train.trained import TrainRequest

ROOT = Path(__file__).parent.parent
SHARED = ROOT.parent / "shared"
SHIPPED = ROOT / "models" / "metacan-ngram"
A_WEEK = 604_800.0

WORDS = {
    "metaresearch": "peer review reproducibility replication trials registered outcomes",
    "bibliometrics": "citation impact journals authorship indexing coauthor networks",
    "open_science": "open access sharing repositories preprints",
    "sts": "laboratory ethnography expertise controversy",
}
FILLER = [
    *("cells", "forest", "river", "patients", "market", "teachers", "protein", "glacier"),
    *("painting", "engine", "robots", "soil", "migration", "sleep", "asthma", "concrete"),
    *("poetry", "voters", "neurons", "tides", "bees", "taxes", "enzymes", "orbit"),
]
# How long an example takes says how busy the machine is. All else is Hypothesis's own: under CI
# it draws the same examples again.
settings.register_profile("suite", settings(), deadline=None)
settings.load_profile("suite")
# In the background of a script a program ignores Ctrl-C, and so would those that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

OFTEN = {"metaresearch": 0.30, "bibliometrics": 0.25, "open_science": 0.05, "sts": 0.12}


def _work(number: int, chance: random.Random) -> dict[str, object]:
    """Make one labelled work; every twentieth is one that the teachers declined to judge."""
    declined = number % 20 == 7
    said = [] if declined else [name for name in WORDS if chance.random() < OFTEN[name]]
    words = chance.sample(FILLER, 4)
    for name in said:
        words += chance.sample(WORDS[name].split(), 3)
    canadian = not declined and chance.random() < 0.3
    title = f"scan{number}" if declined else "The " + " ".join(words) + " study"
    labels = ["insufficient_payload"] if declined else said
    gemma = [name for name in labels if chance.random() < 0.9]
    codex = [name for name in labels if name != "sts"]
    row: dict[str, object] = {
        "id": f"https://openalex.org/W{number + 1}",
        "title": title + (" in Canada" if canadian else ""),
        "venue": f"Journal {chance.randrange(40)}",
        "topic": chance.choice(["Topic A", "Topic B", None]),
        "field": chance.choice(["Medicine", "Arts"]),
        "lang": "en",
        "type": chance.choice(["article", "review"]),
        "year": 1990 + chance.randrange(34),
        "stratum": f"s{number % 3}",
        "weight": float(1 + number % 5),
    }
    for head, categories in (("codex", codex), ("gemma", gemma)):
        on_research = "metaresearch" in categories
        row |= {
            f"{head}_categories": categories,
            f"{head}_domain": chance.choice(["methods", "reporting"]) if on_research else None,
            f"{head}_genre": "empirical" if number % 3 else "review",
            f"{head}_about_ca_topic": canadian,
        }
    return row


def label_table(works: int = 300, seed: int = 0) -> pl.DataFrame:
    """Return a label table of two heads, as `../shared/README.md` describes it."""
    chance = random.Random(seed)
    return pl.DataFrame([_work(n, chance) for n in range(works)], infer_schema_length=None)


@pytest.fixture(scope="session", autouse=True)
def fits_in_threads() -> Iterator[None]:
    """Fit heads in threads: worker processes take longer to start than tiny heads to fit."""
    with joblib.parallel_config(backend="threading"):
        yield


@pytest.fixture(scope="session", autouse=True)
def says_the_same_however_slow() -> Iterator[None]:
    """Let no line depend on the time that it takes: not that a step is long, nor how far it is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scorer.engine.progress.LONG_SILENCE", A_WEEK)
        patch.setattr("scorer.cli.tables._SECONDS_BETWEEN_LINES", A_WEEK)
        yield


@pytest.fixture(scope="session")
def make_labels() -> Callable[..., pl.DataFrame]:
    """Make a label table: `make_labels(works=300, seed=0)`."""
    return label_table


@pytest.fixture(scope="session")
def tiny_labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Path of a label table of 300 made works (Parquet)."""
    path = tmp_path_factory.mktemp("labels") / "labels.parquet"
    label_table().write_parquet(path)
    return path


@pytest.fixture(scope="session")
def tiny_bundle(tiny_labels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a bundle with the heads codex and gemma, trained once a session."""
    folder = tmp_path_factory.mktemp("bundles") / "tiny"
    train(TrainRequest(output=folder, labels=tiny_labels, licence="CC0", attribution="nobody"))
    return folder


@pytest.fixture(scope="session")
def calibrated_bundle(tiny_labels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the tiny bundle with calibrated scores; `unseen.parquet` lies beside it."""
    folder = tmp_path_factory.mktemp("calibrated")
    train(
        TrainRequest(
            output=folder / "tiny",
            labels=tiny_labels,
            licence="CC0",
            attribution="nobody",
            calibrate="isotonic",
            out_of_fold=folder / "unseen.parquet",
        )
    )
    return folder / "tiny"


@pytest.fixture(scope="session")
def second_bundle(tiny_labels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of another bundle of the same labels: it stands for a slow one that knows better."""
    folder = tmp_path_factory.mktemp("bundles") / "second"
    train(TrainRequest(output=folder, labels=tiny_labels, recipe=Recipe(ngrams=60)))
    return folder


@pytest.fixture(scope="session")
def stacked(
    tiny_frame: Path,
    tiny_bundle: Path,
    second_bundle: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """The tiny frame scored by the tiny bundle, a fifth of it again by the second one."""
    output = tmp_path_factory.mktemp("stacked") / "out.parquet"
    run(
        RunRequest(
            frame=tiny_frame,
            output=output,
            model=str(tiny_bundle),
            refine=str(second_bundle),
            refine_share=0.2,
        )
    )
    return output


@pytest.fixture(scope="session")
def abstract_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a bundle that reads abstracts, its labels say yes by a word of the abstract."""
    folder = tmp_path_factory.mktemp("abstracts")
    word = pl.when(pl.col("codex_categories").list.contains("metaresearch"))
    label_table().with_columns(
        title=pl.lit("A title that tells nothing"),
        abstract=word.then(pl.lit("We audit replication here")).otherwise(pl.lit("We grow wheat")),
    ).write_parquet(folder / "labels.parquet")
    train(TrainRequest(output=folder / "reads", labels=folder / "labels.parquet"))
    return folder / "reads"


@pytest.fixture(scope="session")
def student(tiny_bundle: Path) -> Student:
    """The tiny bundle, loaded."""
    return load_student(tiny_bundle)


@pytest.fixture(scope="session")
def policy(student: Student) -> Policy:
    """The tiny bundle's own policy."""
    return default_policy(student)


@pytest.fixture(scope="session")
def tiny_frame(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Path of a frame of 200 works (Parquet): odd titles first, then made ones; `doi` to keep."""
    path = tmp_path_factory.mktemp("frames") / "tiny.parquet"
    marked = "<i>Citation</i> impact &amp;amp; journals of bees"
    odd = [None, "", "Short", marked, "CAPITALS ALL OVER THE PLACE"]
    works = label_table(200, seed=1)
    titles = pl.Series("title", odd + works["title"].to_list()[len(odd) :])
    works.select(
        *("id", "venue", "topic", "field", "lang", "year"),
        titles,
        doi=pl.format("10.1/{}", pl.int_range(pl.len())),
    ).write_parquet(path)
    return path


@pytest.fixture(scope="session")
def minilm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder folder: all-MiniLM-L6-v2 with int8 weights; 3 ms of a processor for a title."""
    return minilm_folder(tmp_path_factory.mktemp("encoders") / "minilm")


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder folder that knows the words of the made labels, and takes no time."""
    words = sorted({*FILLER, *" ".join(WORDS.values()).split(), "the", "study", "in", "canada"})
    return tiny_folder(tmp_path_factory.mktemp("encoders") / "tiny", words)


@pytest.fixture(scope="session")
def token_bundle(tiny_encoder: Path, tiny_bundle: Path) -> Drawn:
    """A `tokenizer` bundle with the tiny bundle's targets and drawn heads; for reading only."""
    return drawn_bundle(tiny_bundle.parent / "token", tiny_encoder, tiny_bundle)


@pytest.fixture(scope="session")
def mixed_bundle(tiny_encoder: Path, tiny_bundle: Path) -> Drawn:
    """A `mixed` bundle with the tiny bundle's n-grams and drawn heads; for reading only."""
    return drawn_bundle(tiny_bundle.parent / "mixed", tiny_encoder, tiny_bundle, mixed=True)


@pytest.fixture(scope="session")
def sample_frame() -> Path:
    """Path of the committed sample frame."""
    return ROOT / "sample_frames" / "works.parquet"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared data; a test that needs it is skipped where it is absent."""
    if not SHARED.is_dir():
        pytest.skip(f"{SHARED} is absent: this test reads the shared labels or frames")
    return SHARED


@pytest.fixture(scope="session")
def shipped_bundle() -> Path:
    """Folder of the shipped bundle; a test that needs it is skipped where it is absent."""
    if not (SHIPPED / MANIFEST_FILE).is_file():
        pytest.skip(f"{SHIPPED} is absent: this test reads the shipped bundle")
    return SHIPPED


@pytest.fixture(scope="session")
def read_frame() -> Callable[[Path, Student], pl.DataFrame]:
    """Read a frame file as one batch of the contract: `read_frame(path, student)`."""

    def read(path: Path, student: Student) -> pl.DataFrame:
        wanted = ["id", "title", *student.manifest.encoder.fields()]
        if "abstract" in wanted:
            wanted.append("abstract_inverted_index")
        file = ParquetFrame(path, wanted=list(dict.fromkeys(wanted)))
        return pl.concat([batch.frame for batch in file.batches(1 << 20)])

    return read


@pytest.fixture
def bundle_copy(tiny_bundle: Path, tmp_path: Path) -> Path:
    """A copy of the tiny bundle that the test may damage."""
    return Path(shutil.copytree(tiny_bundle, tmp_path / "copied"))


@pytest.fixture(scope="session")
def reseal() -> Callable[..., str]:
    """Write a bundle's manifest anew, its hashes true: `reseal(folder, maturity=...)`.

    Takes manifest fields to change; returns the version that the content makes.
    """

    def sealed(folder: Path, **changes: object) -> str:
        content = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
        content.pop("version")
        for name in content["files"]:
            if (folder / name).is_file():
                content["files"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        manifest = Manifest.model_validate(content | changes)
        (folder / MANIFEST_FILE).write_text(manifest.to_json(), encoding="utf-8")
        return manifest.version

    return sealed


@pytest.fixture
def immature_bundle(bundle_copy: Path, reseal: Callable[..., str]) -> Path:
    """A copy of the tiny bundle whose maturity gate has not passed."""
    reseal(
        bundle_copy,
        maturity={"rounds": 2, "criteria": {"moved": 0.2}, "passed": False, "note": "still moves"},
    )
    return bundle_copy
