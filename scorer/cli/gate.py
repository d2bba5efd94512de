"""`scorer gate`: whether a student that is trained in rounds has stopped moving."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scorer.cli.options import Json

if TYPE_CHECKING:
    from scorer.student.manifest import Maturity


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: scorer gate rounds.json")(gate)


def gate(
    state: Annotated[
        str,
        typer.Argument(
            metavar="STATE", help="A state of rounds (JSON); or a bundle's name or folder."
        ),
    ],
    json: Json = False,
) -> None:
    """Show the rounds of a training, and which criteria of the maturity gate hold."""
    import json as json_text

    from scorer.cli.tables import console, table
    from scorer.train.maturity import NAMES, Criteria, shown, standings

    name, maturity = _read(state)
    if json:
        content = {"name": name, "history": [], "holds": {}, **maturity.model_dump(mode="json")}
        typer.echo(json_text.dumps(content, indent=2, ensure_ascii=False))
        return
    if maturity.history:
        rounds = table("round", "works", "held out", "average precision", "churn", "rank", "bundle")
        rounds.columns[-1].justify = "left"
        for done in maturity.history:
            rounds.add_row(
                str(done.number),
                f"{done.works:,}",
                f"{done.held_out:,}",
                f"{done.average_precision:.4f}",
                shown(done.churn),
                shown(done.spearman),
                done.bundle or name,
            )
        console().print(rounds)
        found = table("criterion", "holds", "last figures", "limit", numbers_from=9)
        for standing in standings(maturity.history, Criteria.model_validate(maturity.criteria)):
            holds = "yes" if standing.holds else "no"
            found.add_row(NAMES[standing.name], holds, standing.figure, standing.limit)
        console().print(found)
    typer.echo(f"Maturity gate {'' if maturity.passed else 'not '}passed: {maturity.note}.")


def _read(state: str) -> "tuple[str, Maturity]":
    """Return the name and the maturity of a state file, or of a bundle."""
    from pydantic import ValidationError

    from scorer.errors import BundleError, InputError
    from scorer.student.folder import find_bundle, load_manifest
    from scorer.train.maturity import Criteria
    from scorer.train.rounds import read_state

    path = Path(state)
    if path.is_file():
        return str(path), read_state(path).maturity()
    if path.suffix == ".json":
        raise InputError(f"{path}: no such file. Check the path.")
    manifest = load_manifest(find_bundle(state))
    if manifest.maturity.history:
        try:
            Criteria.model_validate(manifest.maturity.criteria)
        except ValidationError as error:
            raise BundleError(
                f"{state}: its rounds do not say what the gate asks for. Train it again."
            ) from error
    return manifest.version, manifest.maturity
