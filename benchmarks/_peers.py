"""Environments of the programs that scorer is compared with, each of its own, made once from PyPI.

They lie in benchmarks/.work/peers; delete a folder there to have it made anew.
"""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from _measure import ROOT, console, work_folder

PACKAGES: Final = {
    "recipe": ("scikit-learn", "scipy", "polars", "pyarrow", "rich", "typer"),
    # The wheel of fastText 0.9.2, whose Python part knows numpy 1 alone; pyarrow of its time.
    "fasttext": ("fasttext-wheel", "numpy<2", "polars", "pyarrow<21"),
    "scorer-without-loops": ("--editable", str(ROOT)),
    "duckdb": ("duckdb",),
    "pandas": ("pandas", "pyarrow"),
    "spark": ("pyspark",),
}
"""Peer -> what pip is asked for; the first is what the peer is called after."""
_MADE: Final = "made.json"
_TAIL: Final = 200  # characters of pip's last line that are shown


class NotInstalledError(Exception):
    """A peer could not be installed; the text says why."""


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment, and what is in it."""

    folder: Path
    versions: dict[str, str]

    @property
    def python(self) -> Path:
        """The interpreter."""
        return self.folder / "bin" / "python"

    @classmethod
    def of(cls, peer: str) -> Self:
        """Return a peer's environment, made if need be; raise `NotInstalledError`."""
        folder = work_folder() / "peers" / peer
        made = folder / _MADE
        if not made.exists():
            console.print(f"installing {peer} once", style="dim")
            shutil.rmtree(folder, ignore_errors=True)
            _run(sys.executable, "-m", "venv", folder)
            pip = (folder / "bin" / "python", "-m", "pip", "--disable-pip-version-check")
            _run(*pip, "install", "--quiet", *PACKAGES[peer])
            made.write_text(_run(*pip, "list", "--format", "json"), encoding="utf-8")
        found = json.loads(made.read_text(encoding="utf-8"))
        return cls(folder, {one["name"]: one["version"] for one in found})


def versions() -> dict[str, str]:
    """Return the main package of each peer that is installed, and its version."""
    found = {}
    for peer, (package, *_) in PACKAGES.items():
        made = work_folder() / "peers" / peer / _MADE
        if made.exists() and not package.startswith("-"):
            found[peer] = f"{package} {Environment.of(peer).versions[package]}"
    return found


def _run(*command: str | Path) -> str:
    words = [str(word) for word in command]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    if ran.returncode:
        said = (ran.stderr.strip() or ran.stdout.strip() or "no word").splitlines()[-1]
        raise NotInstalledError(f"not installed: {said[-_TAIL:]}")
    return ran.stdout
