"""A number of things in English, as notes, summaries and errors say it: `1 work`, `2,000 works`."""


def counted(count: int, thing: str, things: str | None = None) -> str:
    """Return the number with its noun; `things`: the plural where an s does not make it."""
    return f"{count:,} {thing if count == 1 else things or f'{thing}s'}"
