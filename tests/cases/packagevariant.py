"""Corpus packagevariant: what Porch's controllers do, against lifecycle/variants.

Longer than 400 lines: a handler for each of 25 kinds, read one by one.

Calls of Porch's client become what the decision does in their place: a deleted object is a draft
that is closed, an updated one a note of whose it is, a created one a draft that is made.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML

from cadlib.errors import PackageError, Place
from cadlib.package.files import KPTFILE, Entry
from cadlib.yaml import read
from lifecycle.variants import (
    building,
    conditions,
    context,
    injection,
    naming,
    ownership,
    pipeline,
    resolution,
    targets,
    templates,
    upstreams,
    validation,
)
from lifecycle.variants.actions import CreateDraft
from lifecycle.variants.costs import Input
from lifecycle.variants.decision import decide
from lifecycle.variants.expressions import ExpressionError, compiled
from lifecycle.variants.facts import DraftFacts, PublishedFacts, RevisionStage, VariantFacts
from lifecycle.variants.injection import InjectionPoint
from lifecycle.variants.objects import KubeObject, KubeObjectIndex, of_value
from lifecycle.variants.ownership import GivenUp
from lifecycle.variants.reading import VariantFile
from lifecycle.variants.upstreams import NoUpstream, UpstreamRevision
from lifecycle.variants.values import (
    REPOSITORY,
    Downstream,
    RepositoryTarget,
    Target,
    Variant,
    VariantSet,
    VariantUpstream,
)
from tests.cases.compare import data_difference, documents_difference, text_difference
from tests.cases.model import Case, Handler, Verdict, checked, deviates, failed, passed

_NOWHERE = Place()
_STAGES = {
    "Draft": RevisionStage.DRAFT,
    "Proposed": RevisionStage.PROPOSED,
    "Published": RevisionStage.PUBLISHED,
    "DeletionProposed": RevisionStage.DELETION_PROPOSED,
}


# --- packages ------------------------------------------------------------------------------


def ensure_package_context(case: Case) -> Verdict:
    """Put keys into the package context."""
    return _changed(case, lambda texts: _context(texts, _variant(case)))


def _context(texts: Mapping[str, str], variant: Variant) -> dict[str, str]:
    name = "package-context.yaml"
    found = texts.get(name)
    data = context.with_context(None if found is None else found.encode(), variant.spec)
    return {} if data is None else {name: data.decode()}


def ensure_krm_functions(case: Case) -> Verdict:
    """Put functions into a Kptfile."""
    return _changed(case, lambda texts: _functions(texts, _variant(case)))


def _functions(texts: Mapping[str, str], variant: Variant) -> dict[str, str]:
    return {KPTFILE: pipeline.with_functions(texts[KPTFILE].encode(), variant).decode()}


def ensure_config_injection(case: Case) -> Verdict:
    """Inject objects of the cluster."""
    objects = KubeObjectIndex(of_value(each) for each in case.data["cluster_objects"])
    variant = _variant(case)

    def change(texts: Mapping[str, str]) -> dict[str, str]:
        files = {path: Entry(text.encode()) for path, text in texts.items()}
        done = injection.inject(files, variant.spec.injectors, objects, variant.namespace)
        return {path: data.decode() for path, data in done.files.items()}

    return _changed(case, change)


def _changed(case: Case, change: Any) -> Verdict:
    """Compare a package after a change, and see that the change done again changes nothing."""
    before, wanted = _texts(case.data["prr"]), _texts(case.data["expected_prr"])
    after = {**before, **change(before)}
    if after.keys() != wanted.keys():
        return failed(f"there are {sorted(after)}, not {sorted(wanted)}")
    if {**after, **change(after)} != after:
        return failed("done again, it changes something")
    differences = [documents_difference(wanted[path], after[path]) for path in sorted(wanted)]
    if any(differences):
        return failed("\n".join(filter(None, differences)))
    return passed() if after == wanted else deviates("D161", "the layout stays")


def _texts(prr: str) -> dict[str, str]:
    return dict(_yaml(prr)["spec"]["resources"])


# --- injection -----------------------------------------------------------------------------


def find_injection_points(case: Case) -> Verdict:
    """Find the resources that ask for injection."""
    files = {path: Entry(text.encode()) for path, text in _texts(case.data["prr"]).items()}
    try:
        points = injection.find(injection.parsed(files))
    except PackageError as error:
        return checked(text_difference(case.data.get("error_equals", ""), error.problem))
    if "error_equals" in case.data:
        return failed(f"there is no error {case.data['error_equals']!r}")
    found = [_point_value(each) for each in sorted(points, key=lambda each: each.condition)]
    return checked(data_difference(case.data["expected"], found))


def _point_value(point: InjectionPoint) -> dict[str, Any]:
    value = {"file": point.file, "required": point.required, "conditionType": point.condition}
    return {**value, "errors": list(point.errors)} if point.errors else value


def validate_injection_points(case: Case) -> Verdict:
    """Say why nothing can be injected."""
    found = injection.invalid(_points(case)) or None
    return checked(data_difference(case.data["expected_error"], found))


def set_injection_conditions(case: Case) -> Verdict:
    """Write what came of injection into a Kptfile."""
    found = conditions.said(case.data["kptfile"], _points(case))
    return checked(data_difference(case.data["expected_kptfile"], found))


def _points(case: Case) -> list[InjectionPoint]:
    points = []
    for each in case.data["injection_points"]:
        kind, _, name = each["conditionType"].removeprefix(conditions.PREFIX).partition(".")
        injected = each.get("injectedName", "") if each.get("injected") else ""
        points.append(
            InjectionPoint(
                file=each["file"],
                kind=kind,
                name=name,
                required=each["required"],
                errors=tuple(each.get("errors", ())),
                injected=injected,
            )
        )
    return points


# --- validation ----------------------------------------------------------------------------


def validate_package_variant(case: Case) -> Verdict:
    """Say what is wrong with a PackageVariant."""
    said = [text for _, text in validation.package_variant(_yaml(case.data["package_variant"]))]
    return checked(text_difference(case.data["expected_error"], "; ".join(said)))


def validate_package_variant_set(case: Case) -> Verdict:
    """Say what is wrong with a PackageVariantSet."""
    document = _yaml(case.data["package_variant_set"])
    said = [text for _, text in validation.package_variant_set(document)]
    return checked(data_difference(case.data["expected_errors"], said))


def is_valid_upstream(case: Case) -> Verdict:
    """Say what is wrong with an upstream; Porch then forgets the revision, which is kept here."""
    found = [text for _, text in validation.upstream(case.data["upstream"])]
    wanted = case.data["expected_errors"]
    if len(found) != case.data["expected_error_count"]:
        return failed(f"the errors are {found}")
    left = [each for each in wanted if each != "*" and each not in found]
    if left:
        return failed(f"{left} are not among {found}")
    revision = building.upstream(case.data["upstream"] or {}).revision
    if case.data.get("expected_revision_after", -1) == -1 and revision > 0 and not found:
        return deviates("D162", "the revision that is named is obeyed")
    return passed()


# --- upstreams -----------------------------------------------------------------------------


def get_upstream(case: Case) -> Verdict:
    """Find the revision that an upstream means; what is on a branch alone is none."""
    upstream = building.upstream(case.data["upstream"])
    specs = case.data["package_revision_specs"]
    found = upstreams.chosen(upstream, _revisions(specs, upstream.repo, upstream.package))
    if isinstance(found, NoUpstream) and not found.text.startswith(
        case.data.get("error_prefix", "")
    ):
        return failed(found.text)
    is_found = not isinstance(found, NoUpstream)
    if is_found == case.data["expected_found"]:
        return passed()
    published = any(each.get("revision", 0) > 0 for each in specs)
    newest = upstream.revision <= 0 and not upstream.workspace
    if (newest and published) if is_found else _of_a_branch(upstream, specs):
        return deviates("D163", "what is published is meant, and not what is on a branch")
    return failed(f"found: {is_found}")


def _of_a_branch(upstream: VariantUpstream, specs: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether Porch takes what is on a branch for the revision."""
    ours = [each for each in specs if each.get("packageName", "") == upstream.package]
    return bool(ours) and all(each.get("revision", 0) <= 0 for each in ours)


def get_published_upstream(case: Case) -> Verdict:
    """Find a published revision by its number, whatever draft it came from."""
    upstream = building.upstream(case.data["upstream"])
    objects = case.data["package_revisions"]
    specs = [each["spec"] for each in objects]
    revisions = _revisions(specs, upstream.repo, upstream.package)
    found = upstreams.by_number(upstream, revisions, upstream.revision)
    if isinstance(found, NoUpstream):
        wanted = case.data.get("error_contains")
        if wanted and wanted not in found.text and upstream.revision <= 0:
            return deviates("D163", "no number means the newest one, which is waited for")
        return checked("" if wanted and wanted in found.text else found.text)
    return checked(
        text_difference(case.data.get("expected_name", ""), _name(objects, found.number))
    )


def _revisions(
    specs: Sequence[Mapping[str, Any]], repo: str, package: str
) -> tuple[UpstreamRevision, ...]:
    return tuple(
        UpstreamRevision(
            number=each["revision"],
            ref=f"{package}/v{each['revision']}",
            workspace=each.get("workspaceName", ""),
        )
        for each in specs
        if (each.get("repository", ""), each.get("packageName", "")) == (repo, package)
        and each.get("revision", 0) > 0
        and each.get("lifecycle", "Published") == "Published"
    )


def _name(objects: Sequence[Mapping[str, Any]], number: int) -> str:
    found = (each["metadata"]["name"] for each in objects if each["spec"]["revision"] == number)
    return next(found, "")


# --- drafts --------------------------------------------------------------------------------


def new_workspace_name(case: Case) -> Verdict:
    """Name a new workspace."""
    used = [
        each.workspace
        for each, _ in _owned(case)
        if each.downstream == Downstream(case.data["repository"], case.data["package"])
    ]
    return checked(text_difference(case.data["expected"], naming.next_workspace(used)))


def get_downstreams(case: Case) -> Verdict:
    """Choose what a variant works on, and adopt what it may."""
    document = _yaml(case.data["package_variant"])
    spec, owner = building.spec(document["spec"]), document["metadata"].get("uid", "")
    listed = list(_owned(case))
    here = [each for each, _ in listed if each.downstream == spec.downstream]
    numbered = [each for each in here if each.published]
    published = max(numbered, default=None, key=lambda revision: revision.number)
    facts = VariantFacts(
        variant=Variant(name=owner, spec=spec),
        published=None
        if published is None
        else PublishedFacts(number=published.number, owners=published.owners),
        present=published is not None,
        drafts=tuple(
            DraftFacts(branch=each.workspace, stage=each.stage, owners=each.owners)
            for each in here
            if not each.published
        ),
    )
    drafts = {each.branch for each in ownership.ours(facts)}
    chosen = set() if drafts or published is None or ownership.foreign(facts) else {published}
    shown = []
    calls = []
    given_up = []
    for each, value in listed:
        ours = owner in each.owners
        if each not in here:
            given_up += _calls(ownership.given_up(spec, each.stage), value) if ours else []
        elif spec.adopts and not ours:
            calls.append(f"updating object: {value['metadata']['name']}")
        if each in here and (each in chosen or (each.workspace in drafts and not each.published)):
            shown.append(value if ours else _with_owner(value, document))
    calls += given_up
    wanted = [_plain(_yaml(each)) for each in case.data["expected"]]
    return checked(
        data_difference(wanted, [_plain(each) for each in shown])
        or data_difference(case.data["expected_client_calls"], calls)
    )


def _with_owner(value: Mapping[str, Any], variant: Mapping[str, Any]) -> dict[str, Any]:
    owner = {
        "apiVersion": variant["apiVersion"],
        "kind": variant["kind"],
        "name": variant["metadata"]["name"],
        "uid": variant["metadata"]["uid"],
        "controller": True,
    }
    metadata = value["metadata"]
    spec = variant["spec"]
    marks = {
        key: {**metadata.get(key, {}), **spec[key]}
        for key in ("labels", "annotations")
        if spec.get(key)
    }
    owners = [*metadata.get("ownerReferences", ()), owner]
    return {**value, "metadata": {**metadata, **marks, "ownerReferences": owners}}


def delete_or_orphan(case: Case) -> Verdict:
    """Say what becomes of a revision that its variant wants no more."""
    document = _yaml(case.data["package_variant"])
    value = _yaml(case.data["package_revision"])
    given_up = ownership.given_up(
        building.spec(document["spec"]), _STAGES[value["spec"]["lifecycle"]]
    )
    difference = data_difference(case.data["expected_client_calls"], _calls(given_up, value))
    if difference or "expected_package_revision" not in case.data:
        return checked(difference)
    after = dict(value)
    if given_up is GivenUp.DELETION_PROPOSED:
        after["spec"] = {**value["spec"], "lifecycle": "DeletionProposed"}
    if given_up is GivenUp.RELEASED:
        owner = document["metadata"]["uid"]
        metadata = value["metadata"]
        owners = [each for each in metadata["ownerReferences"] if each["uid"] != owner]
        after["metadata"] = {**metadata, "ownerReferences": owners}
    wanted = _plain(_yaml(case.data["expected_package_revision"]))
    return checked(data_difference(wanted, _plain(after)))


def _calls(given_up: GivenUp, value: Mapping[str, Any]) -> list[str]:
    name = value["metadata"]["name"]
    match given_up:
        case GivenUp.DISCARDED:
            return [f"deleting object: {name}"]
        case GivenUp.LEFT:
            return []
        case _:
            return [f"updating object: {name}"]


@dataclass(frozen=True)
class Listed:
    """A revision of a list, published or not."""

    downstream: Downstream
    workspace: str
    stage: RevisionStage
    owners: frozenset[str]
    number: int

    @property
    def published(self) -> bool:
        return self.stage in (RevisionStage.PUBLISHED, RevisionStage.DELETION_PROPOSED)


def _owned(case: Case) -> Iterator[tuple[Listed, Mapping[str, Any]]]:
    """Yield the revisions of a list, with what the list says of them."""
    for each in _listed(case.data["package_revision_list"]).get("items", ()):
        spec = each["spec"]
        owners = each["metadata"].get("ownerReferences", ())
        revision = Listed(
            downstream=Downstream(spec.get("repository", ""), spec.get("packageName", "")),
            workspace=spec.get("workspaceName", ""),
            stage=_STAGES[spec.get("lifecycle", "Draft")],
            owners=frozenset(owner["uid"] for owner in owners),
            number=spec.get("revision", 0),
        )
        yield revision, each


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a PackageRevision without the status, which has a time that is not known."""
    return {key: each for key, each in value.items() if key != "status"}


def create_draft(case: Case) -> Verdict:
    """Make a draft of a published package: brought up, or with what its variant wants in it."""
    source, wanted = case.data["source_package_revision"], case.data["expected_draft"]
    lock = source.get("status", {}).get("upstreamLock", {}).get("git", {})
    spec = {
        **case.data["package_variant"].get("spec", {"upstream": {"repo": "up", "package": "up"}}),
        "downstream": {
            "repo": source["spec"]["repository"],
            "package": source["spec"]["packageName"],
        },
    }
    upstream = building.upstream(spec["upstream"])
    objects = case.data["package_revisions"]
    known = _revisions([each["spec"] for each in objects], upstream.repo, upstream.package)
    variant = Variant(name="pv", spec=building.spec(spec))
    published = PublishedFacts(
        number=source["spec"]["revision"],
        owners=frozenset({"pv"}),
        lock=lock.get("ref", ""),
        shaped=False,
    )
    facts = VariantFacts(
        variant=variant,
        revisions=known or (UpstreamRevision(number=1),),
        published=published,
        workspaces=frozenset(each["spec"]["workspaceName"] for each in objects),
    )
    (made,) = decide(facts).actions
    if not isinstance(made, CreateDraft) or made.new:
        return failed(f"{made}")
    found: dict[str, Any] = {
        "lifecycle": "Draft",
        "packageName": source["spec"]["packageName"],
        "workspaceName": made.branch.rpartition("/")[2],
        "labels": dict(variant.spec.labels) or None,
        "annotations": dict(variant.spec.annotations) or None,
        "first_task": {"type": "edit"},
    }
    if made.upstream is not None:
        old = upstreams.locked_number(published.lock)
        found["first_task"] = {
            "type": "upgrade",
            "oldUpstream": _upstream_name(objects, upstream.repo, old),
            "newUpstream": _upstream_name(objects, upstream.repo, made.upstream.number),
            "localPackageRevision": source["metadata"]["name"],
        }
    return checked(data_difference(wanted, found))


def _upstream_name(objects: Sequence[Mapping[str, Any]], repo: str, number: int | None) -> str:
    ours = [each for each in objects if each["spec"]["repository"] == repo]
    return _name(ours, number or 0)


def pv_function_name(case: Case) -> Verdict:
    """Name a function of a variant."""
    data = case.data
    found = naming.function_name(
        data["function_name"], data["package_variant_name"], data["position"]
    )
    return checked(text_difference(data["expected"], found))


def is_pv_function(case: Case) -> Verdict:
    """Tell whether a function is a variant's."""
    name = _yaml(case.data["function"]).get("name")
    found = naming.is_function_of(name, case.data["package_variant_name"])
    return checked(data_difference(case.data["expected"], found))


# --- sets ----------------------------------------------------------------------------------


def render_pv_spec(case: Case) -> Verdict:
    """Render the template of a set for one downstream."""
    chosen = case.data["downstream"]
    repositories = {each["metadata"]["name"]: of_value(each) for each in case.data["repositories"]}
    template = chosen.get("template")
    made = templates.rendered(
        building.upstream(case.data["package_variant_set"]["spec"]["upstream"]),
        targets.Chosen(
            chosen["repoDefault"],
            chosen["packageDefault"],
            None if template is None else building.template(template),
        ),
        repositories,
        of_value(case.data["upstream_package_revision"]),
    )
    return checked(data_difference(case.data["expected_spec"], made.as_value()))


def eval_expr(case: Case) -> Verdict:
    """Evaluate an expression."""
    inputs: dict[str, Input] = {**case.data["inputs"]}
    if "target_repository" in case.data:
        inputs["target"] = of_value(case.data["target_repository"]).as_input
    try:
        found = compiled(case.data["expr"]).evaluate(inputs)
    except ExpressionError as error:
        return checked(text_difference(case.data.get("error_equals", ""), error.text))
    if "error_equals" in case.data:
        return failed(f"it gives {found!r}, without the error {case.data['error_equals']!r}")
    return checked(text_difference(case.data["expected"], found))


def overlay_map_expr(case: Case) -> Verdict:
    """Lay entries over a mapping."""
    entries = building.map_exprs(case.data["map_exprs"])
    found = templates.overlaid(case.data["in_map"], entries, case.data["inputs"], "")
    return checked(data_difference(case.data["expected"], found))


def unroll_targets(case: Case) -> Verdict:
    """Choose downstreams; the cases' objects stand for whatever is asked for."""
    variants = building.variant_set(case.data["package_variant_set"], _NOWHERE)
    version, kind = REPOSITORY
    objects = []
    for each in case.data["cluster_objects"]:
        for target in variants.targets:
            if target.selected is not None:
                version, kind = target.selected.api_version, target.selected.kind
                objects.append(of_value({**each, "apiVersion": version, "kind": kind}))
    found = [
        {"repoDefault": each.repo, "packageDefault": each.package}
        | ({"object": each.object.name} if each.object else {})
        for each in targets.unrolled(variants, KubeObjectIndex(objects))
    ]
    return checked(data_difference(case.data["expected"], found))


def ensure_package_variants(case: Case) -> Verdict:
    """Work out the variants of a set, and compare them with those that are there."""
    given = case.data["package_variant_set"]
    variants = VariantSet(
        name=given["metadata"]["name"],
        upstream=building.upstream(given["spec"]["upstream"]),
        targets=tuple(
            Target((RepositoryTarget(each["repoDefault"], (each["packageDefault"],)),))
            for each in case.data["downstreams"]
        ),
    )
    known = {each["repoDefault"] for each in case.data["downstreams"]} | {variants.upstream.repo}
    version, kind = REPOSITORY
    around = resolution.ResolutionContext(
        repositories={
            each: KubeObject(api_version=version, kind=kind, name=each) for each in known
        },
        objects=KubeObjectIndex(()),
        revision=lambda _: KubeObject(api_version="", kind="", name="up"),
    )
    made = resolution.resolve([VariantFile(sets=(variants,))], around)
    if made.problems:
        return failed("\n".join(map(str, made.problems)))
    wanted = {each.name for each in made.variants}
    there = {each["metadata"]["name"] for each in case.data["existing_package_variants"]}
    found = [sorted(there - wanted), sorted(there & wanted), sorted(wanted - there)]
    expected = [sorted(case.data[f"expected_{each}"]) for each in ("deleted", "updated", "created")]
    return checked(data_difference(expected, found))


# -------------------------------------------------------------------------------------------


def _variant(case: Case) -> Variant:
    return building.variant(_yaml(case.data["package_variant"]), _NOWHERE)


def _yaml(text: str) -> dict[str, Any]:
    (found,) = (each.value for each in read(text.encode()).documents if not each.empty)
    assert isinstance(found, dict)
    return found


def _listed(text: str) -> dict[str, Any]:
    """Return a list of revisions, one of which may have a key twice: Porch takes one of them."""
    try:
        return _yaml(text)
    except PackageError:
        loose = YAML(typ="safe", pure=True)
        loose.allow_duplicate_keys = True
        found: dict[str, Any] = loose.load(text)
        return found


KINDS: Mapping[str, Handler] = {
    "adoption": get_downstreams,
    "create-edit-draft": create_draft,
    "create-upgrade-draft": create_draft,
    "delete-or-orphan": delete_or_orphan,
    "ensure-config-injection": ensure_config_injection,
    "ensure-krm-functions": ensure_krm_functions,
    "ensure-package-context": ensure_package_context,
    "ensure-package-variants": ensure_package_variants,
    "eval-expr": eval_expr,
    "find-injection-points": find_injection_points,
    "get-downstream-prs": get_downstreams,
    "get-published-upstream": get_published_upstream,
    "get-upstream-pr": get_upstream,
    "is-pv-function": is_pv_function,
    "is-valid-upstream": is_valid_upstream,
    "new-workspace-name": new_workspace_name,
    "overlay-map-expr": overlay_map_expr,
    "pv-function-name": pv_function_name,
    "pvs-get-upstream-pr": get_upstream,
    "render-pv-spec": render_pv_spec,
    "set-injection-conditions": set_injection_conditions,
    "unroll-targets": unroll_targets,
    "validate-injection-points": validate_injection_points,
    "validate-package-variant": validate_package_variant,
    "validate-package-variant-set": validate_package_variant_set,
}
