"""Where histories happen: a small repository, its people, and the rules that it may have.

Written down apart from the bot's own reading of rules, so that the oracle can judge by this.
"""

from dataclasses import dataclass, replace

BOT = "porchbot[bot]"
"""What everything here calls the bot."""
BOTS = frozenset({BOT, "porchbot"})
"""How the forges call it: an App's account, or a plain one."""
PACKAGES = ("net/core", "net/edge", "app")
MAIN, RELEASE = "main", "release"
CONFIG = ".porchbot.yaml"

ADMIN = "ann"
WRITERS = ("bob", "cat", "dan")
READER = "rob"
OUTSIDER = "mal"
ADVERSARY = "eve"
HONEST = (ADMIN, *WRITERS)
PEOPLE = (*HONEST, READER, OUTSIDER, ADVERSARY)
ROLES = {
    ADMIN: "admin",
    **dict.fromkeys(WRITERS, "write"),
    READER: "read",
    OUTSIDER: "read",
    ADVERSARY: "write",
}
TEAM = "makers"
LEVELS = ("none", "read", "triage", "write", "maintain", "admin")

STAMP = "# stamped"
STAMPER, JUDGE = "stamp:v1", "sound:v1"


def called(login: str) -> str:
    """What everything here calls somebody."""
    return BOT if login in BOTS else login


@dataclass(frozen=True)
class RulesText:
    """A configuration, and what it means.

    Attributes:
        require: How many people must approve.
        alone: Authors may approve their own work.
        least: The lowest role that may approve.
        only: Logins that may approve as well; with `least` "" nobody else may.
        stamps: Every file has to begin with `STAMP`.
        judges: No file may say "bad".
        release: Packages are published from the branch `RELEASE` too.
        broken: It cannot be read.
        render: "commit" or "check".
        squash: The bot merges by squashing.
        update: The bot merges the base into drafts by itself.
        windows: Nothing is published in the first ten of every twenty minutes of the first day.
        releases: Each tag gets a release.
        variants: Rules for variants stand in `variants/`, what they may inject in `objects/`.
        automatic: What these ask for needs nobody's approval.
        reach: What they say of a second repository: nothing, its name for rules, or besides that
            its rules are let in; one of `REACHES`, "" for nothing.
    """

    require: int = 1
    alone: bool = False
    least: str = "write"
    only: tuple[str, ...] = ()
    stamps: bool = False
    judges: bool = False
    release: bool = False
    broken: bool = False
    render: str = "commit"
    squash: bool = False
    update: bool = False
    windows: bool = False
    releases: bool = False
    variants: bool = False
    automatic: bool = False
    reach: str = ""
    wide: str = ""
    bulk: bool = False

    @property
    def text(self) -> bytes:
        """The file."""
        if self.broken:
            return b"version: [1\n"
        sources = ([f"role:{self.least}"] if self.least else []) + [f"user:{u}" for u in self.only]
        lines = ["version: 1", f"render: {self.render}"]
        if self.release:
            lines += ["packages:", "  - {directory: .}", f"  - {{directory: ., branch: {RELEASE}}}"]
        if self.stamps or self.judges:
            lines.append("guardrails:")
        if self.stamps:
            lines += ["  mutators:", f"    - {{image: {STAMPER}}}"]
        if self.judges:
            lines += ["  validators:", f"    - {{image: {JUDGE}}}"]
        lines += [
            "access:",
            f"  approve: {{require: {self.require}, from: [{', '.join(sources)}],"
            f" self: {str(self.alone).lower()}"
            f"{', automatic: {variants: true}' if self.automatic else ''}}}",
        ]
        lines += ["  bulk: {from: [role:write]}"] * self.bulk
        lines += [self._named()] if self.variants else []
        lines += ["variants_from: [acme/catalog]"] * (self.reach == LETS_IN)
        publish = [*["merge: squash"] * self.squash, *["update: auto"] * self.update]
        publish += [*["release: true"] * self.releases, *[f"windows: [{WINDOW}]"] * self.windows]
        if publish:
            lines.append(f"publish: {{{', '.join(publish)}}}")
        return ("\n".join(lines) + "\n").encode()

    def _named(self) -> str:
        """Where rules for variants stand, and what they name."""
        if not self.wide:
            return VARIANTS.replace(HERE, HERE + CATALOG * bool(self.reach))
        other = f"acme/{self.wide}"
        named = f"\n  {self.wide}: {{repository: {other}, labels: {{kind: {FAR_KIND}}}}}"
        named += CATALOG * (bool(self.reach) and self.wide != "catalog")
        objects = f"}}, {{repository: {other}, directory: {SITES_THERE}}}]"
        return VARIANTS.replace(HERE, HERE + named).replace("}]", objects)

    def may_bulk(self, level: str) -> bool:
        """Whether a role lets somebody tick a box of the dashboard issue."""
        return LEVELS.index(level) >= LEVELS.index("write" if self.bulk else "maintain")

    def reached(self, how: str) -> "RulesText":
        """The same, with something else said of the second repository."""
        return replace(self, reach=how)

    @property
    def of_a_withdrawal(self) -> "RulesText":
        """What they ask for where a revision is withdrawn: at least one, and no author."""
        return replace(self, require=max(1, self.require), alone=False)

    @property
    def judging(self) -> tuple[object, ...]:
        """What an approval was given under: equal where a verdict cannot differ."""
        return (
            self.require,
            self.alone,
            self.least,
            self.only,
            self.stamps,
            self.judges,
            self.broken,
        )


HERE = "\n  here: {labels: {kind: live}}"
VARIANTS = f"variants: [variants/*.yaml]\nrepositories:{HERE}\nobjects: [{{directory: objects}}]"
"""Where rules for variants are, and what they name."""
CATALOG = "\n  catalog: {repository: acme/catalog}"
FAR_KIND, SITES_THERE = "far", "sites"
"""The kind of repository that another one is, and its folder with objects."""
REACHES = NAMED, LETS_IN = "named", "lets in"

WINDOW = (
    '{kind: freeze, from: "0,20,40 * 1 1 *", until: "10,30,50 * 1 1 *", reason: nobody is there}'
)
CLOSED, EVERY, DAY = 600.0, 1200.0, 86_400.0
"""Seconds of `WINDOW`: closed at first in each span, on the day with which histories begin."""


def is_closed(since: float, until: float) -> bool:
    """Whether `WINDOW` was closed all the time between two moments, in seconds."""
    return until < DAY and since // EVERY == until // EVERY and until % EVERY < CLOSED


def may(level: str, who: str, rules: RulesText) -> bool:
    """Whether a role, or a name, lets somebody approve."""
    if who in rules.only and level != "none":
        return True
    return bool(rules.least) and LEVELS.index(level) >= LEVELS.index(rules.least)


DEFAULT = RulesText()
"""What holds without a file."""

CHOICES = (
    RulesText(),
    RulesText(stamps=True),
    RulesText(judges=True),
    RulesText(stamps=True, judges=True, release=True),
    RulesText(require=2),
    RulesText(alone=True),
    RulesText(least="", only=("bob", "cat")),
    RulesText(least="admin", judges=True),
    RulesText(release=True),
    RulesText(stamps=True, render="check"),
    RulesText(squash=True, judges=True),
    RulesText(update=True),
    RulesText(update=True, stamps=True, squash=True),
    RulesText(windows=True),
    RulesText(windows=True, judges=True),
    RulesText(releases=True),
    RulesText(releases=True, stamps=True, squash=True),
    RulesText(broken=True),
)

VARIED = (
    *(replace(rules, variants=True) for rules in CHOICES),
    RulesText(variants=True, automatic=True),
    RulesText(variants=True, automatic=True, stamps=True, judges=True),
    RulesText(variants=True, automatic=True, require=2),
    RulesText(variants=True, automatic=True, squash=True),
    RulesText(variants=True, automatic=True, update=True),
)
"""The same where variants are, and some that let what those ask for be published by itself."""
AUTOMATIC = tuple(rules for rules in VARIED if rules.automatic)
_REACHING = tuple(rules.reached(how) for rules in VARIED for how in REACHES)
WIDES = ("east", "catalog")
"""Repositories that `RulesText.wide` may name."""
_WIDE = tuple(
    replace(rules, wide=wide, bulk=bulk)
    for rules in (*_REACHING, *VARIED)
    for wide in ("", *WIDES)
    for bulk in (False, True)
)
BY_TEXT = {rules.text: rules for rules in (*_WIDE, *_REACHING, *CHOICES, *VARIED)}


def kptfile(package: str) -> bytes:
    """The `Kptfile` of a package."""
    name = package.replace("/", "-")
    return f"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {name}\n".encode()


def resource(name: str, value: str, *, stamped: bool = True, bad: bool = False) -> bytes:
    """A file of a package."""
    lines = [STAMP] if stamped else []
    lines += ["apiVersion: v1", "kind: ConfigMap", f"metadata: {{name: {name}}}", "data:"]
    lines += [f"  value: {value}", *(["  state: bad"] if bad else [])]
    return ("\n".join(lines) + "\n").encode()
