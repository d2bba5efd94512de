"""Which bundle gave the scores of a file: found by version among those that are at hand."""

from collections.abc import Sequence
from pathlib import Path

from scorer.errors import UsageError
from scorer.student.folder import find_bundle, load_manifest, shipped_bundles


def bundles_of(versions: Sequence[str], named: Sequence[str]) -> dict[str, Path]:
    """Return the folder of each version that a `named` or a shipped bundle has.

    Raises `UsageError` for a named bundle that is none of them, `BundleError` for a broken one.
    """
    found: dict[str, Path] = {}
    for name in named:
        folder = find_bundle(name)
        version = load_manifest(folder).version
        if version not in versions:
            raise UsageError(
                f"--model {name}: is {version}, the scores come from {' and '.join(versions)}.\n"
                "Name the bundle that gave the scores, or leave the option out."
            )
        found[version] = folder
    for folder in shipped_bundles():
        version = load_manifest(folder).version
        if version in versions:
            found.setdefault(version, folder)
    return found
