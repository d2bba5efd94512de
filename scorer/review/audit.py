"""The files of an audit sample: a sheet for each coder, and the key that holds its design.

What stands in them is written down in `scorer.review.sheet`.
"""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from scorer.decide.place import free_place
from scorer.engine.files import told, write_atomically
from scorer.errors import UsageError
from scorer.review.export import CSV, XLSX, check_format, csv
from scorer.review.sample import Sample
from scorer.review.sample_keys import seeded_keys
from scorer.review.sheet import ANSWERS, ANSWERS_SHEET, answer_column, key_path, sheet_path
from scorer.review.workbook import workbook
from scorer.status import STAMP
from scorer.targets import score_column

if TYPE_CHECKING:
    from xlsxwriter import Workbook
    from xlsxwriter.worksheet import Worksheet

NOTE: Final = "note"
CODER: Final = "coder"
_DESIGN: Final = ("stratum", "pi", "weight", "classification")
"""What a sheet shows of the key, besides scores, unless it is blind."""
_ERROR: Final = f"Answer {', '.join(ANSWERS[:-1])} or {ANSWERS[-1]} (or oui, non, incertain)."


def audit_paths(output: Path, coders: int) -> tuple[list[Path], Path]:
    """Return where the coders' sheets and the key of a sample go."""
    return [sheet_path(output, coder) for coder in range(1, coders + 1)], key_path(output)


def free_places(output: Path, coders: int, scores: Path, *, overwrite: bool) -> None:
    """Raise the `ScorerError` that fits where a sheet or the key may not be written."""
    check_format(output, (CSV, XLSX))
    if coders < 1:
        raise UsageError(f"--coders {coders}: expected at least 1.")
    sheets, key = audit_paths(output, coders)
    for place in (*sheets, key):
        free_place(place, (scores,), overwrite=overwrite)


def write_audit(sample: Sample, output: Path, *, coders: int, blind: bool) -> list[Path]:
    """Write a sheet for each coder and, last, the key; return where they lie.

    The same works and questions in each sheet, in orders of their own, so that neither fatigue nor
    a neighbour's answer falls on the same works. `blind`: nothing of design, scores and calls in
    the sheets.
    """
    sheets, key = audit_paths(output, coders)
    contents = [
        (place, _content(_sheet(sample, coder, blind=blind), sample, output.suffix.lower()))
        for coder, place in enumerate(sheets, 1)
    ]
    design_of_all = _key(sample)
    with told(key):
        key.unlink(missing_ok=True)  # that of an earlier sample must not lie beside new sheets
    for place, content in (*contents, (key, design_of_all)):
        with told(place):
            write_atomically(place, content)
    return [*sheets, key]


def _sheet(sample: Sample, coder: int, *, blind: bool) -> pl.DataFrame:
    key, ids = sample.key, sample.key["id"]
    shown = sample.records if sample.records is not None else ids.to_frame()
    columns: list[pl.Series] = list(shown)
    if not blind:
        learned = sample.scores.learned
        scores = [score_column(head, name) for name in sample.asked for head in learned(name)]
        columns += list(key.select(*_DESIGN, *scores))
    empty = pl.repeat(None, key.height, dtype=pl.String, eager=True)
    columns += [empty.alias(answer_column(name)) for name in sample.asked]
    columns += [
        empty.alias(NOTE),
        pl.repeat(coder, key.height, dtype=pl.Int64, eager=True).alias(CODER),
        key["prediction_status"],
    ]
    order = pl.DataFrame({"key": seeded_keys(ids, sample.request.seed, coder), "id": ids})
    return pl.DataFrame(columns)[order.select(pl.arg_sort_by("key", "id")).to_series()]


def _content(sheet: pl.DataFrame, sample: Sample, ending: str) -> bytes:
    if ending == CSV:
        return csv(sheet)

    def with_lists(book: "Workbook", answers: "Worksheet") -> None:
        answered = book.add_format({"bg_color": "#FFF8DC", "border": 1, "border_color": "#D9D9D9"})
        last = sheet.height
        for place, name in enumerate(sheet.columns):
            if name in asked:
                answers.set_column_pixels(place, place, 150, answered)
                answers.data_validation(
                    1,
                    place,
                    last,
                    place,
                    {
                        "validate": "list",
                        "source": list(ANSWERS),
                        "error_title": name,
                        "error_message": _ERROR,
                        # oui and non count as well: whoever types them is asked, not stopped
                        "error_type": "warning",
                    },
                )

    asked = {answer_column(name) for name in sample.asked}
    return workbook(ANSWERS_SHEET, sheet, _questions(sample), with_lists)


def _questions(sample: Sample) -> list[tuple[str, str | int]]:
    """Return what a coder should know: one line a question, and what the answers mean."""
    labels = {target.name: target.label for target in sample.scores.targets.binary}
    return [
        *(
            (answer_column(name), f"{labels[name].en} / {labels[name].fr}: yes, no or unsure")
            for name in sample.asked
        ),
        ("unsure", "What is known of the work does not let you tell."),
        ("oui, non, incertain", "count as yes, no, unsure / comptent comme yes, no, unsure."),
        ("blank", "Not answered yet: an unfinished sheet is not evaluated."),
        ("note", "Your own words; never read by the program."),
        ("prediction_status", STAMP),
    ]


def _key(sample: Sample) -> bytes:
    table = sample.key.to_arrow()
    words = [
        table.schema.field(place).with_type(pa.string())
        if pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
        else table.schema.field(place)
        for place, kind in enumerate(table.schema.types)
    ]
    metadata = {"prediction_status": STAMP, "design": json.dumps(design(sample), sort_keys=True)}
    content = io.BytesIO()
    pq.write_table(table.cast(pa.schema(words, metadata=metadata)), content, compression="zstd")
    return content.getvalue()


def design(sample: Sample) -> Mapping[str, Any]:
    """Return the design of a sample, as the key's metadata hold it."""
    request, output = sample.request, sample.scores.manifest.output
    return {
        "seed": request.seed,
        "allocation": request.allocation,
        "strata": list(sample.stratifiers),
        "segments": list(request.segments),
        "target": request.target,
        "asked": list(sample.asked),
        "scores": {"name": output.name, "size": output.size, "sha256": output.sha256},
    }
