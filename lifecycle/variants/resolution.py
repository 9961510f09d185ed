"""All rules together: which downstream packages are wanted, each by exactly one rule.

Rules
- A downstream that two rules want is made by neither; so is one inside of another, a rule whose
  package is made of itself, and what has the name of another.
- Where anything of a set cannot be worked out, nothing of the set counts.
- What nobody asks for any more is only known where everything could be worked out (`complete`).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

from cadlib.errors import Place
from lifecycle.messages import variants as messages
from lifecycle.variants import expressions, naming, templates, topics
from lifecycle.variants.objects import KubeObject, KubeObjectIndex
from lifecycle.variants.problems import Problem
from lifecycle.variants.reading import VariantFile
from lifecycle.variants.targets import (
    MOST_COMPARED,
    MOST_DOWNSTREAMS,
    MOST_ENTRIES,
    Chosen,
    compared,
    unrolled,
)
from lifecycle.variants.templates import TemplateError
from lifecycle.variants.values import Downstream, Variant, VariantSet, VariantUpstream

MOST_TOGETHER: Final = 50_000
"""The most downstreams of all rules of a repository."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolutionContext:
    """What rules are resolved against.

    Attributes:
        repositories: The repositories of the table `repositories:`, as Porch's objects, by name.
        objects: All that can be selected, those repositories among it.
        revision: Gives the revision that an upstream means, as expressions see it; None where
            there is none.
        places: Which repository a name means; of a name that is not here, itself.
        own: Full name of the rules' own repository: what is selected elsewhere is from outside.
        directories: In which folder of it the paths of packages begin; of a name that is not here,
            in none.
        topics: Labels of repositories hold topics, since some rule names one.
    """

    repositories: Mapping[str, KubeObject]
    objects: KubeObjectIndex
    revision: Callable[[VariantUpstream], KubeObject | None]
    places: Mapping[str, str] = field(default_factory=dict)
    own: str = ""
    directories: Mapping[str, str] = field(default_factory=dict)
    topics: bool = False

    def downstream(self, variant: Variant) -> Downstream:
        """Where a variant's package is, by whatever name its repository is called."""
        return self._at(variant.spec.downstream.repo, variant.spec.downstream.package)

    def elsewhere(self, repo: str) -> bool:
        """Tell whether a repository is another one than the rules' own."""
        return self.places.get(repo, repo) != self.own.lower()

    def upstream(self, variant: Variant) -> Downstream:
        """Where the package is that a variant's is made of."""
        return self._at(variant.spec.upstream.repo, variant.spec.upstream.package)

    def _at(self, repo: str, package: str) -> Downstream:
        return Downstream(self.places.get(repo, repo), self.path(repo, package))

    def path(self, repo: str, package: str) -> str:
        """Where a package is in the repository that a name means."""
        return "/".join(filter(None, (self.directories.get(repo, ""), package)))

    def placed(self, variant: Variant) -> Variant:
        """Return a variant whose paths are those in the repositories."""
        spec = variant.spec
        up, down = spec.upstream, spec.downstream
        upstream = replace(up, package=self.path(up.repo, up.package))
        downstream = replace(down, package=self.path(down.repo, down.package))
        if (upstream, downstream) == (up, down):
            return variant
        return replace(variant, spec=replace(spec, upstream=upstream, downstream=downstream))


@dataclass(frozen=True, slots=True)
class Resolution:
    """What is wanted.

    Attributes:
        variants: One for each downstream, in the order of these.
        problems: Why others are not among them, in the order of the files.
        complete: Nothing else is wanted: what is not here was removed.
    """

    variants: tuple[Variant, ...]
    problems: tuple[Problem, ...]
    complete: bool


@dataclass(slots=True)
class _Budget:
    """How much more the rules of a repository may choose, compare and ask for."""

    downstreams: int
    compared: int
    entries: int


def resolve(files: Iterable[VariantFile], around: ResolutionContext) -> Resolution:
    """Work out what files of rules want.

    Args:
        files: What was read of them, in order.
        around: What they are resolved against.
    """
    found: list[Variant] = []
    problems: list[Problem] = []
    room = _Budget(MOST_TOGETHER, MOST_COMPARED, MOST_ENTRIES)
    with expressions.together():
        for file in files:
            problems += file.problems
            found += file.variants
            for each in file.sets:
                room.downstreams = MOST_TOGETHER - len(found)
                made = _of_set(each, around, room)
                if isinstance(made, Problem):
                    problems.append(made)
                else:
                    found += made
    refused = {i: _at(found[i].origin, *told) for i, told in _refused(found, around)}
    problems += sorted(refused.values())
    kept = [each for index, each in enumerate(found) if index not in refused]
    kept.sort(key=lambda each: each.spec.downstream)
    return Resolution(tuple(kept), tuple(dict.fromkeys(problems)), complete=not problems)


def _at(origin: Place, text: str, fix: str) -> Problem:
    return Problem(origin.path, origin.line or 0, 0, "", text, fix)


def _missing(upstream: VariantUpstream) -> tuple[str, str]:
    return messages.set_upstream_missing(upstream.package, upstream.revision, upstream.repo)


def _of_set(
    variants: VariantSet, around: ResolutionContext, room: _Budget
) -> list[Variant] | Problem:
    room.compared -= compared(variants, around.objects)
    if room.compared < 0:
        return _at(variants.origin, *messages.too_many_compared(MOST_COMPARED))
    revision = around.revision(variants.upstream)
    if revision is None:
        return _at(variants.origin, *_missing(variants.upstream))
    chosen = list(islice(unrolled(variants, around.objects), MOST_DOWNSTREAMS + 1))
    if len(chosen) > MOST_DOWNSTREAMS:
        return _at(variants.origin, *messages.too_many(variants.name, MOST_DOWNSTREAMS))
    if len(chosen) > room.downstreams:
        return _at(variants.origin, *messages.too_many_together(MOST_TOGETHER))
    sizes = [t.template.size if t.template else 0 for t in variants.targets]
    room.entries -= sum(sizes[each.target] for each in chosen)
    if room.entries < 0:
        return _at(variants.origin, *messages.too_large_together(MOST_ENTRIES))
    by_selected = [topics.of_selected(t, asked=around.topics) for t in variants.targets]
    by_downstream = [topics.of_downstream(t, asked=around.topics) for t in variants.targets]
    origin = variants.origin
    places = [replace(origin, line=t.line or origin.line) for t in variants.targets]
    made: dict[Downstream, Variant] = {}
    for each in chosen:
        origin = places[each.target]
        try:
            spec = templates.rendered(variants.upstream, each, around.repositories, revision)
        except TemplateError as error:
            where = f"{each.repo}/{each.package}"
            line = variants.targets[each.target].lines.get(error.field, origin.line)
            told = messages.no_template(each.target, where, str(error))
            return _at(replace(origin, line=line), *told)
        name = naming.variant_name(variants.name, spec.downstream.repo, spec.downstream.package)
        variant = Variant(
            name=name,
            namespace=variants.namespace,
            spec=spec,
            follow=variants.follow,
            propose=variants.propose,
            origin=origin,
            set=variants.name,
            outside=_is_outside(each, around)
            or (by_selected[each.target] and around.elsewhere(each.repo))
            or (by_downstream[each.target] and around.elsewhere(spec.downstream.repo)),
            chosen_by="" if each.object is None else each.object.origin,
        )
        if made.setdefault(spec.downstream, variant) != variant:
            return _at(origin, *messages.set_meets_itself(variants.name, f"{spec.downstream}"))
    return list(made.values())


def _is_outside(chosen: Chosen, around: ResolutionContext) -> bool:
    origin = "" if chosen.object is None else chosen.object.origin
    return bool(origin) and not origin.startswith(f"{around.own}/")


# --- which rules cannot be kept together ----------------------------------------------------------


def _refused(
    variants: list[Variant], around: ResolutionContext
) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield the positions of rules that do not count, and why; the reason told last is kept."""
    faults = [naming.package_problem(around.downstream(each).package) for each in variants]
    yield from _inside_others([(i, variants[i]) for i, it in enumerate(faults) if not it], around)
    yield from _circles(variants, around)
    for index, (each, problem) in enumerate(zip(variants, faults, strict=True)):
        spec = each.spec
        both = (spec.upstream.repo, spec.downstream.repo)
        unknown = [each for each in both if each not in around.repositories]
        if problem:
            yield index, messages.bad_package(spec.downstream.package, problem)
        elif unknown:
            yield index, messages.unknown_repository(unknown[0])
    by_name: dict[tuple[str, str], list[int]] = defaultdict(list)
    by_downstream: dict[Downstream, list[int]] = defaultdict(list)
    for index, each in enumerate(variants):
        by_name[each.namespace, each.name].append(index)
        by_downstream[around.downstream(each)].append(index)
    for (_, name), same in by_name.items():
        for index, others, more in _beside(same):
            places = [variants[other].origin for other in others]
            yield index, messages.same_name(name, places, more)
    for same in by_downstream.values():
        for index, others, more in _beside(same):
            named = [variants[other].name for other in others]
            downstream = variants[index].spec.downstream
            yield index, messages.same_downstream(f"{downstream}", named, more)


def _beside(same: list[int]) -> Iterator[tuple[int, list[int], int]]:
    """Yield each of several rules with as many others as are named, and how many more there are."""
    first = same[: messages.MOST_NAMED + 1]
    for index in same if len(same) > 1 else ():
        others = [other for other in first if other != index][: messages.MOST_NAMED]
        yield index, others, len(same) - 1 - len(others)


def _inside_others(
    variants: Sequence[tuple[int, Variant]], around: ResolutionContext
) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield those of some rules, each with its position; no path has more than a hundred parts."""
    paths = {around.downstream(each): (index, each.spec.downstream) for index, each in variants}
    for downstream, (index, inner) in paths.items():
        parts = downstream.package.split("/")
        for length in range(len(parts) - 1, 0, -1):
            outer = Downstream(downstream.repo, "/".join(parts[:length]))
            if outer in paths:  # which is told itself where it lies inside of another
                told = messages.inside_another(f"{inner}", outer.package)
                yield from ((each, told) for each in (index, paths[outer][0]))
                break


def _circles(
    variants: list[Variant], around: ResolutionContext
) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield the rules by which a package is made of itself, over however many steps."""
    made_by = {around.downstream(each): index for index, each in enumerate(variants)}
    left: dict[int, int] = {}
    for start in range(len(variants)):
        walk: list[int] = []
        here: int | None = start
        while here is not None and here not in left:
            left[here] = start
            walk.append(here)
            here = made_by.get(around.upstream(variants[here]))
        if here is not None and left[here] == start and here in walk:
            circle = walk[walk.index(here) :][::-1]
            told = messages.circle([f"{variants[one].spec.downstream}" for one in circle])
            for each in circle:
                yield each, told
