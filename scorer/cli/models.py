"""`scorer models`: which students there are."""

from typing import Annotated

import typer

from scorer.cli.options import Json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: scorer models metacan-ngram")(models)


def models(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A bundle's name or folder: shows its model card."),
    ] = None,
    json: Json = False,
) -> None:
    """List the bundles that came with the program, or show the card of one."""
    import json as json_text

    from scorer.cli.tables import console, table
    from scorer.student.folder import (
        check_hash,
        find_bundle,
        load_manifest,
        read_card,
        shipped_bundles,
    )
    from scorer.student.manifest import CARD_FILE

    if name is not None:
        folder = find_bundle(name)
        manifest = load_manifest(folder)
        if json:
            typer.echo(manifest.to_json(), nl=False)
            return
        from rich.markdown import Markdown

        screen = console()
        check_hash(folder, manifest, CARD_FILE)
        card = read_card(folder)
        if screen.is_terminal:
            screen.print(Markdown(card))
        else:
            typer.echo(card)
        typer.echo(f"Encoder: {manifest.encoder.kind}")
        typer.echo(f"Version: {manifest.version}")
        return
    manifests = [load_manifest(folder) for folder in shipped_bundles()]
    if json:
        rows = [
            {
                "name": m.name,
                "version": m.version,
                "encoder": m.encoder.kind,
                "heads": m.targets.head_names,
                "targets": [*m.targets.binary_names, *(axis.name for axis in m.targets.axes)],
                "mature": m.maturity.passed,
                "licence": m.licence,
            }
            for m in manifests
        ]
        typer.echo(json_text.dumps(rows, indent=2))
        return
    shown = table("bundle", "encoder", "heads", "targets", "maturity", "licence", numbers_from=9)
    for m in manifests:
        shown.add_row(
            m.version,
            m.encoder.kind,
            ", ".join(m.targets.head_names),
            f"{len(m.targets.categories)} categories, {len(m.targets.flags)} flags, "
            f"{len(m.targets.axes)} axes",
            "passed" if m.maturity.passed else "scores only",
            m.licence,
        )
    shown.columns[0].no_wrap = True
    console().print(shown)
