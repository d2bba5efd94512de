"""What tests of the site share: titles that have to stay text, a made site, a visit to it."""

from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Page

from scorer.report.site_facts import SiteRequest

ON_RESEARCH = "peer review reproducibility replication trials registered outcomes"
ODD = {
    "W9001": f"<script>globalThis.harmed = 1</script> {ON_RESEARCH}",
    "W9002": f"{ON_RESEARCH} <img src=x onerror='globalThis.harmed = 1' alt",
    "W9003": f"\"Quoted\" 'titles' & what <b>they</b> hold: {ON_RESEARCH}",
    "W9004": f"{ON_RESEARCH} {'reproducibility ' * 310}",
    "W9005": f"{ON_RESEARCH} {'x' * 4900}",
    "W9006": f"ביקורת עמיתים ושחזור ניסויים {ON_RESEARCH[:34]}",
    "W9007": f"Évaluation par les pairs: {ON_RESEARCH}",
    "10.1/a?b=c#d": f"A work whose id is an address: {ON_RESEARCH}",
    "../../up": f"A work whose id climbs: {ON_RESEARCH}",
}
"""Id -> title; all rank high for metaresearch."""


@dataclass(frozen=True)
class Made:
    """A site, and what it was made from."""

    folder: Path
    scores: Path
    frame: Path
    request: SiteRequest

    def address(self, path: str) -> str:
        """Return what a browser opens."""
        return (self.folder / path).as_uri()


@dataclass
class Visit:
    """A page of a browser, and all that went wrong or outside while it was used."""

    page: Page
    wrong: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
