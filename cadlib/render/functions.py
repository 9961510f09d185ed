"""Functions of a Kptfile: resolves image and configuration, and refuses what may not run.

Rules
- A configuration is a resource of the function's own package, as the functions before it have
  left it; or a ConfigMap named function-input made of `configMap`.
- Commands (`exec`) run only where they are allowed, ranges of tags only where tags can be listed.
- What is wrong is said in kpt's words.

Source: kptdev/kpt, pkg/fn/runtime/runner.go; api/kptfile/v1/validation.go; pkg/lib/pkg.
"""

import json
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from cadlib import images
from cadlib.errors import PackageError, Place
from cadlib.kptfile import reader as kptfiles
from cadlib.kptfile.reader import KptfileError, PipelineFunction
from cadlib.package import files as packages
from cadlib.package.source import ParsedPackage, Resource, unfit
from cadlib.package.unseen import is_kustomization
from cadlib.yaml import Document, Value, digits

if TYPE_CHECKING:
    from cadlib.versions import Tags

NOT_RESOURCES = "input resource list must contain only KRM resources"
CONFIG_FIX = "Give it apiVersion, kind and metadata.name"
NOT_ALLOWED = "must run with `--allow-exec` option to allow running function binaries"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of a rendering.

    Attributes:
        as_kpt: Be as strict as kpt's command: YAML that is no Kubernetes resource is refused,
            and the first validator that fails ends the rendering. What functions say
            is told by the steps alone then, as they say it, unless one fails.
        allow_exec: Commands of Kptfiles may be run.
        tags: Lists the tags of an image, for ranges of versions; None where nobody can.
        prefix: Where images with a short name come from.
        folder: The package's folder, for messages.
        allow: Lists of patterns of images (`cadlib.images.fits`): of each list, one has to mean the
            image of a function of a Kptfile.
    """

    as_kpt: bool = False
    allow_exec: bool = False
    tags: "Tags | None" = None
    prefix: str = images.CATALOG
    folder: str = ""
    allow: tuple[tuple[str, ...], ...] = ()


class MissingConfigError(KptfileError):
    """A configuration is not among the resources of the function's own package."""


def place(function: PipelineFunction) -> Place:
    """Return where a function is called: the Kptfile at large for one from configuration."""
    return function.place if function.place.path else Place(packages.KPTFILE)


def image(function: PipelineFunction, options: Options) -> str:
    """Return the full name of a function's image, with a tag or digest; "" for a command.

    Raises:
        PackageError: Its tag is a range of versions that no tag lies in, or that cannot be
            looked up here.
    """
    if not function.image:
        return ""
    full = images.resolve_image(function.image, options.prefix)
    if not function.tag:
        return full
    from cadlib import versions  # few functions have a tag of their own

    at = replace(place(function), field=_field(function, "tag"))
    if options.tags is None and versions.is_range(function.tag):
        problem = "`tag` with a range of versions of a function is not supported"
        raise PackageError(at, problem, "Write one version in the tag, without a range")
    return versions.resolve(full, function.tag, options.tags or (lambda _: ()), at)


def refusals(function: PipelineFunction, options: Options) -> Iterator[PackageError]:
    """Yield the errors that keep a function from running."""
    if function.exec and not options.allow_exec:
        at = replace(place(function), field=_field(function, "exec"))
        problem = NOT_ALLOWED if options.as_kpt else "`exec` of a function is not supported"
        fix = "Allow it if you trust the command, or use" if options.as_kpt else "Use"
        yield PackageError(at, problem, f"{fix} a function that has an image")
    try:
        image(function, options)
    except PackageError as error:
        yield error


def _named(function: PipelineFunction) -> str:
    """Return a function as its Kptfile names it."""
    return f"{function.image} with `tag` {function.tag}" if function.tag else function.image


def not_allowed(function: PipelineFunction, options: Options) -> PackageError | None:
    """Return why a function of a Kptfile is not among those that are allowed; None if it is."""
    if not options.allow:
        return None
    try:
        full = image(function, options)  # what runs: `tag` takes the place of what `image` says
    except PackageError as error:
        return error
    for patterns in options.allow:
        if not any(images.fits(pattern, full, options.prefix) for pattern in patterns):
            return PackageError(
                replace(place(function), field=_field(function, "image")),
                f"the function {_named(function)} is not among those that this repository allows",
                f"Use one that matches {', '.join(patterns) or 'nothing'}, or have"
                " `functions.allow`"
                " changed in .porchbot.yaml",
            )
    return None


def config(
    source: ParsedPackage,
    package: str,
    function: PipelineFunction,
    resources: Sequence[Resource],
    folder: str,
) -> Value:
    """Return a function's configuration.

    Args:
        source: The package as it was given.
        package: The package whose pipeline the function is part of.
        function: The function.
        resources: The resources now; the configuration is taken from among them.
        folder: The package's folder, for messages.

    Returns:
        None if it has none.

    Raises:
        PackageError: There is no such file, or it does not hold one resource.
    """
    if function.config is not None:
        return cast("Value", dict(function.config))
    if function.config_map:  # an empty one says nothing, as in kpt
        return from_texts(function.config_map)
    if function.config_path is None:
        return None
    path = packages.join(package, posixpath.normpath(function.config_path))
    document = _configured(source, package, function, path, folder)
    now = (each.value for each in resources if each.origin and each.origin[0] == path)
    return digits.written(next(now, document.value), document)


def from_texts(texts: Mapping[str, str], kind: str = "ConfigMap") -> Value:
    """Return the ConfigMap that kpt makes from key-value pairs."""
    return {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": "function-input"},
        "data": dict(texts),
    }


def _configured(
    source: ParsedPackage, package: str, function: PipelineFunction, path: str, folder: str
) -> Document:
    """Return the configuration as its file has it."""
    given = function.config_path or ""
    problem = kptfiles.config_path_problem(given)
    fix = "Give the path of a file in this package, relative to the Kptfile"
    if problem:
        raise _invalid(function, problem, fix)
    if path not in source.files:
        where = posixpath.join(folder, path)
        text = f"open {where}: no such file or directory"
        reason = f"failed to open functionConfig from path {_quoted(given)}: {text}"
        raise _invalid(function, reason, fix)
    stream = source.streams.get(path)
    if stream is None or packages.owner_of(path, source.packages) != package:
        step = function.place.field.rpartition(".")[2].partition("[")[0].removesuffix("s")
        name = function.exec or images.base_name_and_tag(function.image)[0]
        raise _invalid(
            function,
            f"functionConfig resource for {step or 'function'} {_quoted(name)} is missing from"
            f" path {_quoted(given)}, this also occurs if {_quoted(given)} is part of a subpackage",
            "Use a file of this package itself, not one of a subpackage",
            MissingConfigError,
        )
    documents = [document for document in stream.documents if not document.empty]
    if len(documents) != 1:
        raise _invalid(
            function,
            f"functionConfig {_quoted(given)} must not contain more than one config,"
            f" got {len(documents)}",
            "Leave one resource in the file",
        )
    problem = config_problem(documents[0].value)
    if problem:
        raise _invalid(function, problem, CONFIG_FIX)
    return documents[0]


def config_problem(value: Value) -> str:
    """Return kpt's error for a resource that cannot be a configuration; "" if it can."""
    return "" if is_kustomization("", value) else unfit(value)


def _invalid(
    function: PipelineFunction, reason: str, fix: str, error: type[KptfileError] = KptfileError
) -> KptfileError:
    at = replace(place(function), field=_field(function, "configPath"))
    details = (
        f"Kptfile is invalid:\nField: `{at.field}`\nValue: {_quoted(function.config_path or '')}\n"
        f"Reason: {reason}\n"
    )
    return error(at, reason, fix, details=details)


def _field(function: PipelineFunction, key: str) -> str:
    return f"{function.place.field}.{key}" if function.place.field else key


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
