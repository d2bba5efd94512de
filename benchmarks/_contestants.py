"""Who takes part in run.py: scorer, the published recipe, fastText, the floor; on what frames."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl
from _contest import Command, Contest, Entrant, Goal
from _frames import made_frame, repeated_abstracts, repeated_titles
from _measure import ROOT, SCORER, SHIPPED, console, measure, scorer_run, shared, work_folder
from _peers import Environment, NotInstalledError
from abstract_bundle import ROWS, abstract_bundle, label_table, texts
from fasttext_peer import TOKEN

from scorer.student.folder import load_manifest

_HERE: Final = ROOT / "benchmarks"
_GROUP: Final = 1 << 17
"""Works of a row group of the frames: fastText's two processes share them evenly."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Works that each program gets: some seconds of work, for scorer over twenty."""

    scorer: int
    without_loops: int
    recipe: int
    fasttext: int
    made: int = 0


TITLES: Final = Sizes(96 * _GROUP, 16 * _GROUP, 131_072, 16 * _GROUP, made=2_000_000)
ABSTRACTS: Final = Sizes(10 * _GROUP, 2 * _GROUP, 16_384, 4 * _GROUP)
QUICK_TITLES: Final = Sizes(2 * _GROUP, _GROUP // 2, 4_000, 2 * _GROUP, made=100_000)
QUICK_ABSTRACTS: Final = Sizes(40_000, 8_192, 2_000, 40_000)


def contests(*, quick: bool) -> list[Contest]:
    """Return both contests of issue 6 and a frame without repetition, everything they need made."""
    titles, abstracts = (QUICK_TITLES, QUICK_ABSTRACTS) if quick else (TITLES, ABSTRACTS)
    bundle = abstract_bundle()
    own = Entrant("scorer", _scorer(SCORER, SHIPPED), titles.made)
    return [
        _contest("titles", repeated_titles, SHIPPED, titles, pace=500_000, fasttext=3),
        _contest("abstracts", repeated_abstracts, bundle, abstracts, pace=50_000, fasttext=1.4),
        Contest("made titles", made_frame, [own], _folder()),
    ]


def _contest(
    name: str,
    frame: Callable[[int], Path],
    bundle: Path,
    sizes: Sizes,
    *,
    pace: float,
    fasttext: float,
) -> Contest:
    ours = Entrant("scorer", _scorer(SCORER, bundle), sizes.scorer, Goal(pace, "pace"))
    contest = Contest(name, frame, [ours], _folder())
    contest.entrants += [
        _entrant("scorer, no loops", sizes.without_loops, lambda: _without_loops(bundle)),
        _entrant("recipe × 1", sizes.recipe, lambda: _recipe(1), Goal(40, "times")),
        _entrant("recipe × 2", sizes.recipe, lambda: _recipe(2)),
        _entrant(
            "fastText", sizes.fasttext, lambda: _fasttext(name, bundle), Goal(fasttext, "times")
        ),
        _entrant("floor", sizes.scorer, lambda: _floor(contest.output(ours)), Goal(2, "time")),
    ]
    return contest


def _entrant(
    name: str, works: int, command: Callable[[], Command], goal: Goal | None = None
) -> Entrant:
    """Return an entrant made ready, or one that says why it cannot be."""
    try:
        return Entrant(name, command(), works, goal)
    except (NotInstalledError, SystemExit) as error:
        console.print(f"{name}: {error}", style="red", highlight=False, markup=False)
        return Entrant(name, lambda *_: [], works, goal, failed=str(error).splitlines()[-1])


def _folder() -> Path:
    folder = work_folder() / "run"
    folder.mkdir(exist_ok=True)
    return folder


def _scorer(program: Path, bundle: Path) -> Command:
    def command(frame: Path, output: Path) -> list[str | Path]:
        return [program, *scorer_run(frame, output, "--model", bundle)[1:]]

    return command


def _without_loops(bundle: Path) -> Command:
    """Return the command of an environment without the extra `fast`."""
    environment = Environment.of("scorer-without-loops")
    if "numba" in environment.versions:
        raise NotInstalledError(f"{environment.folder}: has numba. Delete that folder.")
    return _scorer(environment.python.with_name("scorer"), bundle)


def _recipe(processes: int) -> Command:
    python, script = Environment.of("recipe").python, _HERE / "recipe.py"
    return lambda frame, output: [
        python,
        script,
        frame,
        "-o",
        output,
        "--processes",
        f"{processes}",
    ]


def _floor(like: Path) -> Command:
    script = _HERE / "floor.py"
    return lambda frame, output: [sys.executable, script, frame, "-o", output, "--like", like]


def _fasttext(name: str, bundle: Path) -> Command:
    """Return the command of a model, trained once: as many labels as `bundle` has outputs."""
    python, script = Environment.of("fasttext").python, _HERE / "fasttext_peer.py"
    model = work_folder() / f"fasttext-{name}.bin"
    if not model.exists():
        console.print(f"training {model.name} once", style="dim")
        works = (
            pl.read_parquet(shared("labels/teacher_sample.parquet"))
            if name == "titles"
            else label_table(texts(ROWS))
        )
        lines = examples(works, outputs(bundle))
        model.with_suffix(".txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        waiting = model.with_suffix(".tmp")
        measure([python, script, "train", model.with_suffix(".txt"), waiting])
        waiting.rename(model)
    return lambda frame, output: [python, script, "predict", model, frame, output.with_suffix("")]


def outputs(bundle: Path) -> list[tuple[str, str, str | None]]:
    """Return the outputs of a student: head, target, and the value where the target is an axis."""
    targets = load_manifest(bundle).targets
    return [
        (head, target, value)
        for head in targets.head_names
        for target, value in [
            *((name, None) for name in targets.binary_names),
            *((axis.name, value) for axis in targets.axes for value in axis.values),
        ]
    ]


def examples(works: pl.DataFrame, wanted: list[tuple[str, str, str | None]]) -> list[str]:
    """Return fastText's lines: the labels of each work and its tokens; each label once alone."""
    fields = [name for name in ("title", "abstract") if name in works.columns]
    text = pl.concat_str(fields, separator=" ", ignore_nulls=True).fill_null("")
    tokens = text.str.to_lowercase().str.extract_all(TOKEN).list.join(" ")
    labels = [pl.when(_says(works, *output)).then(pl.lit(_label(*output))) for output in wanted]
    lines = works.select(pl.concat_str([*labels, tokens], separator=" ", ignore_nulls=True))
    return [*(_label(*output) + " alone" for output in wanted), *lines.to_series().to_list()]


def _label(head: str, target: str, value: str | None) -> str:
    return "__label__" + "/".join([head, target, *([value] if value else [])])


def _says(works: pl.DataFrame, head: str, target: str, value: str | None) -> pl.Expr:
    if value is not None:
        return pl.col(f"{head}_{target}") == value
    if f"{head}_{target}" in works.columns:
        return pl.col(f"{head}_{target}")
    return pl.col(f"{head}_categories").list.contains(target)
