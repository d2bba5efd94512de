"""fastText, a peer of `scorer run`: a supervised model, word pairs, 32 dimensions, two processes.

Runs in an environment of its own (see _peers.py), so nothing of the project is imported. Each
process reads row groups of the frame and writes a Parquet file of its own: nothing is shared, and
no text passes from process to process. Only the best label of each work is asked for: all of them
would take fastText longer.

    python fasttext_peer.py train EXAMPLES.txt MODEL.bin
    python fasttext_peer.py predict MODEL.bin FRAME.parquet OUTPUT_FOLDER
"""

import multiprocessing
import os
import sys
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Final

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

PROCESSES: Final = 2
WORKS_A_BATCH: Final = 16_384
TOKEN: Final = r"[\p{L}\p{N}]+"
"""The pattern of DESIGN's second contract, on lower-cased text."""


def train(examples: Path, model: Path) -> None:
    """Train on lines of `__label__… text`, one loss a label as for several labels a work."""
    import fasttext  # noqa: PLC0415 - in the peer's environment alone

    made = fasttext.train_supervised(
        str(examples), wordNgrams=2, dim=32, loss="ova", epoch=5, thread=PROCESSES, verbose=0
    )
    made.save_model(str(model))
    print(len(made.labels), "labels,", len(made.words), "words")


def predict(model: Path, frame: Path, output: Path) -> None:
    """Label a frame in two processes, which are ready before the first work is read."""
    output.mkdir(exist_ok=True)
    os.environ["POLARS_MAX_THREADS"] = "1"  # each process has one processor
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(PROCESSES)
    workers = [
        context.Process(target=_predict, args=(model, frame, output, number, ready))
        for number in range(PROCESSES)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    sys.exit(max(abs(worker.exitcode or 0) for worker in workers))


def _predict(model: Path, frame: Path, output: Path, number: int, ready: Barrier) -> None:
    import fasttext  # noqa: PLC0415 - in the peer's environment alone

    fasttext.FastText.eprint = lambda *words: None  # it warns about itself
    loaded = fasttext.load_model(str(model)).f
    file = pq.ParquetFile(frame)
    fields = [name for name in ("title", "abstract") if name in file.schema_arrow.names]
    schema = pa.schema([("id", pa.string()), ("label", pa.string()), ("share", pa.float32())])
    ready.wait()
    with pq.ParquetWriter(output / f"{number}.parquet", schema, compression="zstd") as writer:
        for group in range(number, file.num_row_groups, PROCESSES):
            for batch in file.iter_batches(
                WORKS_A_BATCH, row_groups=[group], columns=["id", *fields], use_threads=False
            ):
                labels, shares = loaded.multilinePredict(_lines(batch, fields), 1, 0.0, "strict")
                columns = [
                    batch["id"].cast(pa.string()),
                    pa.array([found[0] if found else None for found in labels]),
                    pa.array([found[0] if len(found) else None for found in shares], pa.float32()),
                ]
                writer.write_table(pa.table(columns, schema=schema))


def _lines(batch, fields: list[str]) -> list[str]:
    """Return each work's tokens in a line, as fastText takes them."""
    texts = pl.DataFrame(pl.from_arrow(batch)).select(
        text=pl.concat_str(fields, separator=" ", ignore_nulls=True).fill_null("")
    )
    tokens = pl.col("text").str.to_lowercase().str.extract_all(TOKEN).list.join(" ")
    return texts.select(tokens + "\n").to_series().to_list()


if __name__ == "__main__":
    commands = {"train": train, "predict": predict}
    commands[sys.argv[1]](*(Path(word) for word in sys.argv[2:]))
