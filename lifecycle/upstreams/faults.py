"""What is wrong with the upstreams that the Kptfiles of a package name, before anybody upgrades it.

kpt renders such a package, and fails at the next update. What nobody can ever read is an error:
a folder outside of the repository, or no repository; and so is a password, which everybody would
see. What kpt may read and this bot does not, such as a folder of one machine, is a warning. Nothing
is fetched for it.

Source: kpt 1.0.0-beta.56, tried: `kpt pkg update` cleans a path, so that `a/../b` is `b`.
"""

import posixpath
from collections.abc import Iterator
from dataclasses import replace

from cadlib.errors import PackageError, Place
from cadlib.findings import Finding, Severity, from_error
from cadlib.kptfile import reader
from cadlib.kptfile.values import GitRef
from cadlib.package import files as packages
from cadlib.package import ignore
from cadlib.package.files import KPTFILE, Files
from cadlib.update.strategies import unknown_strategy
from cadlib.update.upstream import STRATEGIES
from cadlib.yaml import field_text
from cadlib.yaml import read as read_yaml
from lifecycle import names
from lifecycle.messages import making
from lifecycle.messages import upstreams as texts
from lifecycle.upstreams.errors import UpstreamError
from lifecycle.upstreams.references import from_lock


def findings(files: Files) -> Iterator[Finding]:
    """Yield what is wrong with the upstreams of a package, and of the packages inside it."""
    for package in ignore.find(files):
        path = packages.join(package, KPTFILE)
        if b"upstream" in files[path].data:
            yield from _of_kptfile(path, files[path].data)


def _of_kptfile(path: str, data: bytes) -> Iterator[Finding]:
    try:
        stream = read_yaml(data, path=path)
        kptfile = reader.of_stream(stream, path)
    except PackageError:
        return  # which is an error already
    document = next(each for each in stream.documents if not each.empty)
    if (kptfile.update_strategy or STRATEGIES[0]) not in STRATEGIES:
        found = from_error(unknown_strategy(kptfile.update_strategy), Severity.WARNING)
        line = document.line(("upstream", "updateStrategy"))
        yield replace(found, place=Place(path, line, found.place.field))
    for key, git in (("upstream", kptfile.upstream), ("upstreamLock", kptfile.upstream_lock)):
        said = document.value.get(key) if isinstance(document.value, dict) else None
        if not isinstance(said, dict) or not said or "generic" in said:
            continue
        problem = _problem(git or GitRef(), locked=key == "upstreamLock")
        if problem:
            field, severity, (message, fix) = problem
            at = (key, "git", field) if field else (key, "git")
            place = Place(path, document.line(at), field_text(at))
            yield Finding(message=message, severity=severity, place=place, fix=fix)


def _problem(git: GitRef, *, locked: bool) -> tuple[str, Severity, texts.Problem] | None:
    """What is wrong with an upstream: the field of it, "" for several, how bad it is, and words."""
    if not git.repo:
        return "repo", Severity.ERROR, texts.incomplete("")
    if _has_password(git.repo):
        return "repo", Severity.ERROR, texts.password()
    if posixpath.normpath(git.directory.lstrip("/")).split("/")[0] == "..":
        return "directory", Severity.ERROR, texts.outside(git.directory)
    if locked and not git.commit and names.parse_tag(names.tag_ref(git.ref)) is None:
        error = making.unlocked(git.ref)
        return "commit", Severity.WARNING, (error.problem, error.fix)
    try:
        from_lock(git)
    except UpstreamError as error:
        return "", Severity.WARNING, (error.problem, error.fix)
    return None


def _has_password(address: str) -> bool:
    """Whether there is one in what is no address otherwise, too."""
    scheme, _, rest = address.partition("//")
    return "/" not in scheme and ":" in rest.partition("/")[0].rpartition("@")[0]
