"""Contract 5: the policy, a table target x head that says what decides each call."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Final, Literal

from pydantic import Field, ValidationError

from scorer.errors import PolicyError
from scorer.targets import Name, Strict, Targets

SCHEMA_VERSION: Final = 1
_VERSION_LENGTH: Final = 12  # hexadecimal digits

Score = Annotated[float, Field(ge=0, le=1)]


class Support(Strict):
    """How many sample works stand behind a head's target, over the works it judged."""

    n_pos: Annotated[int, Field(ge=0)]
    ess_pos: Annotated[float, Field(ge=0)]
    """Effective sample size of the positives, (sum of weights)^2 / sum of squares (Kish, 1965)."""
    top_share: Annotated[float, Field(ge=0, le=1)]
    """Share of the positives' weight that the heaviest one carries."""
    rate: Annotated[float, Field(ge=0, le=1)]
    """Design-weighted share of positives."""


class Threshold(Strict):
    """A call where score >= value, compared in float32."""

    kind: Literal["threshold"] = "threshold"
    value: Score
    found_by: str = "hand"
    support: Support | None = None


class Quota(Strict):
    """The k best works: score > value, or score = value and id <= boundary_id (as strings)."""

    kind: Literal["quota"] = "quota"
    k: Annotated[int, Field(ge=1)]
    value: Score
    boundary_id: str
    found_by: str = "hand"
    support: Support | None = None


class Silent(Strict):
    """No call from this head on this target; it ranks alone."""

    kind: Literal["none"] = "none"
    reason: Literal["support", "unavailable", "off"]
    support: Support | None = None


class Direct(Strict):
    """The head's labels were given: they are its calls, without threshold or gate."""

    kind: Literal["direct"] = "direct"
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """Of the label file."""
    support: None = None


Entry = Threshold | Quota | Direct | Silent
_Entry = Annotated[Entry, Field(discriminator="kind")]


class Rule(Strict):
    """How the heads' calls combine."""

    candidate: Literal["union"] = "union"
    consensus: Literal["intersection"] = "intersection"


class Gates(Strict):
    """The least support with which a head makes calls."""

    min_pos: Annotated[int, Field(ge=0)] = 20
    min_ess: Annotated[float, Field(ge=0)] = 10.0
    scope: Literal["head", "all_heads"] = "head"

    def passed(self, support: Support) -> bool:
        """Tell whether one head's support suffices."""
        return support.n_pos >= self.min_pos and support.ess_pos >= self.min_ess


class Policy(Strict):
    """The whole policy: rule, gates and entries[target][head]."""

    schema_version: Literal[1] = SCHEMA_VERSION
    rule: Rule = Rule()
    gates: Gates = Gates()
    entries: dict[Name, dict[Name, _Entry]]

    @property
    def version(self) -> str:
        """Hash of the content: two policies share it only where they decide alike."""
        content = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(content.encode()).hexdigest()[:_VERSION_LENGTH]

    def to_json(self) -> str:
        """Return the text of a policy file, the version among it for readers."""
        content = {"policy_version": self.version, **self.model_dump(mode="json")}
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"

    def entry(self, head: str, target: str) -> Entry:
        """Return what decides this head's calls of this target."""
        return self.entries[target][head]

    def direct_heads(self) -> dict[str, str]:
        """Return the heads whose labels are given: head -> sha256 of the label file."""
        return {
            head: entry.sha256
            for heads in self.entries.values()
            for head, entry in heads.items()
            if isinstance(entry, Direct)
        }

    def of_head(self, head: str) -> Iterator[tuple[str, Entry]]:
        """Yield (target, entry) of one head."""
        for target, heads in self.entries.items():
            yield target, heads[head]


def parse_policy(text: str, where: str) -> Policy:
    """Read a policy; raise `PolicyError` that names what does not fit."""
    try:
        content = json.loads(text)
        said = content.pop("policy_version", None)
        policy = Policy.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise PolicyError(f"{where}: {place}: {first['msg']}.") from error
    except (ValueError, AttributeError, TypeError) as error:
        raise PolicyError(f"{where}: not a policy in JSON ({error}).") from error
    # Whoever edits a policy by hand makes a new one; the old version must not go on naming it.
    if said is not None and said != policy.version:
        raise PolicyError(
            f"{where}: says version {said}, its content makes {policy.version}.\n"
            'If the edit is meant, take the line "policy_version" out.'
        )
    return policy


def with_direct(
    policy: Policy, head: str, sha256: str, targets: Targets, flags: Sequence[str]
) -> Policy:
    """Return the policy with a head's labels given by a file that speaks of `flags`."""
    entries: dict[str, dict[str, Entry]] = {}
    for target, heads in policy.entries.items():
        spoken_of = target in flags or target not in targets.flags
        entry = Direct(sha256=sha256) if spoken_of else Silent(reason="unavailable")
        entries[target] = {**heads, head: entry}
    return policy.model_copy(update={"entries": entries})


def check_policy(policy: Policy, targets: Targets, where: str) -> None:
    """Raise `PolicyError` unless the policy decides for exactly these heads and targets."""
    _check_names("target", list(policy.entries), targets.binary_names, where)
    for target, heads in policy.entries.items():
        _check_names("head", list(heads), targets.head_names, f"{where}: {target}")
    _check_direct(policy, targets, where)
    _check_silence(policy, targets, where)


def _check_direct(policy: Policy, targets: Targets, where: str) -> None:
    """Raise `PolicyError` where a head is direct for some targets and learned for others."""
    for head, digest in policy.direct_heads().items():
        for target, entry in policy.of_head(head):
            flag = target in targets.flags and entry == Silent(reason="unavailable")
            if not flag and entry != Direct(sha256=digest):
                raise PolicyError(
                    f"{where}: {target}: head {head!r} is direct for other targets, so its labels "
                    "decide this one too.\nMake its entries with --direct HEAD=FILE."
                )


def _check_silence(policy: Policy, targets: Targets, where: str) -> None:
    """Raise `PolicyError` where a head would call without support, or without a fitted target."""
    for head in targets.heads:
        for target, entry in policy.of_head(head.name):
            if isinstance(entry, Silent | Direct):
                continue
            if target in head.unavailable:
                raise PolicyError(
                    f"{where}: {target}: head {head.name!r} has not learned it, cannot call it.\n"
                    'Make that entry {"kind": "none", "reason": "unavailable"}.'
                )
            if entry.support is None:
                raise PolicyError(
                    f"{where}: {target}: head {head.name!r} calls without a record of support.\n"
                    "Take the support along from the bundle's policy: scorer thresholds -o FILE"
                )
            backings: list[Support | None] = [entry.support]
            if policy.gates.scope == "all_heads":
                backings += [other.support for other in policy.entries[target].values()]
            if any(backing and not policy.gates.passed(backing) for backing in backings):
                raise PolicyError(
                    f"{where}: {target}: head {head.name!r} calls though the support is under the "
                    'gates.\nMake that entry {"kind": "none", "reason": "support"}.'
                )


def _check_names(kind: str, found: list[str], expected: list[str], where: str) -> None:
    for name in found:
        if name not in expected:
            raise PolicyError(
                f"{where}: unknown {kind} {name!r}; the bundle has {', '.join(expected)}.\n"
                "Use a policy that was made for this bundle."
            )
    for name in expected:
        if name not in found:
            raise PolicyError(
                f"{where}: no entry for {kind} {name!r}, which the bundle has.\n"
                "Use a policy that was made for this bundle."
            )
