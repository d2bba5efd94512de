"""Feeds random and damaged input to the parts that read what others wrote, for some minutes.

Half of the input is noise, half are real texts with pieces cut, doubled and swapped for pieces that
the code looks for. A target fails by an exception other than those it documents, by an answer that
it must not give, or by taking longer than `_SLOW`; a hang ends the program with a traceback.
A failure is stored with its seed: `--only NAME --seed N --minutes 0.01` feeds that input again.
"""

import bz2
import faulthandler
import gzip
import io
import json
import random
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Final

import polars as pl
import typer
from _measure import console, report, shared, work_folder

from scorer.errors import InputError, ScorerError
from scorer.frame.abstract import deinvert
from scorer.frame.files import LocalFile
from scorer.frame.parquet import ParquetFrame
from scorer.frame.readers.base import Asked, BadRecords
from scorer.frame.readers.registry import READERS
from scorer.frame.readers.sniff import sniff
from scorer.frame.text import clean, longer_than_ten, plain_text, tokenise
from scorer.student import DEFAULT_MODEL
from scorer.student.bundle import Student, load_student
from scorer.student.encoded import EncodedWorks
from scorer.student.folder import find_bundle

_SLOW: Final = 10.0  # seconds for one input; the longest have 100,000 characters
_HANGS: Final = 120.0
_LONGEST: Final = 100_000
_ROUND: Final = 1.0  # seconds that a target gets before the next one's turn

_PIECES: Final = (
    *("<i>", "</i>", "<sub>", "</sub>", "<scp>", "<mml:math", "<mml:mi>", "</mml:mn><mml:mn>"),
    *("<!--", "-->", "<tex-math>", "</", "<", ">", "&amp;", "&amp;amp;", "&lt;", "&#xD800;"),
    *("&#0;", "&#1114112;", "&#", ";", "&", "\\", "\\\\", "$", "$$", "{", "}", "\\alpha"),
    *("\\textit{", "\\'", '\\"', "\\c{", "\\n", "\\nu", "\\documentclass[", "\\setlength{"),
    *("\\begin{", "^", "_", "]", "[", '"', "Ã©", "Ã", "Â", "â€™", "Ð¡", "Ñ", "ðŸ˜€", "√©", "вЂ"),
    *("À", "\u00ad", "\u200b", "\ufeff", "\u0301", "\ufffd", "ﬁ", "ﷺ", "Σ", "İ", "東京", "가"),
    *("नमस्ते", "العربية", "👩", "\U000e0041", "\x00", "\x80", "\x98", "\x9c", " ", '": [', "], "),
    *(
        '":',
        '"IndexLength": 1,',
        '"InvertedIndex":',
        "\\u00e9",
        "\\ud800",
        "0",
        "-1",
        "1e9",
        "null",
    ),
)
_ALPHABETS: Final = (
    "<>/ab =\"'!-",
    "&#x;amplt19",
    "\\${}^_[]ab ",
    '{}[]":, 019\\u',
    "ÃÂâ€™Ð\x80\xa0 ",
)

Target = Callable[[random.Random, list[str]], None]
TARGETS: Final[dict[str, Target]] = {}
"""Name -> a function that makes one input from chance and real texts, and feeds it."""


@dataclass(slots=True)
class Count:
    """What happened to one target."""

    runs: int = 0
    slowest: float = 0.0
    failures: list[str] = field(default_factory=list)


def target(name: str) -> Callable[[Target], Target]:
    """Enter a function among the targets."""

    def enter(function: Target) -> Target:
        TARGETS[name] = function
        return function

    return enter


def noise(chance: random.Random) -> str:
    """Return characters, bytes or pieces at random; one in a hundred is very long."""
    size = _LONGEST if chance.random() < 0.01 else int(chance.expovariate(1 / 60))
    match chance.randrange(5):
        case 0:
            return chance.randbytes(size).decode(errors="replace")
        case 1:
            return chance.randbytes(size).decode("latin-1")
        case 2:
            return "".join(chance.choices(_PIECES, k=size // 3))
        case 3:
            return "".join(chance.choices(chance.choice(_ALPHABETS), k=size))
        case _:
            return (chance.choice(_PIECES) + chance.choice(_PIECES)) * (size // 4)


def damaged(text: str, chance: random.Random) -> str:
    """Return a text with pieces cut out, doubled, garbled and put in."""
    for _ in range(chance.randrange(1, 6)):
        start = chance.randrange(len(text) + 1)
        end = start + int(chance.expovariate(1 / 8))
        middle = chance.choice(
            ["", text[start:end] * 2, chance.choice(_PIECES), noise(chance)[:40]]
        )
        text = text[:start] + middle + text[end:]
    if chance.random() < 0.2:
        text = text.encode().decode(chance.choice(["latin-1", "cp1252", "cp1251"]), "replace")
    return text


def some_text(chance: random.Random, real: list[str]) -> str:
    """Return noise or a damaged text."""
    return noise(chance) if chance.random() < 0.5 else damaged(chance.choice(real), chance)


@target("clean")
def feed_cleaner(chance: random.Random, real: list[str]) -> None:
    """Compare a text's clean form and tokens alone with those beside others."""
    text = some_text(chance, real)
    column = pl.Series([text, None, "Plain title", text])
    forms = clean(column)
    assert forms[0] == forms[3] == clean(column[:1])[0], text
    assert forms.to_list()[1:3] == [None, "plain title"], text
    tokens = tokenise(plain_text(column))
    words = forms.str.extract_all(r"[\p{L}\p{N}]+").explode(empty_as_null=False).drop_nulls()
    assert tokens.unique.gather(tokens.codes).to_list() == words.to_list(), text
    assert longer_than_ten(column)[0] is (len(forms[0]) > 10), text


@target("encode")
def feed_encoders(chance: random.Random, real: list[str]) -> None:
    """Compare the ids of the compiled loops with those of the columns, as sets a work."""
    texts = [some_text(chance, real), chance.choice(real), some_text(chance, real)]
    frame = pl.DataFrame({"id": ["W1", "W2", "W3"], "title": texts})
    found = [_distinct_ids(student.encoder.encode(frame)) for student in _students()]
    assert found[0] == found[1], texts


@lru_cache(1)
def _students() -> tuple[Student, Student]:
    student = load_student(find_bundle(DEFAULT_MODEL))
    return student, student.compiled()


def _distinct_ids(works: EncodedWorks) -> list[set[int]]:
    bounds = works.offsets.tolist()
    return [set(works.ids[start:end].tolist()) for start, end in pairwise(bounds)]


@target("deinvert")
def feed_deinverter(chance: random.Random, real: list[str]) -> None:
    """Look for a text, or an error that names the work; and for the neighbour's text."""
    words = some_text(chance, real).split()
    index: dict[str, list[int]] = {}
    for position, word in enumerate(words):
        index.setdefault(word, []).append(position)
    separators = chance.choice([(", ", ": "), (",", ":")])
    whole = json.dumps(index, ensure_ascii=chance.random() < 0.5, separators=separators)
    ids = pl.Series(["W0", "W1"])
    expected = " ".join(words) or None
    assert deinvert(pl.Series(["{}", whole]), ids)[1] == expected, whole
    broken = noise(chance) if chance.random() < 0.2 else damaged(whole, chance)
    try:
        assert deinvert(pl.Series([broken, whole]), ids)[1] == expected, broken
    except InputError as error:
        assert str(error).startswith("work W0: "), broken


@target("readers")
def feed_readers(chance: random.Random, real: list[str]) -> None:
    """Read a damaged file of any format: its works, or an error in plain words."""
    content = chance.choice(list(FORMATS.values()))([some_text(chance, real) for _ in range(4)])
    content = damaged_bytes(content, chance)
    if chance.random() < 0.3:
        content = damaged_bytes(chance.choice([gzip.compress, bz2.compress])(content), chance)
    path = work_folder() / f"fuzz{chance.choice(['', '.csv', '.json', '.gz', '.ris'])}"
    path.write_bytes(content)
    file = LocalFile.at(path)
    asked = Asked(("id", "title", "abstract", "abstract_inverted_index", "venue", "year"))
    asked = replace(asked, bad=BadRecords(chance.choice(["error", "skip"])))
    try:
        told = sniff(file)
        if told.kind == "parquet":
            list(ParquetFrame(file, wanted=asked.wanted).batches(1_000))
        else:
            for piece in READERS[told.kind](file, told.compression, asked):
                assert piece.works.columns[0] == "id", content[:200]
                assert piece.works["id"].null_count() == 0 or told.kind == "arrow", content[:200]
    except ScorerError as error:
        assert 1 <= len(str(error).splitlines()) <= 3, str(error)
    finally:
        path.unlink()


def damaged_bytes(content: bytes, chance: random.Random) -> bytes:
    """Return bytes with some cut out, doubled or changed, or as they are."""
    for _ in range(chance.randrange(4)):
        start = chance.randrange(len(content) + 1)
        end = start + int(chance.expovariate(1 / 16))
        middle = chance.choice([b"", content[start:end] * 2, chance.randbytes(4), b"\x00", b'"'])
        content = content[:start] + middle + content[end:]
    return content


def _works(titles: list[str]) -> pl.DataFrame:
    return pl.DataFrame({"id": [f"W{n}" for n in range(len(titles))], "title": titles})


def _arrow(titles: list[str]) -> bytes:
    sink = io.BytesIO()
    _works(titles).write_ipc_stream(sink)
    return sink.getvalue()


def _parquet(titles: list[str]) -> bytes:
    sink = io.BytesIO()
    _works(titles).write_parquet(sink)
    return sink.getvalue()


def _openalex(titles: list[str]) -> bytes:
    works = [
        {"id": f"https://openalex.org/W{n}", "display_name": title, "publication_year": 2000}
        | {"abstract_inverted_index": {word: [0] for word in title.split()[:1]}}
        for n, title in enumerate(titles)
    ]
    return "\n".join(map(json.dumps, works)).encode()


def _records(form: str) -> Callable[[list[str]], bytes]:
    return lambda titles: "".join(
        form.replace("ID", str(n)).replace("TEXT", title) for n, title in enumerate(titles)
    ).encode(errors="replace")


FORMATS: Final[dict[str, Callable[[list[str]], bytes]]] = {
    "csv": lambda titles: _works(titles).write_csv().encode(),
    "jsonl": lambda titles: _works(titles).write_ndjson().encode(),
    "json": lambda titles: json.dumps(_works(titles).to_dicts()).encode(),
    "openalex": _openalex,
    "arrow": _arrow,
    "parquet": _parquet,
    "ris": _records("TY  - JOUR\nID  - ID\nTI  - TEXT\nER  - \n"),
    "bibtex": _records("@article{ID,\n  title = {TEXT},\n  year = 2001\n}\n"),
    "medline": _records("PMID- ID\nTI  - TEXT\nDP  - 2001\n\n"),
    "noise": lambda titles: "".join(titles).encode(errors="replace"),
}


def feed(name: str, seed: int, real: list[str], count: Count) -> None:
    """Feed one target one input; store the input's seed and the failure, if it fails."""
    started = time.perf_counter()
    failure = ""
    faulthandler.dump_traceback_later(_HANGS, exit=True)
    try:
        TARGETS[name](random.Random(seed), real)
    except Exception:
        failure = traceback.format_exc(limit=-3)
    faulthandler.cancel_dump_traceback_later()
    took = time.perf_counter() - started
    if took > _SLOW:
        failure += f"took {took:.1f} s"
    count.runs += 1
    count.slowest = max(count.slowest, took)
    if failure:
        count.failures.append(f"{name}, seed {seed}: {failure}")


def real_texts() -> list[str]:
    """Return real titles and abstracts."""
    found: list[str] = []
    for name in ("openalex_titles", "screening_abstracts"):
        frame = pl.read_parquet(shared(f"frames/{name}.parquet"))
        for column in ("title", "abstract"):
            if column in frame.columns:
                found += frame[column].drop_nulls().to_list()
    return found


def main(
    minutes: Annotated[float, typer.Option(min=0, help="How long, over all targets.")] = 5.0,
    only: Annotated[list[str] | None, typer.Option(help="Feed these targets alone.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the first input; they count up.")] = 0,
) -> None:
    """Feed the targets in turn until the time is over."""
    real = real_texts()
    counts = {name: Count() for name in only or TARGETS}
    ends = time.perf_counter() + minutes * 60
    while time.perf_counter() < ends:
        for name, count in counts.items():
            turn = min(ends, time.perf_counter() + _ROUND)
            while time.perf_counter() < turn:
                feed(name, seed + count.runs, real, count)
    rows = [
        {
            "target": name,
            "runs": f"{count.runs:,}",
            "failures": f"{len(count.failures)}",
            "slowest s": f"{count.slowest:.2f}",
        }
        for name, count in counts.items()
    ]
    failures = [failure for count in counts.values() for failure in count.failures]
    notes = [
        f"{minutes:g} minutes, seeds from {seed} on. Failures: an undocumented exception, "
        f"a wrong answer, or more than {_SLOW:g} s for one input."
    ]
    report("fuzz", "Random and damaged input", rows, notes)
    if failures:
        path = work_folder() / "fuzz-failures.txt"
        path.write_text("\n\n".join(failures), encoding="utf-8", errors="backslashreplace")
        console.print(f"the failures: {path}", style="red")
    raise typer.Exit(1 if failures else 0)


if __name__ == "__main__":
    typer.run(main)
