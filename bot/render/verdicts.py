"""Verdicts on packages: what a rendering under a repository's guardrails comes to.

The bot and `porchbot check` make them alike.

How functions are run is the caller's affair: it drives what `begin` gives, and hands in the end.
No value of a Secret gets into a verdict, whichever function speaks of it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from bot.render.judging import Judging
from cadlib.diff import changes as diff
from cadlib.diff import patch as patches
from cadlib.diff import secrets
from cadlib.diff.values import Change
from cadlib.errors import PackageError, Place
from cadlib.findings import Finding, Severity, from_error
from cadlib.kptfile import reader as kptfile
from cadlib.limits import DEFAULT, PackageLimits
from cadlib.package import hidden
from cadlib.package.files import Entry, Files, join
from cadlib.package.unseen import NAME
from cadlib.render import pipeline as render
from cadlib.render.calls import Step
from cadlib.render.functions import Options
from cadlib.yaml.bulk import Bulk
from lifecycle import limits
from lifecycle.facts.verdicts import FunctionVersion, ReadinessGate, Verdict
from lifecycle.messages import findings as finding_texts
from lifecycle.policy import GuardrailFunction, Mode
from lifecycle.upstreams import faults as upstream_faults

MOST_SUGGESTED = 20
"""Suggestions for one package: more than anybody accepts one by one."""

REFUSED = "it refused"
"""Why a function failed that gave no reason."""


Before = Files | PackageError
"""A package at the merge base; or why it cannot be read, which keeps nobody from judging it now."""


def read(files: Callable[[str], Files], tree: str, origin: str) -> tuple[Files, Before]:
    """Read a package, and what it was.

    Args:
        files: Gives the files of a tree.
        tree: The package as it is.
        origin: The package at the merge base; "" when it is new.

    Raises:
        PackageError: It cannot be read as it is.
    """
    now = files(tree)
    if origin == tree:  # where other rules are tried out
        return now, now
    try:
        return now, files(origin) if origin else {}
    except PackageError as error:
        return now, error


def begin(
    files: Files, rules: Judging, limits: PackageLimits, bulk: Bulk | None = None
) -> render.Steps:
    """Begin to render a package, and to run the guardrails on it; `bulk` as for `render`."""
    return render.render(
        files,
        mutators=[_function(f) for f in rules.mutators],
        validators=[_function(f) for f in rules.validators],
        limits=limits,
        bulk=bulk,
        options=Options(allow=rules.allow),
    )


def secret_values(files: Iterable[Entry]) -> set[str]:
    """Collect the values of all Secrets in files that functions may see."""
    return {value for file in files for value in secrets.values(file.data)}


def unreadable(package: str, error: PackageError) -> Verdict:
    """Make the verdict on a package that cannot be read at all."""
    return Verdict(package=package, findings=(_placed(from_error(error), package),), complete=False)


def of(
    package: str,
    files: Files,
    before: Before,
    rendered: render.Rendered,
    rules: Judging,
    secret: Iterable[str],
    bulk: Bulk | None = None,
) -> Verdict:
    """Make the verdict on a package that was rendered.

    Args:
        package: Its path in the repository.
        files: As they are.
        before: As they were at the merge base; empty for a new package. Where that cannot be read
            a finding says so, and no differences are told.
        rendered: What rendering came to.
        rules: Those of the base branch.
        secret: Values that must not be said.
        bulk: As for `render`.
    """
    softened = [_soften(finding, rules) for finding in rendered.findings]
    softened += upstream_faults.findings(files)
    if isinstance(before, PackageError):
        softened += [*_hidden(package, files, {}), _untold(before)]
        told: tuple[Change, ...] = ()
    else:
        softened += _hidden(package, files, before)
        told = diff.changes(before, files, bulk=bulk)
    return Verdict(
        package=package,
        changes={join(package, path): data for path, data in rendered.changes.items()},
        findings=tuple(_placed(_discreet(f, secret), package) for f in softened),
        functions=rendered.calls,
        versions=_versions(rendered.steps),
        complete=rendered.complete,
        diff=told,
        rendering=_rendering(files, rendered.changes, bulk),
        patch=_patch(package, files, rendered.changes, secret),
        suggestions=_suggestions(package, files, before, rendered.changes, secret),
        readiness=_readiness(files, secret),
    )


def _versions(steps: Iterable[Step]) -> dict[str, FunctionVersion]:
    """What each function was; nobody can say where one of its calls was another, or never ran."""
    found: dict[str, FunctionVersion] = {}
    for step in steps:
        if step.image:
            same = step.image not in found or found[step.image].digest == step.digest
            found[step.image] = FunctionVersion(step.source, step.digest if same else "")
    return found


def _readiness(files: Files, secret: Iterable[str]) -> tuple[ReadinessGate, ...]:
    """What the Kptfile of a package waits for; nothing where it is unreadable, which is an error.

    Conditions are those of the tree that would be published (docs/design.md, "The publish
    invariant").
    """
    try:
        said = kptfile.read(files[kptfile.KIND].data)
    except (KeyError, PackageError):
        return ()
    found = []
    for wanted in dict.fromkeys(said.readiness_gates):
        mine = [each for each in said.conditions if each.type == wanted]
        told = next((each for each in mine if each.status != "True"), mine[0] if mine else None)
        texts = (wanted, told.status, told.reason, told.message) if told else (wanted,)
        found.append(ReadinessGate(*(secrets.redacted(text, secret) for text in texts)))
    return tuple(found)


def _hidden(package: str, files: Files, before: Files) -> list[Finding]:
    """A warning for each `.krmignore` by which the change keeps resources from every guardrail."""
    return [
        Finding(
            message=finding_texts.hidden(found.resources, [join(package, p) for p in found.paths]),
            severity=Severity.WARNING,
            place=Place(path),
            fix=finding_texts.HIDDEN_FIX,
        )
        for path, found in hidden.hidden(files, before, DEFAULT).items()
    ]


def _untold(error: PackageError) -> Finding:
    """A warning that nobody can tell what changed: whoever approves has to look for himself."""
    return Finding(
        message=finding_texts.untold(str(error.place), error.problem),
        severity=Severity.WARNING,
        place=Place(),
        fix=finding_texts.UNTOLD_FIX,
    )


def _discreet(finding: Finding, secret: Iterable[str]) -> Finding:
    """A finding without values of Secrets, whichever function speaks of them."""

    def without(text: str | None) -> str | None:
        return None if text is None else secrets.redacted(text, secret)

    return replace(
        finding,
        message=secrets.redacted(finding.message, secret),
        place=replace(finding.place, field=secrets.redacted(finding.place.field, secret)),
        fix=secrets.redacted(finding.fix, secret),
        current=without(finding.current),
        proposed=without(finding.proposed),
    )


def _rendering(
    files: Files, changes: Mapping[str, bytes | None], bulk: Bulk | None
) -> tuple[Change, ...]:
    """What rendering would change, by resource and field; values of Secrets are left out."""
    if not changes:
        return ()
    after = {path: entry for path, entry in files.items() if changes.get(path, b"") is not None}
    for path, data in changes.items():
        if data is not None:
            after[path] = Entry(data, files[path].mode if path in files else "100644")
    return diff.changes(files, after, bulk=bulk)


def _patch(
    package: str, files: Files, changes: Mapping[str, bytes | None], secret: Iterable[str]
) -> dict[str, str]:
    """What rendering would change, as far as there is room; values of Secrets are left out."""
    found: dict[str, str] = {}
    room = limits.TEXT
    for path in sorted(changes):
        old = files[path].data if path in files else None
        text = patches.patch(join(package, path), old, changes[path])
        if text is None or len(text) > room or _tells_secret(text, secret):
            continue
        room -= len(text)
        found[join(package, path)] = text
    return found


def _tells_secret(text: str, secret: Iterable[str]) -> bool:
    """Whether a text may hold a value of a Secret: its values, or the resource itself."""
    return "Secret" in text or secrets.redacted(text, secret) != text


def _suggestions(
    package: str,
    files: Files,
    before: Before,
    changes: Mapping[str, bytes | None],
    secret: Iterable[str],
) -> tuple[patches.Suggestion, ...]:
    """What of the rendering fits at lines that the proposal shows; nothing of Secrets."""
    if isinstance(before, PackageError):
        return ()
    found: list[patches.Suggestion] = []
    for path in sorted(changes):
        data = changes[path]
        if data is None or path not in files or len(found) >= MOST_SUGGESTED:
            continue
        base = before[path].data if path in before else None
        found += [
            each
            for each in patches.suggestions(join(package, path), base, files[path].data, data)
            if not _tells_secret(data.decode(), secret)
        ]
    return tuple(found[:MOST_SUGGESTED])


def _function(guardrail: GuardrailFunction) -> render.PipelineFunction:
    return render.PipelineFunction(
        image=guardrail.image,
        name=guardrail.name,
        config=guardrail.config,
        config_map=guardrail.config_map,
        selectors=guardrail.selectors,
        exclude=guardrail.exclude,
    )


def _soften(finding: Finding, rules: Judging) -> Finding:
    """What a guardrail in mode `warn` finds is shown and does not block; its `fix` is added.

    It goes by the guardrail that spoke, never by its image: the pipeline of the package may have
    the same one, and means what it says.
    """
    kinds = {"mutators": rules.mutators, "validators": rules.validators}
    steps = {f"{kind}[{n}]": each for kind in kinds for n, each in enumerate(kinds[kind])}
    spoke = steps.get(finding.guardrail)
    if spoke is None:
        if finding.place.field == NAME and not finding.function:  # it cannot be applied at all
            return replace(finding, severity=Severity.ERROR)
        # What is applied to a cluster would have been seen by no guardrail.
        hidden = finding.unseen and steps
        return replace(finding, severity=Severity.ERROR) if hidden else finding
    severity = finding.severity
    if severity is Severity.ERROR and spoke.mode is Mode.WARN:
        severity = Severity.WARNING
    # That it was a guardrail's is said; a verdict that is kept goes without its place.
    return replace(finding, severity=severity, fix=finding.fix or spoke.fix, guardrail="")


def _placed(finding: Finding, package: str) -> Finding:
    """The finding with its place relative to the repository; the whole package is its Kptfile."""
    place = finding.place
    path = join(package, place.path or "Kptfile")
    return replace(finding, place=Place(path, place.line, place.field))
