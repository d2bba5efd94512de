"""The tables of docs/ray.md are those that follow from what was measured."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_table_of_the_guide_follows_from_the_measurement() -> None:
    script = ROOT / "benchmarks" / "ray_guide.py"
    ran = subprocess.run(
        [sys.executable, script, "--check"], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout + ran.stderr) == (0, "")
