"""Another repository that rules here reach: packages wanted there, topics, and its objects.

`acme/east` is public and stands beside this one where boxes are ticked; where there is a catalog it
is that one, which is private: its objects may be used here while it says so. Written down apart
from the bot's own reading of rules, so that the oracle can judge by this.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from tests.simulation.diary import Diary
from tests.simulation.setting import ADMIN, FAR_KIND, SITES_THERE, WRITERS
from tests.simulation.variants import AFAR, FOLDER, LIVE, UPSTREAM, thing

OWNER, EAST = "acme", "east"
ROLES = {ADMIN: "admin", **dict.fromkeys(WRITERS[:2], "write")}

ZONE = "edge/zone"
"""The package that a set of its own wants, in each repository that it chooses."""
ZONES = f"{FOLDER}/zones.yaml"

AFAR_FILE, ZONE_FILE = f"{SITES_THERE}/{AFAR}.yaml", f"{SITES_THERE}/zone.yaml"
MARKED = re.compile(r"(?:east|catalog)-site-[0-9]+")
"""What an object there holds, and nobody writes anywhere else."""

TOPIC = "edge"
LABEL = f"topic.porchbot.dev/{TOPIC}"

KEPT = 330.0
"""Seconds for which the bot may go by topics and consents as they were, and some more."""

BY = BY_TOPIC, BY_KIND, BY_NAMES, BY_OBJECTS = "topic", "kind", "names", "objects"
"""How a set chooses where it wants the package."""


@dataclass(frozen=True, slots=True)
class Zones:
    """What the set says.

    Attributes:
        by: How it chooses, of `BY`.
        names: The repositories that it lists, as rules here call them.
        asap: What is made is proposed at once.
        orphans: What it made stays when it goes.
    """

    by: str
    names: tuple[str, ...] = ()
    asap: bool = True
    orphans: bool = False

    @property
    def text(self) -> bytes:
        """The file."""
        more = {"deletionPolicy": "orphan" if self.orphans else "delete"}
        made: dict[str, Any] = {"downstream": {"package": ZONE}, **more}
        target: dict[str, Any] = {"template": made}
        if self.by == BY_TOPIC:
            target["repositorySelector"] = {"matchLabels": {LABEL: "true"}}
        elif self.by == BY_KIND:
            one = {"key": "kind", "operator": "In", "values": [LIVE, FAR_KIND]}
            target["repositorySelector"] = {"matchExpressions": [one]}
        elif self.by == BY_NAMES:
            target["repositories"] = [{"name": n, "packageNames": [ZONE]} for n in self.names]
            target["template"] = more
        else:
            chosen = {"matchLabels": {"tier": "zone"}}
            target["objectSelector"] = {"apiVersion": "v1", "kind": "ConfigMap", **chosen}
            made["downstream"] = {"repo": "here", "packageExpr": "'edge/' + target.name"}
        marks = {"porchbot.dev/follow": "latest"}
        marks |= {"porchbot.dev/propose": "asap"} if self.asap else {}
        whole = {
            "apiVersion": "config.porch.kpt.dev/v1alpha2",
            "kind": "PackageVariantSet",
            "metadata": {"name": "zones", "annotations": marks},
            "spec": {
                "upstream": {"repo": "here", "package": UPSTREAM, "workspaceName": "main"},
                "targets": [target],
            },
        }
        text: str = yaml.safe_dump(whole, sort_keys=False)
        return text.encode()

    def wants(self, name: str, stood: "Standing") -> bool:
        """Whether it wants the package in a repository, as it stands with the other one.

        Args:
            name: What rules here call the repository.
            stood: How it stands.
        """
        here = name == "here"
        match self.by:
            case "topic":
                return stood.topic_here if here else stood.topic_there
            case "kind":
                return True
            case "names":
                return name in self.names
            case _:
                return here and stood.zone and stood.open


def zones(text: bytes) -> Zones | None:
    """Read the set; None where it says something that nobody wrote."""
    try:
        whole = yaml.safe_load(text)
        target = whole["spec"]["targets"][0]
        names = tuple(each["name"] for each in target.get("repositories", ()))
        by = BY_NAMES if names else BY_OBJECTS if "objectSelector" in target else BY_KIND
        if LABEL in (target.get("repositorySelector") or {}).get("matchLabels", ()):
            by = BY_TOPIC
        asap = "porchbot.dev/propose" in whole["metadata"]["annotations"]
        orphans = target["template"]["deletionPolicy"] == "orphan"
    except (yaml.YAMLError, KeyError, IndexError, TypeError, AttributeError):
        return None
    return Zones(by, names, asap, orphans)


@dataclass(frozen=True, slots=True)
class Standing:
    """How it stands with the other repository.

    Attributes:
        topic_here: This repository has the topic.
        topic_there: That one has it.
        lets_in: It lets rules of this one in.
        open: Its objects may be used here.
        there: The App is in it, and it has the name by which rules here name it.
        zone: Its object is there that the set chooses.
        value: What the object holds that may be injected; "" for none.
    """

    topic_here: bool
    topic_there: bool
    lets_in: bool
    open: bool
    there: bool
    zone: bool
    value: str


@dataclass
class Stood:
    """How it stood with the other repository at each place of the diary.

    Attributes:
        diary: What happens here.
        name: What rules here call it.
        log: From which place on it stood how, and since when.
    """

    diary: Diary
    name: str
    log: list[tuple[int, float, Standing]] = field(default_factory=list)

    def note(self, now: Standing) -> None:
        """Something of it may have changed."""
        if not self.log or self.log[-1][2] != now:
            self.log.append((len(self.diary.entries), self.diary.time(), now))
            self.diary.add("forge", self.name, text=str(now))

    @property
    def now(self) -> Standing:
        """How it stands now."""
        return self.log[-1][2]

    def within(self, first: int, last: int, kept: float = 0.0) -> Iterator[Standing]:
        """How it stood at any time between two places of the diary.

        Args:
            first: The earlier place.
            last: The later one.
            kept: Seconds before the first one that count as well.
        """
        entries = self.diary.entries
        since = (entries[first].at if first < len(entries) else self.diary.time()) - kept
        ends = [*((place, at) for place, at, _ in self.log[1:]), (last + 1, float("inf"))]
        for (place, _, standing), (until, over) in zip(self.log, ends, strict=True):
            if place <= last and (until > first or over >= since):
                yield standing

    def rested(self, first: int, last: int) -> bool:
        """Whether nothing of it changed between two places."""
        return not any(first <= place <= last for place, _, _ in self.log)


def configuration(*, lets_in: bool) -> bytes:
    """What the public one is configured by."""
    lines = ["version: 1", *[f"variants_from: [{OWNER}/blueprints]"] * lets_in, ""]
    return "\n".join(lines).encode()


def afar(name: str, number: int) -> Mapping[str, bytes]:
    """The object that may be injected, as it is for the so-manieth time."""
    return {AFAR_FILE: thing(AFAR, "ConfigMap", f"{name}-site-{number}")}


def zone() -> Mapping[str, bytes]:
    """The object that the set chooses."""
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: zone, labels: {tier: zone}}\n"
    return {ZONE_FILE: text.encode()}
