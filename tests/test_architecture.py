"""Imports run one way (the layout in the README); `scorer --help` loads no heavy library."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "scorer"
# A package may import what stands on a lower level, and itself.
LEVELS = {
    "cli": 7,
    "report": 6,
    "review": 5,
    **dict.fromkeys(["decide", "train"], 4),
    "engine": 3,
    "labels": 2,
    **dict.fromkeys(["student", "policy", "frame"], 1),
    **dict.fromkeys(["compiling", "counted", "status", "errors", "targets"], 0),
}
# A known exception: the encoder reads a frame's texts.
ALLOWED = {("student", "scorer.frame")}


@cache
def modules() -> dict[str, ast.Module]:
    """Name -> syntax tree of every module but `scorer` itself, the public names."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(["scorer", *path.relative_to(PACKAGE).with_suffix("").parts])
        if name != "scorer.__init__":
            found[name.removesuffix(".__init__")] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def imported(tree: ast.Module) -> Iterator[str]:
    """Yield the modules of the program that are imported anywhere in a module, functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "scorer")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the direction"
            if node.module == "scorer":
                yield from (f"scorer.{alias.name}" for alias in node.names)
            elif node.module and node.module.startswith("scorer."):
                yield node.module


def offends(importer: str, target: str) -> bool:
    """Tell whether one module may not import another."""
    who, what = importer.split(".")[1], target.split(".")
    if len(what) == 1 or what[1] in ("__version__", who):
        return False
    if any(who == part and f"{target}.".startswith(f"{whole}.") for part, whole in ALLOWED):
        return False
    return LEVELS[who] <= LEVELS[what[1]]


def test_every_module_has_a_level() -> None:
    found = {name.split(".")[1] for name in modules()}
    assert found <= LEVELS.keys()
    assert found >= {"cli", "engine", "train", "student", "policy", "frame", "errors"}


def test_imports_run_down_the_layout() -> None:
    edges = {(name, target) for name, tree in modules().items() for target in imported(tree)}
    assert len(edges) > 50
    assert sorted(edge for edge in edges if offends(*edge)) == []


@pytest.mark.parametrize(
    ("importer", "target"),
    [
        ("scorer.policy.calls", "scorer.student.session"),
        ("scorer.policy.calls", "scorer.engine"),
        ("scorer.frame.text", "scorer.student.ngrams"),
        ("scorer.engine.run", "scorer.cli.app"),
        ("scorer.engine.run", "scorer.train.fit"),
        ("scorer.engine.run", "scorer.decide.fit"),
        ("scorer.labels.sample", "scorer.engine.run"),
        ("scorer.errors", "scorer.frame.text"),
    ],
)
def test_an_import_against_the_layout_would_be_found(importer: str, target: str) -> None:
    assert offends(importer, target)


def test_the_root_is_imported_for_its_version_alone() -> None:
    used = {
        (name, node.attr)
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "scorer"
    }
    assert {attribute for _, attribute in used} <= {"__version__"}


def test_loading_the_command_line_loads_no_heavy_library() -> None:
    heavy = ["polars", "pyarrow", "onnxruntime", "numpy", "sklearn", "scipy", "onnx", "pydantic"]
    code = (
        "import sys, scorer.cli.app\n"
        f"print(*sorted(set({heavy}) & set(sys.modules)), 'typer' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["True"]
