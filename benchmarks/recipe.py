"""The published recipe, the peer of `scorer run`: hashed n-grams and linear heads in scikit-learn.

Words 1-2 and characters 3-5 (inside word bounds), 2^18 hashes each, lower-cased; 22 linear heads,
fitted once on the titles of ../shared/labels and cached; sigmoids written to a Parquet file.
"""

import multiprocessing
from collections import deque
from collections.abc import Iterator
from multiprocessing.pool import AsyncResult
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Annotated, Final

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import typer
from _measure import console, shared, work_folder
from scipy.sparse import csr_matrix, hstack
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier

HASHES: Final = 1 << 18
HEADS: Final = ("codex", "gemma")
BINARY: Final = (
    *("metaresearch", "metaepi_narrow", "metaepi_broad", "bibliometrics", "sts"),
    *("scholarly_communication", "open_science", "research_integrity", "insufficient_payload"),
    *("about_ca_system", "about_ca_topic"),
)
WORKS_A_BATCH: Final = 2_000

Floats = npt.NDArray[np.float32]

_WORDS: Final = HashingVectorizer(
    n_features=HASHES, ngram_range=(1, 2), lowercase=True, dtype=np.float32
)
_CHARACTERS: Final = HashingVectorizer(
    n_features=HASHES, analyzer="char_wb", ngram_range=(3, 5), lowercase=True, dtype=np.float32
)


class Recipe:
    """The linear heads: weights float32 [2 x 2^18, 22], in C order so that nothing is copied."""

    def __init__(self, weights: Floats, bias: Floats) -> None:
        """Take the weights and the biases, float32 [22]."""
        self._weights = np.ascontiguousarray(weights)
        self._bias = bias

    def scores(self, texts: list[str]) -> Floats:
        """Return float32 [texts, 22]; the two halves are never stacked, which would copy them."""
        logits = _WORDS.transform(texts) @ self._weights[:HASHES]
        logits += _CHARACTERS.transform(texts) @ self._weights[HASHES:]
        return 1 / (1 + np.exp(-(logits + self._bias)))


def features(texts: list[str]) -> csr_matrix:
    """Return the hashed features, float32 [texts, 2 x 2^18]."""
    return hstack([_WORDS.transform(texts), _CHARACTERS.transform(texts)], format="csr")


def load_recipe() -> Recipe:
    """Return the fitted recipe; fits the 22 heads where that was not done before."""
    cached = work_folder() / "recipe.npz"
    if not cached.exists():
        weights, bias = _fit()
        np.savez(cached.with_suffix(".tmp.npz"), weights=weights, bias=bias)
        cached.with_suffix(".tmp.npz").rename(cached)
    with np.load(cached) as found:
        return Recipe(found["weights"], found["bias"])


def _fit() -> tuple[Floats, Floats]:
    """Fit one classifier a head and target; works that a teacher declined are left out."""
    labels = pl.read_parquet(shared("labels/teacher_sample.parquet"))
    found = features(labels["title"].fill_null("").to_list())
    weights, bias = [], []
    for head in HEADS:
        said = labels[f"{head}_categories"]
        judged = (~said.list.contains("insufficient_payload")).to_numpy()
        for target in BINARY:
            flag = target.startswith("about_")
            answers = labels[f"{head}_{target}"] if flag else said.list.contains(target)
            known = judged if target != "insufficient_payload" else np.ones(len(judged), bool)
            model = SGDClassifier(loss="log_loss", alpha=1e-5, random_state=0)
            model.fit(found[known], answers.fill_null(False).to_numpy()[known])
            weights.append(model.coef_[0])
            bias.append(model.intercept_[0])
    return np.array(weights, np.float32).T, np.array(bias, np.float32)


def score_frame(frame: Path, output: Path, processes: int) -> int:
    """Score the titles, and abstracts if there are any, of a Parquet file; return the works."""
    names = [f"score_{head}_{target}" for head in HEADS for target in BINARY]
    schema = pa.schema([("id", pa.string()), *((name, pa.float32()) for name in names)])
    works = 0
    with pq.ParquetWriter(output, schema, compression="zstd") as writer:
        for ids, scores in _scored(frame, processes):
            columns = [ids, *(pa.array(column) for column in scores.T)]
            writer.write_table(pa.table(columns, schema=schema))
            works += len(ids)
    return works


def _scored(frame: Path, processes: int) -> Iterator[tuple[pa.Array, Floats]]:
    """Yield ids and scores of each batch, in order; worker processes do all but read and write."""
    recipe = load_recipe()
    if processes == 1:
        for ids, texts in _batches(frame):
            yield ids, recipe.scores(texts)
        return
    context = multiprocessing.get_context("spawn")
    # All are ready before the first batch, so that start-up is the same for any frame.
    ready = context.Barrier(processes + 1)
    with context.Pool(processes, _start, (ready,)) as pool:
        ready.wait()
        waiting: deque[tuple[pa.Array, AsyncResult[Floats]]] = deque()
        for ids, texts in _batches(frame):
            waiting.append((ids, pool.apply_async(_score, (texts,))))
            if len(waiting) > 2 * processes:
                done, scores = waiting.popleft()
                yield done, scores.get()
        for done, scores in waiting:
            yield done, scores.get()


_loaded: list[Recipe] = []


def _start(ready: Barrier) -> None:
    _loaded.append(load_recipe())
    ready.wait()


def _score(texts: list[str]) -> Floats:
    return _loaded[0].scores(texts)


def _batches(frame: Path) -> Iterator[tuple[pa.Array, list[str]]]:
    file = pq.ParquetFile(frame)
    fields = [name for name in ("title", "abstract") if name in file.schema_arrow.names]
    for batch in file.iter_batches(WORKS_A_BATCH, columns=["id", *fields]):
        works = pl.DataFrame(pl.from_arrow(batch))
        texts = works.select(pl.concat_str(fields, separator=" ", ignore_nulls=True)).to_series()
        yield works["id"].to_arrow().cast(pa.string()), texts.fill_null("").to_list()


def main(
    frame: Annotated[Path, typer.Argument(help="A Parquet file with id, title, maybe abstract.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the scores go.")],
    processes: Annotated[int, typer.Option(min=1, help="How many score at a time.")] = 2,
) -> None:
    """Score a frame by the published recipe."""
    console.print(f"{score_frame(frame, output, processes):,} works scored")


if __name__ == "__main__":
    typer.run(main)
