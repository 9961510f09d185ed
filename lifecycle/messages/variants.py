"""Texts about variants: what is wrong with their files, and how each downstream stands.

Longer than 400 lines: one list of texts.
"""

from collections.abc import Iterable, Sequence

from cadlib.errors import Place
from lifecycle.facts.checks import PUBLISH
from lifecycle.messages import descriptions
from lifecycle.messages.markdown import code, number
from lifecycle.messages.porch import COST

NO_MAPPING = ("the document is not a mapping", "Write a PackageVariant or a PackageVariantSet")
NO_KEY = ("a requirement names no label", "Give it a `key`")
NO_VALUES = (
    "for 'in', 'notin' operators, values set can't be empty",
    "List at least one of `values`",
)
VALUES = (
    "values set must be empty for exists and does not exist",
    "Leave `values` out",
)


def at_column(text: str, column: int) -> str:
    """Say where in its line a problem is, which findings do not tell."""
    return f"{text} (column {column})" if column > 1 else text


def more_problems(count: int) -> tuple[str, str]:
    """Say how many problems are not told."""
    more = "1 more problem" if count == 1 else f"{count} more problems"
    return f"the file has {more}", "Fix those above first"


def other_kind(version: str, kind: str) -> tuple[str, str]:
    """Say that a document is no variant."""
    return (
        f"the document is of kind {kind} ({version})",
        "Files of `variants` hold PackageVariants and PackageVariantSets only; move it elsewhere",
    )


def other_version(wanted: str) -> tuple[str, str]:
    """Say that a document has another version."""
    return "the version is not known", f"Write `apiVersion: {wanted}`"


def bad_name(name: str) -> tuple[str, str]:
    """Say that a variant has no usable name."""
    if not name:
        return "metadata.name: Required value: name is required", ""
    return (
        f'metadata.name: Invalid value: "{name}"',
        "Use lower case letters, digits, `-` and `.`, a letter or digit first and last",
    )


def bad_revision(revision: int) -> tuple[str, str]:
    """Say that no revision has such a number."""
    return (
        f"spec.upstream.revision: Invalid value: {revision}",
        "Write the number of a revision, or -1 for the newest one",
    )


def bad_package(path: str, problem: str) -> tuple[str, str]:
    """Say that no package can have such a path."""
    return f"no package can be at {path!r}: {problem}", "Write the path of its folder"


def not_published_from(branch: str) -> tuple[str, str]:
    """Say that no package is published from a branch."""
    return (
        f"no packages are published from the branch {branch!r}",
        "Add it to `packages`, or name another branch in the rules' `repositories`",
    )


def names_itself(repo: str, package: str) -> tuple[str, str]:
    """Say that a variant would be made from itself."""
    return (
        f"the downstream is the upstream itself: {package} in {repo}",
        "Name another package, or another repository",
    )


PART_IS_REVISION = "a part of it looks like a revision"


def no_branch(rule: str) -> str:
    """Say that no branch can be named like a package."""
    return f"git does not allow a branch of that name ({rule})"


def bad_annotation(key: str, text: str, known: Sequence[str]) -> tuple[str, str]:
    """Say that an annotation of ours has no such value."""
    return f"{key} cannot be {text!r}", f"Write {' or '.join(known)}"


def unknown_annotation(key: str, known: Sequence[str]) -> tuple[str, str]:
    """Say that there is no such annotation of ours."""
    return f"the annotation {key} is unknown", f"The known ones are {' and '.join(known)}"


def bad_operator(operator: str, known: Sequence[str]) -> tuple[str, str]:
    """Say that a selector has no such operator."""
    return f'"{operator}" is not a valid label selector operator', f"Write {', '.join(known)}"


# --- rules that cannot be kept together -----------------------------------------------------------


def set_upstream_missing(package: str, revision: int, repo: str) -> tuple[str, str]:
    """Say that a set's upstream is not there, in Porch's words."""
    named = f"'{package}/{revision}' in repo '{repo}'"
    return f"could not find upstream package revision {named}", "Name a published revision"


def too_many(name: str, most: int) -> tuple[str, str]:
    """Say that a set chooses too much."""
    return f"the set {name} chooses more than {most:,} packages", "Narrow its selectors"


def too_many_together(most: int) -> tuple[str, str]:
    """Say that all rules of a repository choose too much."""
    return f"the rules choose more than {most:,} packages together", "Narrow their selectors"


def too_large_together(most: int) -> tuple[str, str]:
    """Say that templates come to too much for all packages that are chosen."""
    return (
        f"the templates of the rules hold more than {most:,} labels, fields and the like for all"
        " packages together",
        "Choose fewer packages, or say less in the templates",
    )


def too_many_compared(most: int) -> tuple[str, str]:
    """Say that selectors are held against too many objects."""
    return (
        f"the selectors of the rules would be held against more than {most:,} objects together",
        "Select with fewer targets, or among fewer objects",
    )


def too_much_read(most: int) -> tuple[str, str]:
    """Say that all files of rules and resources of a repository hold too much."""
    return (
        f"the files of rules and resources hold more than {most:,} values together, so this one"
        " was not read",
        "Move resources that no rule selects to another folder",
    )


def too_large_folders(most: int) -> tuple[str, str]:
    """Say that the folders with rules and resources hold too much, with all that is inside."""
    return (
        f"the folders of rules and resources hold more than {most // 1024**2} MiB together, so"
        " this one was not read",
        "Put them into folders that hold nothing else",
    )


def no_template(target: int, downstream: str, text: str) -> tuple[str, str]:
    """Say that a template gives nothing for a downstream; the text is Porch's."""
    fix = (
        "Write an expression with fewer or shorter lists, texts and patterns"
        if COST in text
        else ""
    )
    return f"spec.targets[{target}], for {downstream}: {text}", fix


def set_meets_itself(name: str, downstream: str) -> tuple[str, str]:
    """Say that targets of a set choose one package twice, and want not the same of it."""
    return (
        f"the set {name} chooses {downstream} more than once, and its labels or the like differ",
        "Choose it once, or give each its own path",
    )


def unknown_repository(name: str) -> tuple[str, str]:
    """Say that the table of repositories has no such name."""
    return f'repository "{name}" could not be loaded', "Add it to `repositories` of .porchbot.yaml"


def same_name(name: str, others: Sequence[Place], more: int = 0) -> tuple[str, str]:
    """Say that rules have one name, by which their functions are told apart.

    Args:
        name: The name.
        others: Where the others stand, or some of them.
        more: How many there are beside these.
    """
    told = _some(map(str, others), more)
    return f"another variant is named {name} ({told})", "Give it another name"


def same_downstream(downstream: str, others: Sequence[str], more: int = 0) -> tuple[str, str]:
    """Say that rules want one package.

    Args:
        downstream: The package.
        others: The others, or some of them.
        more: How many there are beside these.
    """
    return (
        f"two variants for one downstream, {downstream}: the other is {_some(others, more)}",
        "Remove one of them",
    )


def inside_another(inner: str, outer: str) -> tuple[str, str]:
    """Say that a downstream lies inside of another."""
    return (
        f"the downstream {inner} lies inside of another one, {outer}",
        "Give one of them another path",
    )


def circle(downstreams: Sequence[str]) -> tuple[str, str]:
    """Say that packages are made of one another in a circle."""
    first = downstreams.index(min(downstreams))
    return (
        f"a package is made of itself: {_some([*downstreams[first:], *downstreams[:first]])}",
        "Remove one of these variants",
    )


def circle_across(packages: Sequence[str]) -> str:
    """Say that an upstream was made from the package that is to be made of it."""
    return (
        f"The upstream of this package was made from it: {_some(packages)}. Remove one of these"
        " variants."
    )


MOST_NAMED = 5
"""Rules or packages that one message names."""


def _some(names: Iterable[str], more: int = 0) -> str:
    """List names; of many the first ones, and how many more there are."""
    found = list(names)
    left = len(found[MOST_NAMED:]) + more
    return ", ".join([*found[:MOST_NAMED], *([f"{left} more"] if left else [])])


# --- what a variant makes of a package; what stands in packages is in Porch's words ---------------

NO_CONTEXT = (
    '"package-context.yaml" not found',
    "Make the repository one for deployments, or leave `packageContext` out",
)
NO_CONTEXT_DATA = ("the package context has no data field", "Give it `data`")
FIX_POINTS = "Correct the annotations, or give the resources different names"
FIX_SEVERAL = "Name an object that exists only once, or give the injector a group, version or kind"
FIX_OBJECTS = "Write resources in it, or another ending in its name"
NO_INJECTORS = "no injectors defined"
NO_SECRETS = "Secrets are never injected"
NOTHING_SELECTED = "no resource matched any injection selector for this injection point"


def no_context_in(name: str) -> tuple[str, str]:
    """Say that the file of the package context holds another thing."""
    return (
        f'"package-context.yaml" does not contain resource named "{name}"',
        "Let porchbot make it: remove the file",
    )


def no_objects(path: str, reason: str) -> str:
    """Say that a file holds what is no object."""
    return f"{path}: failed to extract objects: {reason}"


def bad_point(path: str, name: str, annotation: str, value: str) -> str:
    """Say that a resource asks for injection in a way that nobody knows."""
    return f'{path}: {name} has invalid "{annotation}" annotation value of "{value}"'


def same_condition(condition: str, first: str, second: str) -> str:
    """Say that two resources that ask for injection have one name."""
    return f'duplicate injection conditionType "{condition}" ({first} and {second})'


def bad_points(told: Sequence[str]) -> str:
    """Say why nothing can be injected."""
    return f"errors in injection points: {', '.join(told)}"


def no_such_objects(version: str, kind: str) -> str:
    """Say that there is no object that could be injected."""
    return f"no in-cluster resources of type {version}.{kind}"


def several_objects(name: str, places: Sequence[str]) -> str:
    """Say that an injector names several objects."""
    return f'several objects match "{name}": {_some(sorted(places))}'


def no_field(field: str, name: str) -> str:
    """Say that an object has nothing to inject."""
    return f'field "{field}" not found in resource "{name}"'


def injected(name: str) -> str:
    """Say what was injected."""
    return f'injected resource "{name}" from cluster'


NO_KPTFILE = ("the package has no Kptfile", "Name the folder of a package")


# --- how a downstream stands ----------------------------------------------------------------------

NOT_ALLOWED = (
    "The repository of this package does not let the variant's repository write to it. List that"
    " one under `variants_from` in its .porchbot.yaml."
)
NOT_ADOPTED = (
    "A package is there already, and this variant did not make it. Write `adoptionPolicy:"
    " adoptExisting` to continue with that one, or choose another path."
)
CLOSED_BY_PERSON = (
    "Somebody closed the pull request. Another one is opened when the upstream or the variant"
    " changes; to go on with this one, reopen it."
)
MERGED_INTO = "People have committed to the draft, so newer changes are merged into it."
HELD = "The package was rolled back, and nothing newer is proposed until it is resumed."
RULE_REMOVED = "No variant asks for this package any more."
WANTED_AGAIN = "A variant asks for this package again."
NOTHING_LEFT = "The package already matches its variant, so there is nothing left to change."
SUPERSEDED = "A newer draft of the same variant takes its place."


def upstream_missing(package: str, repo: str, revision: int, workspace: str) -> str:
    """Say that a rule names what is not published; it begins as in Porch."""
    named = f"{package}@v{revision}" if revision > 0 else package
    named += f" from the draft {workspace}" if workspace and revision <= 0 else ""
    return (
        f"could not find upstream package revision {named} in {repo}: no such revision is published"
    )


def upstream_withdrawn(package: str, number: int) -> str:
    """Say that a rule names a revision that was withdrawn."""
    return f"The upstream {package}@v{number} was withdrawn. Name another revision in the variant."


def upstream_moved(package: str, number: int, commit: str) -> str:
    """Say that a revision is not the one any more that a package was made of."""
    return (
        f"The tag of {package}@v{number} was moved: it now points to commit {commit[:12]}, and this"
        " package was made from another one. A published revision must never change. Find out who"
        " moved the tag; to use what it points to now, publish that as a new revision."
    )


def no_good_upstream(package: str, repo: str) -> str:
    """Say that no revision is fit to be followed."""
    return (
        f"Every revision of {package} in {repo} was withdrawn, deprecated or rolled back."
        " The variant waits for a new one."
    )


# --- where variants are configured ----------------------------------------------------------------


def bad_files(text: str) -> tuple[str, str]:
    """Say that files are not named so."""
    return (
        f"{text!r} names no files in a folder",
        "Write a folder and a name, with `*` in the name for any characters: `variants/*.yaml`",
    )


def bad_folder(text: str) -> tuple[str, str]:
    """Say that a folder is not named so."""
    return f"{text!r} is not a folder", "Write its path, without a slash at either end"


def branch_of_own_objects() -> tuple[str, str]:
    """A branch of `objects` that names no other repository."""
    return (
        "the repository's own resources are read at the commit of its rules",
        "Leave `branch` out, or name another `repository`",
    )


def long_name(length: int, most: int) -> tuple[str, str]:
    """Say that the name that rules have for a repository is too long, or empty."""
    return (
        f"the name of a repository has {number(length, 'character')}",
        f"Give it 1 to {most} characters, as the rules write it in `repo`",
    )


def bad_repository(text: str) -> tuple[str, str]:
    """Say that a repository is not named so."""
    return f"{text!r} is not the name of a repository", "Write it as owner/name"


# --- the pull requests ----------------------------------------------------------------------------


def title(package: str, upstream: str, *, new: bool) -> str:
    """The title of a pull request of a variant, which is its commit's first line as well.

    Args:
        package: The package.
        upstream: The revision that it is made of, as "net/core@v2"; "" where that stays.
        new: It is not there yet.
    """
    if new:
        return f"Create {package} from {upstream}"
    return (
        f"Update {package} to {upstream}" if upstream else f"Update {package} as its variant asks"
    )


def is_title(package: str, text: str) -> bool:
    """Tell whether a text is a title that `title` gives for a package."""
    return text.startswith((f"Create {package} from ", f"Update {package} "))


def removal_title(package: str) -> str:
    """The title of a pull request that removes a package."""
    return f"Remove {package}"


def removal_body(variant: str, file: str) -> str:
    """The text of a pull request that removes a package whose rule is there no more.

    Args:
        variant: Name of the variant that made it.
        file: Where that stood.
    """
    return (
        f"The variant {code(variant)} made this package. It is no longer in {code(file)}, and"
        " its deletion policy was to delete.\n\n- Close this pull request to keep the package.\n"
    )


def body(variant: str, file: str, conflicts: Sequence[str]) -> str:
    """The text of a pull request of a variant.

    Args:
        variant: Name of the variant.
        file: Where it stands, as "acme/control:variants/edge.yaml".
        conflicts: Fields that were changed here and upstream; at first upstream's values are taken.
    """
    lines = [
        f"Made by the variant {code(variant)} of {code(file)}.",
        "",
        "- Commit here to change it: newer changes are then merged into your commits.",
        "- Close it to leave the package as it is until its upstream or the variant changes.",
        f"- The check {code(PUBLISH)} says what is missing until this is published.",
    ]
    if conflicts:
        lines += ["", descriptions.conflicted(len(conflicts), "pull request was opened")]
    return "\n".join(lines) + "\n"
