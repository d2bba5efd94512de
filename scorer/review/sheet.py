"""The coder's sheet and the key of an audit sample: what `sample` writes and `evaluate` reads.

`scorer sample -o audit.xlsx --coders 2` writes three files side by side:

    audit.coder1.xlsx, audit.coder2.xlsx   a sheet a coder: the same works, each in its own order
    audit.key.parquet                      the design: a row for each work of the sample

Sheet: XLSX (its first worksheet, `answers`) or CSV (UTF-8 with a byte order mark, commas). A
header, then a row for each work. Columns go by name, in any order:

- `id`: as in the scored file.
- `title`, `abstract`, `venue`, `year`, `type`, `field`, `topic`, `lang`: those that the frame has.
- `stratum`, `pi`, `weight`, `classification`, `score_<head>_<target>`: not in a blind sheet.
- `answer_<target>`, one for each target that is asked: `yes`, `no` or `unsure`.
- `note`: the coder's own words; never read.
- `coder`: 1, 2, …
- `prediction_status`: `machine_predicted_unvalidated`, the status of what the sample was drawn by.

An answer counts without regard to case and to spaces around it; `WORDS` has what else is taken for
one, French words and what spreadsheet programs make of a tick. `unsure`: the record does not let
the coder tell, so the work is unknown for that target, as one that a teacher declined to judge. A
blank is not answered yet: the sheet is unfinished, an error that names the first cell. Any other
word is an error that names the cell. No work occurs twice and none is added; a row that was taken
away is unfinished too.

In CSV a text that a spreadsheet would take for a formula has an apostrophe in front: ids are read
through `scorer.review.cells.restored`. In XLSX texts are as they are, typed as text.

Key: Parquet, a row for each work of the sample:

- `id`: String.
- `stratum`: String; its levels, joined by " / ".
- `in_calls`, `in_segment`, `in_lang`, `in_abstract`, `in_year`: String; a level for each stratifier
  that was asked for.
- `stratum_works`: Int64, N_h; works of the scored file that stand in the stratum.
- `stratum_sample`: Int64, n_h; works drawn from it, at least 2 where N_h is at least 2.
- `pi`: Float64, n_h / N_h; the work's inclusion probability.
- `weight`: Float64, 1 / pi; the weights of a stratum add up to N_h.
- `segment`, `classification`, `teacher_disagreement`, `threshold_uncertainty`, the score columns,
  `model_version`, `policy_version`, `score_status`, `prediction_status`: as in the scored file.

Within a stratum, works are drawn by simple random sampling without replacement, independently of
other strata. Every stratum that holds works is in the key, so N is the sum of N_h over its strata.
The file's metadata hold `prediction_status` and `design`, JSON: `seed`, `allocation`, `strata`,
`segments`, `target` (or null), `asked` (targets), `scores` (the scored file's name, size, sha256).
"""

from pathlib import Path
from typing import Final, Literal

Answer = Literal["yes", "no", "unsure"]
ANSWERS: Final[tuple[Answer, ...]] = ("yes", "no", "unsure")
WORDS: Final[dict[Answer, tuple[str, ...]]] = {
    "yes": ("yes", "oui", "1", "true", "vrai"),
    "no": ("no", "non", "0", "false", "faux"),
    "unsure": ("unsure", "incertain", "incertaine"),
}
"""Every word that counts as an answer; a sheet offers the first of each."""
ANSWER_PREFIX: Final = "answer_"
ANSWERS_SHEET: Final = "answers"
"""Name of the worksheet that holds the answers."""


def answer_column(target: str) -> str:
    """Return the column that holds the answers for a target."""
    return f"{ANSWER_PREFIX}{target}"


def sheet_path(output: Path, coder: int) -> Path:
    """Return where a coder's sheet lies: `audit.xlsx`, 1 -> `audit.coder1.xlsx`."""
    return output.with_name(f"{output.stem}.coder{coder}{output.suffix}")


def key_path(output: Path) -> Path:
    """Return where the key lies: `audit.xlsx` -> `audit.key.parquet`."""
    return output.with_name(f"{output.stem}.key.parquet")


def key_of(sheet: Path) -> Path:
    """Return where the key of a coder's sheet lies: `audit.coder1.csv` -> `audit.key.parquet`."""
    stem, dot, coder = sheet.stem.rpartition(".")
    named = dot and coder.startswith("coder")
    return key_path(sheet.with_name((stem if named else sheet.stem) + sheet.suffix))
