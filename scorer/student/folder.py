"""A bundle's folder: where bundles are found, their manifest and card, hashes of their files."""

import hashlib
import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from pydantic import ValidationError

from scorer.errors import BundleError
from scorer.student.manifest import CARD_FILE, MANIFEST_FILE, Manifest


def load_manifest(folder: Path) -> Manifest:
    """Read `bundle.json` alone, without the checks of the other files."""
    path = folder / MANIFEST_FILE
    if not path.is_file():
        raise BundleError(f"{folder}: no bundle there ({MANIFEST_FILE} is missing).")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        version = content.pop("version")
        manifest = Manifest.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = first["loc"]
        if place[0] == "encoder":  # its kind comes next, which is no key of the file
            place = (place[0], *place[2:])
        where = ".".join(str(part) for part in place)
        raise BundleError(f"{path}: {where}: {first['msg']}.") from error
    except (OSError, ValueError, AttributeError, KeyError, TypeError) as error:
        raise BundleError(f"{path}: not a bundle manifest ({error}).") from error
    if version != manifest.version:
        raise BundleError(
            f"{path}: says version {version}, its content makes {manifest.version}.\n"
            "The manifest was changed after training: restore it, or train again."
        )
    return manifest


def find_bundle(name: str) -> Path:
    """Return the folder of a bundle: a path, or the name of one that is shipped."""
    path = Path(name)
    if (path / MANIFEST_FILE).is_file() or path.is_absolute() or len(path.parts) > 1:
        return path
    for folder in shipped_bundles():
        if folder.name == name:
            return folder
    shipped = ", ".join(folder.name for folder in shipped_bundles()) or "none"
    raise BundleError(f"{name}: no such bundle. Shipped: {shipped}; or give a bundle's folder.")


def shipped_bundles() -> Iterator[Path]:
    """Yield the folders of the bundles that came with the program."""
    package = Path(str(files("scorer")))
    # In a wheel the bundles lie in the package; in a checkout, beside it.
    root = next((r for r in (package / "_models", package.parent / "models") if r.is_dir()), None)
    if root is not None:
        yield from sorted(path.parent for path in root.glob(f"*/{MANIFEST_FILE}"))


def read_card(folder: Path) -> str:
    """Return the model card of a bundle, in Markdown."""
    try:
        return (folder / CARD_FILE).read_text(encoding="utf-8")
    except OSError as error:
        raise BundleError(f"{folder / CARD_FILE}: no model card ({error.strerror}).") from error


def check_hash(folder: Path, manifest: Manifest, name: str) -> None:
    """Raise `BundleError` unless a file of the bundle is the one that the manifest lists."""
    path, digest = folder / name, manifest.files.get(name)
    if Path(name).name != name:
        raise BundleError(f"{folder}: {name!r} points out of the bundle's folder; not loaded.")
    if not path.is_file():
        raise BundleError(f"{path}: missing. Copy the bundle again, or train it again.")
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != digest:
        raise BundleError(
            f"{path}: sha256 is {found[:12]}…, the manifest says {(digest or 'nothing')[:12]}…\n"
            "The file was changed or damaged: copy the bundle again, or train it again."
        )
