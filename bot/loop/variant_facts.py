"""Finds out what is known of a variant's package: its upstream, the package, its drafts."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from bot.forges.port import ListedProposal
from bot.git.port import History
from bot.look import rules
from bot.look.reader import MirrorReader
from bot.look.variant_trails import trail
from bot.upstream.port import FetchedUpstream
from cadlib.errors import PackageError
from cadlib.kptfile import reader as kptfiles
from cadlib.limits import DEFAULT
from cadlib.package import files as packages
from cadlib.package.files import KPTFILE, Files
from lifecycle import annotations, names
from lifecycle.ledger import held
from lifecycle.messages import making as making_texts
from lifecycle.names import Sha
from lifecycle.policy import BrokenPolicy
from lifecycle.variants import naming, trailer
from lifecycle.variants.facts import DraftFacts, PublishedFacts, RevisionStage
from lifecycle.variants.making import shaped
from lifecycle.variants.objects import KubeObjectIndex
from lifecycle.variants.pipeline import kept_by
from lifecycle.variants.trailer import Trail
from lifecycle.variants.upstreams import UpstreamRevision, locked_number
from lifecycle.variants.values import Variant


@dataclass(frozen=True, slots=True)
class Here:
    """A package on the base branch.

    Attributes:
        tip: The base branch.
        files: Its files; none where there is no package.
        tree: Id of its tree; "" for none.
        present: There is something at its path.
        kptfile: Its Kptfile; None for none.
        held: Why nothing newer is proposed; "" where it is.
        inside: Folders in it, relative to it, that are packages for themselves: with revisions of
            their own, or kept by a variant of their own.
        workspace: That of its newest release, where Porch made it and no variant is named in it.
    """

    tip: Sha
    files: Files = field(repr=False, default_factory=dict)
    tree: str = ""
    present: bool = False
    kptfile: kptfiles.Kptfile | None = None
    held: str = ""
    inside: tuple[str, ...] = ()
    workspace: str = ""

    @property
    def own(self) -> tuple[str, ...]:
        """Paths of its files that lie in no such folder."""
        folders = tuple(f"{each}/" for each in self.inside)
        return tuple(path for path in self.files if not path.startswith(folders))

    @property
    def locked(self) -> int | None:
        """The number in its lock; None where that names no revision."""
        lock = self.kptfile.upstream_lock if self.kptfile else None
        return None if lock is None else locked_number(lock.ref)


def package(reader: MirrorReader, tip: Sha, path: str) -> Here:
    """Read a package on the base branch.

    Raises:
        PackageError: It is too large, or its Kptfile cannot be read.
    """
    git = reader.git
    entries = rules.listed(reader.file, tip, path)
    hold = None if isinstance(entries, BrokenPolicy) else held(entries)
    why = "" if hold is None else making_texts.held(path, hold[0], hold[1].reason)
    if isinstance(entries, BrokenPolicy):
        why = making_texts.ledger_broken(path)
    if not git.package(tip, path):
        return Here(tip, present=bool(git.entry(tip, path)), held=why)
    tree = git.tree(tip, path)
    files = git.files(tree, DEFAULT)
    kptfile = kptfiles.read(files[KPTFILE].data, f"{path}/{KPTFILE}")
    nested = (each for each in packages.find(files) if each)
    inside = tuple(each for each in nested if _apart(reader, path, each, files))
    return Here(tip, files, tree, present=True, kptfile=kptfile, held=why, inside=inside)


def _apart(reader: MirrorReader, path: str, folder: str, files: Files) -> bool:
    """Whether a package inside another one is there for itself."""
    if reader.tags.refs([f"{path}/{folder}"]):
        return True
    file = f"{folder}/{KPTFILE}"
    try:
        return bool(kept_by(kptfiles.read(files[file].data, f"{path}/{file}")))
    except PackageError:
        return True  # nobody can tell, so it stays


def is_nobodys(here: Here) -> bool:
    """Tell whether a package was made of another one, and says of no variant that it keeps it."""
    kptfile = here.kptfile
    return kptfile is not None and kptfile.upstream_lock is not None and not kept_by(kptfile)


def released_by_porch(git: History, path: str) -> str:
    """Return the workspace that Porch made the newest release of a package in; "" for no such one.

    Args:
        git: The mirror, opened, with the package's tags.
        path: The package.
    """
    tags = git.refs(names.tag_ref(path))
    numbers = names.revisions(path, tags)
    commit = tags[names.tag(path, numbers[-1])][1] if numbers else ""
    found = commit and git.has(commit)
    return annotations.by_porch(git.commit(commit).message, path) if found else ""


def published(
    here: Here,
    variant: Variant,
    objects: KubeObjectIndex,
    upstream: FetchedUpstream | None,
    number: int,
    *,
    removed: bool = False,
) -> PublishedFacts | None:
    """What is to be known of the package; None where there is none.

    Args:
        here: The package.
        variant: Its rule.
        objects: What can be injected.
        upstream: The upstream, where it could be had.
        number: Of its newest revision; 0 for none.
        removed: Its rule is gone, and what it never adopted it does not take along.
    """
    if here.kptfile is None:
        return None
    lock = here.kptfile.upstream_lock
    ours = lock is not None and upstream is not None
    if lock is not None and upstream is not None:
        same = lock.directory.strip("/") == upstream.ref.directory.strip("/")
        ours = same and lock.repo.removesuffix(".git") == upstream.ref.repo.removesuffix(".git")
    owners = kept_by(here.kptfile)
    if ours and here.workspace.startswith(naming.WORKSPACE):
        owners = {*owners, variant.name}  # Porch keeps whose it is in its cluster
    if variant.spec.adopts and not removed:
        owners = {*owners, variant.name}
    try:
        as_wanted = shaped(here.files, variant, objects).files == here.files
    except PackageError:
        as_wanted = False  # making it says why
    return PublishedFacts(
        number=number,
        commit=here.tree,
        owners=frozenset(owners),
        lock="" if lock is None else lock.ref,
        locked="" if lock is None else lock.commit,
        lock_is_ours=ours,
        shaped=as_wanted,
    )


def locked(here: Here, published: PublishedFacts | None) -> UpstreamRevision | None:
    """The revision that a package is locked to; None where that is not one of its rule's upstream.

    Another upstream's has a number that means nothing here, and files that were not fetched.
    """
    lock = here.kptfile.upstream_lock if here.kptfile else None
    if lock is None or here.locked is None or published is None or not published.lock_is_ours:
        return None
    return UpstreamRevision(number=here.locked, commit=lock.commit)


def sources(variant: Variant, objects: Sequence[Mapping[str, object]]) -> str:
    """A digest of the objects that a rule may inject; "" where it injects none."""
    named = {each.name for each in variant.spec.injectors}
    found = [each for each in objects if _name(each) in named]
    if not found:
        return ""
    text = json.dumps(found, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _name(value: Mapping[str, object]) -> object:
    metadata = value.get("metadata")
    return metadata.get("name") if isinstance(metadata, Mapping) else None


def revision(fetched: FetchedUpstream, workspace: str = "") -> UpstreamRevision | None:
    """An upstream as a revision, made from a draft where one is named; None for no release."""
    if fetched.revision is None:
        return None
    return UpstreamRevision(
        number=fetched.revision,
        ref=fetched.ref.ref,
        commit=fetched.commit,
        tag=fetched.tag,
        workspace=workspace,
        state=fetched.state,
    )


# --- drafts ---------------------------------------------------------------------------------------


def draft(
    branch: str, tip: Sha, found: Trail, pull: ListedProposal | None, *, gone: bool = False
) -> DraftFacts:
    """What is to be known of a draft.

    Args:
        branch: Its branch.
        tip: Where that is, or was.
        found: What its commits say.
        pull: Its newest pull request; None for none.
        gone: The branch is there no more.
    """
    owners = {found.owner} if found.owner else set(found.written)
    stage = RevisionStage.DRAFT
    if gone or (pull is not None and not pull.open):
        stage = RevisionStage.CLOSED
    elif pull is not None and not pull.draft:
        stage = RevisionStage.PROPOSED
    closed = stage is RevisionStage.CLOSED and trailer.CLOSED not in found.words
    ready = bool(found.words & {trailer.PROPOSED, trailer.KEPT})
    back = stage is RevisionStage.DRAFT and pull is not None and ready
    return DraftFacts(
        branch=branch,
        head=tip,
        stage=stage,
        owners=frozenset(owners),
        recipe=found.recipe,
        number=0 if pull is None else pull.number,
        title=found.title,
        shown="" if pull is None else pull.title,
        people=found.people,
        empty=found.empty,
        ended=found.ended and not gone,
        by_person=closed or back,
        ready=trailer.CONFLICTS not in found.words,
    )


def drafts_of(
    reader: MirrorReader, tip: Sha, path: str, *, ours: str, adopts: bool
) -> dict[str, tuple[Sha, Trail]]:
    """The branches of variants' drafts of a package: where they are, and what they say.

    Args:
        reader: Reads git.
        tip: The base branch.
        path: The package.
        ours: The variant that wants it: what Porch's controller made of it is that one's.
        adopts: Drafts that people made of it count too; not those that they asked the bot for.
    """
    git, found = reader.git, dict[str, tuple[Sha, Trail]]()
    before = naming.draft_branch(path, "")
    there = git.refs(names.branch_ref(before.rstrip("/")))
    for branch, at in ((names.branch_name(ref), commit) for ref, (_, commit) in there.items()):
        workspace = branch.removeprefix(before)
        made = workspace.startswith(naming.WORKSPACE)
        if "/" in workspace or not (made or adopts):
            continue
        said = trail(reader, at, tip)
        if said.recipe is None and not said.empty:
            if said.asked or not git.package(at, path):
                continue
            written = _written(git, at, path)
            if not written and annotations.by_porch(git.commit(at).message, path) == workspace:
                written = frozenset({ours} if made else ())  # of a rule without functions
            said = replace(said, written=written)
        if made or not said.empty:
            found[branch] = at, said
    return found


def _written(git: History, at: Sha, path: str) -> frozenset[str]:
    """The variants that a package says it is kept by; none where its Kptfile cannot be read."""
    file = f"{path}/{KPTFILE}"
    data = git.blob(at, file, DEFAULT.file_bytes)
    try:
        return frozenset(kept_by(kptfiles.read(data or b"", file)))
    except PackageError:
        return frozenset()
