"""What histories with variants have besides: an upstream, rules for packages made of it, objects.

Written down apart from the bot's own reading of rules, so that the oracle can judge by this.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import yaml

from tests.simulation.setting import STAMP, STAMPER, kptfile, resource

UPSTREAM = "base"
"""The package that others are made of."""

SHOP, OLD = "shop", "old"
"""What a rule of its own wants; what people have made before, and a rule may adopt."""

EDGES = ("edge/one", "edge/two", "edge/three")
"""What a set may want."""

DOWNSTREAMS = (SHOP, OLD, *EDGES)
THERE = (UPSTREAM, "net/core", OLD)
"""Packages that are there at the beginning."""

EVERY = (*THERE, SHOP, *EDGES)

FOLDER, OBJECTS = "variants", "objects"
SITES = f"{OBJECTS}/edges.yaml"
"""Objects that a set may choose packages by: one for each of `EDGES` that there is to be."""

SITE = "site.yaml"
"""The file of the upstream that asks for injection."""

HIDDEN = "hidden-0451"
"""A value of a Secret among the objects."""

OWNER = "porchbot.dev/variant"
"""The annotation that says which variant keeps a package in step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a rule says of the packages that it wants.

    Attributes:
        names: Paths of the packages; more than one, or those of a set.
        revision: Of the upstream; 0 for the newest.
        follow: Newer ones are followed.
        asap: What is made is proposed at once.
        adopts: What is there already is taken over.
        orphans: What it made stays when it goes.
        label: A label that packages get; "" for none.
        injects: It names objects to inject.
        chosen: A set chooses objects, and a template's expression names the packages.
        context: What packages get into their context; "" for nothing.
        function: Packages get a function that stamps files.
        kind: A set chooses repositories of this kind, which alone have its one package; "" where it
            does not choose any.
        afar: What it injects is the object of another repository.
    """

    names: tuple[str, ...]
    revision: int = 0
    follow: bool = True
    asap: bool = False
    adopts: bool = False
    orphans: bool = False
    label: str = ""
    injects: bool = False
    chosen: bool = False
    context: str = ""
    function: bool = False
    kind: str = ""
    afar: bool = False

    @property
    def files(self) -> dict[str, bytes]:
        """The file, and the objects that it chooses packages by."""
        return {self.path: self.text, **({SITES: sites(self.names)} if self.chosen else {})}

    @property
    def path(self) -> str:
        """Where its file is."""
        return f"{FOLDER}/{'edges' if self.names[0] in EDGES else self.names[0]}.yaml"

    @property
    def text(self) -> bytes:
        """The file."""
        upstream: dict[str, Any] = {"repo": "here", "package": UPSTREAM}
        if self.revision:
            upstream["revision"] = self.revision
        elif self.names[0] in EDGES:
            upstream["workspaceName"] = "main"  # a set has to name something
        more: dict[str, Any] = {
            "adoptionPolicy": "adoptExisting" if self.adopts else "adoptNone",
            "deletionPolicy": "orphan" if self.orphans else "delete",
        }
        if self.label:
            more["labels"] = {"tier": self.label}
        if self.injects:
            more["injectors"] = [{"name": AFAR if self.afar else "site"}]
        if self.context:
            more["packageContext"] = {"data": {REGION: self.context}}
        if self.function:
            more["pipeline"] = {"mutators": [{"name": "stamps", "image": STAMPER}]}
        marks = {f"porchbot.dev/{k}": v for k, v in self._marks()}
        metadata = {"name": self.path.removeprefix(f"{FOLDER}/")[:-5], "annotations": marks}
        if self.names[0] in EDGES:
            kind, version = "PackageVariantSet", "v1alpha2"
            targets = [{"name": "here", "packageNames": list(self.names)}]
            target: dict[str, Any] = {"repositories": targets, "template": more}
            if self.chosen:
                more["downstream"] = {"repo": "here", "packageExpr": "'edge/' + target.name"}
                target = {"objectSelector": CHOSEN, "template": more}
            elif self.kind:
                more["downstream"] = {"package": self.names[0]}
                chosen = {"matchLabels": {"kind": self.kind}}
                target = {"repositorySelector": chosen, "template": more}
            spec = {"upstream": upstream, "targets": [target]}
        else:
            kind, version = "PackageVariant", "v1alpha1"
            downstream = {"repo": "here", "package": self.names[0]}
            spec = {"upstream": upstream, "downstream": downstream, **more}
        whole = {
            "apiVersion": f"config.porch.kpt.dev/{version}",
            "kind": kind,
            "metadata": metadata,
            "spec": spec,
        }
        text: str = yaml.safe_dump(whole, sort_keys=False)
        return text.encode()

    def _marks(self) -> list[tuple[str, str]]:
        follow = [("follow", "latest")] * self.follow
        return [*follow, *([("propose", "asap")] * self.asap)]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one rule says of one package.

    Attributes:
        owner: What the rule is called there.
        file: Where it stands.
        revision: Of the upstream; 0 for the newest.
        follow: Newer ones are followed.
        adopts: What is there already is taken over.
        orphans: What it made stays when it goes.
        label: A label that the package gets; "" for none.
        injects: It names objects to inject.
        context: What the package gets into its context; "" for nothing.
        function: It gets a function that stamps files.
        afar: What it injects is the object of another repository.
    """

    owner: str
    file: str
    revision: int
    follow: bool
    adopts: bool
    orphans: bool
    label: str
    injects: bool
    context: str = ""
    function: bool = False
    afar: bool = False


AFAR = "afar"
"""What the object of another repository is called that rules may inject."""

LIVE, OTHER = "live", "other"
"""Kinds of repositories that a set may choose: this one is live, by its configuration."""

REGION = "region"
"""The key of the package context that rules set."""

CONTEXT = "package-context.yaml"

CHOSEN = {"apiVersion": "v1", "kind": "ConfigMap", "matchLabels": {"tier": "edge"}}
"""The objects that a set chooses."""


def sites(places: Iterable[str]) -> bytes:
    """An object for each of some packages of `EDGES`, and one beside them that no set chooses."""
    one = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, labels: {tier: %s}}\n"
    return "---\n".join(
        [one % (place.rpartition("/")[2], "edge") for place in places] + [one % ("other", "core")]
    ).encode()


def chosen(objects: bytes) -> list[str]:
    """The packages that a set chooses by objects as they stand."""
    found = [each["metadata"] for each in yaml.safe_load_all(objects) if each]
    return [f"edge/{each['name']}" for each in found if each["labels"]["tier"] == "edge"]


def wanted(file: str, text: bytes, objects: bytes = b"") -> dict[str, Wanted] | None:
    """What a file with a rule wants, by package; None where it says something that nobody wrote.

    Args:
        file: Where it is.
        text: What it says.
        objects: What a set chooses by, as it stands there.
    """
    try:
        whole = yaml.safe_load(text)
        marks, spec = whole["metadata"].get("annotations") or {}, whole["spec"]
        one = whole["kind"] == "PackageVariant"
        more = spec if one else spec["targets"][0]["template"]
        if one:
            places = [spec["downstream"]["package"]]
        elif "objectSelector" in spec["targets"][0]:
            places = chosen(objects)
        elif "repositorySelector" in spec["targets"][0]:
            live = spec["targets"][0]["repositorySelector"]["matchLabels"]["kind"] == LIVE
            places = [more["downstream"]["package"]] if live else []
        else:
            places = spec["targets"][0]["repositories"][0]["packageNames"]
        name = whole["metadata"]["name"]
        return {
            place: Wanted(
                owner=name if one else f"{name}-here-{place}",
                file=file,
                revision=spec["upstream"].get("revision", 0),
                follow=marks.get("porchbot.dev/follow") == "latest",
                adopts=more.get("adoptionPolicy") == "adoptExisting",
                orphans=more.get("deletionPolicy") == "orphan",
                label=(more.get("labels") or {}).get("tier", ""),
                injects=bool(more.get("injectors")),
                context=(more.get("packageContext") or {}).get("data", {}).get(REGION, ""),
                function=bool(more.get("pipeline")),
                afar={"name": AFAR} in more.get("injectors", ()),
            )
            for place in places
        }
    except (yaml.YAMLError, KeyError, IndexError, TypeError, AttributeError):
        return None


def thing(name: str, kind: str, value: str) -> bytes:
    """An object that may be injected, or shall not be."""
    return (
        f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}, namespace: default}}\n"
        f"data: {{where: {value}}}\n"
    ).encode()


def asking(kind: str = "ConfigMap") -> bytes:
    """A resource of the upstream that asks for injection."""
    return (
        "# stamped\n"
        f"apiVersion: v1\nkind: {kind}\n"
        "metadata: {name: asks, annotations: {kpt.dev/config-injection: optional}}\n"
        "data: {where: nowhere}\n"
    ).encode()


def context(package: str) -> bytes:
    """The context of a package, which no cluster is given."""
    local = "config.kubernetes.io/local-config: 'true'"
    return (
        f"{STAMP}\napiVersion: v1\nkind: ConfigMap\n"
        f"metadata: {{name: kptfile.kpt.dev, annotations: {{{local}}}}}\n"
        f"data: {{name: {package}}}\n"
    ).encode()


def files() -> dict[str, bytes]:
    """All that is there at the beginning besides the rules."""
    found = {
        f"{OBJECTS}/site.yaml": thing("site", "ConfigMap", "north"),
        f"{OBJECTS}/secret.yaml": thing("site", "Secret", HIDDEN),
        f"{UPSTREAM}/{SITE}": asking(),
        f"{UPSTREAM}/key.yaml": asking("Secret"),
        f"{UPSTREAM}/{CONTEXT}": context(UPSTREAM),
    }
    for package in THERE:
        found[f"{package}/Kptfile"] = kptfile(package)
        for name in "ab":
            found[f"{package}/{name}.yaml"] = resource(name, "v0")
    return found
