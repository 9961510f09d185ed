"""What a variant makes: a new package of its upstream, or a package brought up to it.

Rules
- Everything comes out whole, in one go: the package, and what the rule wants in it.
- `shaped` is what a rule wants of a package, and done twice it changes nothing. So a package that
  it leaves as it is, is as its rule wants it.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace

from cadlib.errors import PackageError, Place
from cadlib.kptfile import edit as kptfile_edit
from cadlib.kptfile.reader import GitRef
from cadlib.limits import DEFAULT, PackageLimits
from cadlib.merge.conflicts import Conflict
from cadlib.merge.policy import ConflictPolicy
from cadlib.package import files as packages
from cadlib.package.files import KPTFILE, Entry, Files
from cadlib.render import context as package_context
from cadlib.update.get import get
from cadlib.update.packages import update
from cadlib.update.upstream import STRATEGIES, Answer, Step
from lifecycle.messages import variants as messages
from lifecycle.variants import context, pipeline
from lifecycle.variants.injection import InjectionPoint, inject
from lifecycle.variants.objects import KubeObject, KubeObjectIndex
from lifecycle.variants.values import Variant


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantPackage:
    """A package as a variant wants it.

    Attributes:
        files: All its files.
        conflicts: Where upstream and package had changed the same, and what was chosen.
        points: What came of each resource that asks for injection.
        sources: The objects that were injected.
    """

    files: dict[str, Entry]
    conflicts: tuple[Conflict, ...] = ()
    points: tuple[InjectionPoint, ...] = ()
    sources: tuple[KubeObject, ...] = ()


def shaped(files: Files, variant: Variant, objects: KubeObjectIndex) -> VariantPackage:
    """Return a package with what a rule wants in it; done twice, it changes nothing.

    Args:
        files: The package.
        variant: The rule.
        objects: What can be injected.

    Raises:
        PackageError: The rule asks for what does not fit into the package; nothing is done.
    """
    changed = dict(files)
    if KPTFILE not in files:
        raise PackageError(Place(KPTFILE), *messages.NO_KPTFILE)
    given = files.get(package_context.FILE)
    data = context.with_context(None if given is None else given.data, variant.spec)
    if data is not None:
        _put(changed, package_context.FILE, data)
    kptfile = pipeline.with_functions(files[KPTFILE].data, variant)
    _put(changed, KPTFILE, pipeline.with_marks(kptfile, variant))
    done = inject(changed, variant.spec.injectors, objects, variant.namespace)
    for path, text in done.files.items():
        _put(changed, path, text)
    return VariantPackage(files=changed, points=done.points, sources=done.sources)


def _put(files: dict[str, Entry], path: str, data: bytes) -> None:
    found = files.get(path)
    files[path] = Entry(data) if found is None else replace(found, data=data)


def cloned(
    variant: Variant,
    upstream: GitRef,
    objects: KubeObjectIndex,
    *,
    deployed: bool,
    limits: PackageLimits = DEFAULT,
) -> Generator[Step, Answer, VariantPackage]:
    """Make the downstream of a variant anew.

    Args:
        variant: The rule.
        upstream: The revision to make it of.
        objects: What can be injected.
        deployed: Its repository is one for deployments: it gets a package context.
        limits: How much a package may hold.

    Yields:
        As `cadlib.update.get.get`.

    Raises:
        PackageError: There is no package, or the rule does not fit it.
    """
    path = variant.spec.downstream.package
    got = yield from get(upstream, name=packages.name(path), limits=limits)
    files = dict(got.files)
    if deployed:
        _apply(files, package_context.added(files, path))
    return shaped(files, variant, objects)


def brought_up(
    local: Files,
    variant: Variant,
    upstream: GitRef,
    objects: KubeObjectIndex,
    *,
    policy: ConflictPolicy = ConflictPolicy.UPSTREAM,
    limits: PackageLimits = DEFAULT,
) -> Generator[Step, Answer, VariantPackage]:
    """Bring the downstream of a variant up to a revision of its upstream.

    Args:
        local: The package as it is.
        variant: The rule.
        upstream: The revision; may be of another package than the one it was made of.
        objects: What can be injected.
        policy: What counts where both sides changed the same.
        limits: How much a package may hold.

    Yields:
        As `cadlib.update.packages.update`.

    Raises:
        PackageError: A file is broken, or the rule does not fit the package.
    """
    if KPTFILE not in local:
        raise PackageError(Place(KPTFILE), *messages.NO_KPTFILE)
    files = dict(local)
    address = replace(upstream, commit="")
    _put(files, KPTFILE, kptfile_edit.set_upstream(files[KPTFILE].data, address, STRATEGIES[0]))
    name = packages.name(variant.spec.downstream.package)
    updated = yield from update(files, name=name, policy=policy, limits=limits)
    _apply(files, updated.changes)
    return replace(shaped(files, variant, objects), conflicts=updated.conflicts)


def _apply(files: dict[str, Entry], changes: Mapping[str, Entry | None]) -> None:
    for path, entry in changes.items():
        if entry is None:
            files.pop(path, None)
        else:
            files[path] = entry
