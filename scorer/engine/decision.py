"""All that turns scores into calls, opened and checked: the policy, and the files beside it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self, get_args

import polars as pl

from scorer.engine.manifest import DirectSource, ExcludedSource
from scorer.errors import PolicyError, UsageError
from scorer.frame.lookup import IdsFound
from scorer.labels.direct import DirectLabels
from scorer.labels.excluded import ExcludedWorks
from scorer.policy.calls import MAJORITY, Given, Mode
from scorer.policy.policy import Policy, check_policy, parse_policy, with_direct
from scorer.student.folder import check_hash
from scorer.student.manifest import POLICY_FILE, Manifest
from scorer.targets import Targets

_FEWEST_FOR_MAJORITY: Final = 3


@dataclass(frozen=True, slots=True)
class Decision:
    """A policy with the labels and ids that it refers to, and the calls that tables speak of."""

    policy: Policy
    mode: Mode
    direct: Mapping[str, DirectLabels]
    excluded: ExcludedWorks | None

    @classmethod
    def prepare(
        cls,
        targets: Targets,
        policy: Policy,
        *,
        mode: Mode,
        direct: Mapping[str, Path],
        exclude_ids: Path | None,
    ) -> Self:
        """Read the files; raise the `ScorerError` that fits where they do not belong together."""
        if mode not in get_args(Mode):
            raise UsageError(f"mode {mode}: expected one of {', '.join(get_args(Mode))}.")
        if mode == MAJORITY and len(targets.heads) < _FEWEST_FOR_MAJORITY:
            raise UsageError(
                f"mode majority: needs three heads or more, the student has {len(targets.heads)}.\n"
                "With two, more than half is both: --mode consensus."
            )
        labels = {head: _direct(head, path, targets) for head, path in direct.items()}
        policy = _checked(policy, targets, labels)
        excluded = ExcludedWorks.read(exclude_ids) if exclude_ids else None
        return cls(policy, mode, labels, excluded)

    def with_policy(self, policy: Policy, targets: Targets) -> Self:
        """Return the same decision by another policy; labels and lists are those read before."""
        return replace(self, policy=_checked(policy, targets, self.direct))

    def anew(self) -> Self:
        """Return the same decision, no work looked up in its files yet."""
        excluded = self.excluded
        return replace(
            self,
            direct={
                head: replace(labels, found=IdsFound(labels.lookup))
                for head, labels in self.direct.items()
            },
            excluded=excluded and replace(excluded, found=IdsFound(excluded.lookup)),
        )

    def given(self, ids: pl.Series) -> dict[str, Given]:
        """Return what the direct heads' labels say of a batch."""
        return {head: labels.of(ids) for head, labels in self.direct.items()}

    def look_up(self, ids: pl.Series) -> None:
        """Count works as looked up whose calls were made before."""
        self.given(ids)
        if self.excluded is not None:
            self.excluded.among(ids)

    def fingerprint(self) -> dict[str, object]:
        """Return all that decides the bytes of the calls."""
        return {
            "policy": self.policy.version,
            "mode": self.mode,
            "excluded": self.excluded.sha256 if self.excluded else None,
        }

    def direct_sources(self, works: int) -> dict[str, DirectSource]:
        """Describe the label files after `works` works have been looked up."""
        return {
            head: DirectSource(
                name=labels.file,
                size=labels.size,
                sha256=labels.sha256,
                labels=len(labels.lookup),
                works_without_label=works - labels.found.count(),
                labels_without_work=len(labels.lookup) - labels.found.count(),
            )
            for head, labels in self.direct.items()
        }

    def excluded_source(self) -> ExcludedSource | None:
        """Describe the list of excluded works after all works have been looked up."""
        if self.excluded is None:
            return None
        met = self.excluded.found.count()
        return ExcludedSource(
            name=self.excluded.file,
            size=self.excluded.size,
            sha256=self.excluded.sha256,
            ids=len(self.excluded.lookup),
            ids_without_work=len(self.excluded.lookup) - met,
        )


def bundle_policy(folder: Path, manifest: Manifest) -> Policy:
    """Return a bundle's own policy, its hash checked."""
    check_hash(folder, manifest, POLICY_FILE)
    return read_policy(folder / POLICY_FILE, manifest.targets)


def read_policy(path: Path, targets: Targets) -> Policy:
    """Read a policy file; raise `PolicyError` where it is for other heads or targets."""
    try:
        content = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise PolicyError(f"{path}: no such file. Check the path.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(f"{path}: cannot be read as a policy ({error}).") from error
    policy = parse_policy(content, str(path))
    check_policy(policy, targets, str(path))
    return policy


def _checked(policy: Policy, targets: Targets, labels: Mapping[str, DirectLabels]) -> Policy:
    """Return the policy with the heads that have labels direct; raise where it has others."""
    for head, digest in policy.direct_heads().items():
        if head not in labels:
            raise PolicyError(
                f"policy {policy.version}: head {head!r} is direct; give its labels with "
                f"--direct {head}=FILE (sha256 {digest[:12]}…)."
            )
        if labels[head].sha256 != digest:
            raise PolicyError(
                f"--direct {head}={labels[head].file}: sha256 is {labels[head].sha256[:12]}…, "
                f"policy {policy.version} was made for {digest[:12]}…\n"
                "Give that file, or a policy without direct entries."
            )
    for head, given in labels.items():
        policy = with_direct(policy, head, given.sha256, targets, given.flags)
    check_policy(policy, targets, "policy")
    return policy


def _direct(head: str, path: Path, targets: Targets) -> DirectLabels:
    if head not in targets.head_names:
        raise UsageError(
            f"--direct {head}={path}: no such head; there are {', '.join(targets.head_names)}."
        )
    return DirectLabels.read(head, path, targets)
