"""What is wrong with an upstream: for each problem a clause, and a remedy.

Each is where it is and what is wrong, and what to do, neither with a full stop.
"""

Problem = tuple[str, str]

TOO_LONG = "computing it in advance takes too long"

_FORM = "Write <owner>/<repository>/<path>@v<N>, or <git URL>//<path>@<tag, branch or commit>"


def no_reference(text: str) -> Problem:
    """A text that names no package."""
    return f"{text[:200]!r} is not a reference to a package", _FORM


def no_end(text: str) -> Problem:
    """An address of which nobody can tell where the repository ends."""
    return (
        f"{text!r} does not tell where the address of the repository ends",
        "Write // between the repository and the path of the package, such as"
        " https://github.com/acme/blueprints//net/core@v3",
    )


def no_address(text: str) -> Problem:
    """What is no address of a repository."""
    return (
        f"{text[:200]!r} is not an address of a git repository",
        "Write an https or ssh address, such as https://github.com/acme/blueprints",
    )


def no_ref(ref: str, text: str) -> Problem:
    """A version that git cannot have."""
    return (
        f"{ref[:200]!r} in {text[:200]!r} cannot be a tag, branch or commit",
        "Write v<N>, latest, or the name of a tag, branch or commit after the @",
    )


def outside(path: str) -> Problem:
    """A path that leaves the repository."""
    return (
        f"the path {path[:200]!r} leads out of the repository",
        "Write the path from the top of the repository, without parent folders",
    )


def oci(text: str) -> Problem:
    """A package in a registry."""
    return (
        f"{text[:200]!r} is in an OCI registry, and porchbot takes packages from git only",
        "Name the git repository that the package was published from",
    )


def scheme(name: str) -> Problem:
    """An address of another kind."""
    return (
        f"addresses that begin with {name}:// are not used",
        "Write an https or ssh address",
    )


def password() -> Problem:
    """A user or password in an address."""
    return (
        "the address contains a user or a password, which everybody who can read the package"
        " would see",
        "Leave it out; credentials for a host are set by the operator of the bot",
    )


def incomplete(repo: str) -> Problem:
    """A lock that does not name a state."""
    lacks = "a repository" if not repo else "a commit or a ref"
    return (
        f"the upstream in the Kptfile lacks {lacks}",
        "Write repo, directory and ref into `upstream.git`, and the commit into `upstreamLock.git`",
    )


def no_host(host: str) -> Problem:
    """A host that no address is known of."""
    return f"the host {host} cannot be resolved", "Check its spelling"


def private(host: str) -> Problem:
    """A host in a network that is not the public one."""
    return (
        f"{host} is not in the public network, and porchbot does not fetch from other networks",
        "Ask the operator of the bot to allow it with PORCHBOT_UPSTREAM_PRIVATE",
    )


def plain_http(host: str) -> Problem:
    """An address without TLS."""
    return f"{host} would be contacted over http, without TLS", "Write the address with https://"


def no_ssh(host: str) -> Problem:
    """No keys of hosts, by which ssh could tell that a host is the right one."""
    return (
        f"{host} cannot be reached by ssh, because no host keys are configured",
        "Write the address with https://, or ask the operator to set PORCHBOT_UPSTREAM_KNOWN_HOSTS",
    )


def redirects(host: str, to: str) -> Problem:
    """Addresses that lead on without end, or to nowhere."""
    return (
        f"{host} redirects to {to!r}, which is not followed",
        "Write the address that it redirects to",
    )


def redirected(host: str, to: str, problem: str) -> str:
    """A problem with where an address leads to."""
    return f"{host} redirects to {to}: {problem}"


def unreachable(place: str, reason: str) -> Problem:
    """A repository that cannot be asked."""
    return (
        f"{place} cannot be fetched: {reason}",
        "Check the address, and whether the repository is still there",
    )


def no_repository(place: str) -> Problem:
    """A repository that is not there, or that nobody lets us see."""
    return (
        f"{place} does not exist, or may not be read",
        "Check the address; for a private repository ask the operator to set credentials for it",
    )


def unserved(package: str, repository: str) -> Problem:
    """A package in a repository that is not served, as far as whoever asks may see."""
    return (
        f"{repository} with the package {package or '.'} is not known here: porchbot does not serve"
        " it, or its forge does not say now that the person who asks may read it",
        "Check the name, install porchbot there, or write the address of the repository with //"
        " before the path; for a variant, that repository must list yours in `upstreams.share`, by"
        " its number if another repository had that name before",
    )


def no_more(ref: str, place: str, reason: str) -> Problem:
    """A revision that was withdrawn, and why, in the words of whoever did."""
    return f"{place} has no {ref} any more: it was withdrawn ({reason})", "Name another revision"


def no_version(ref: str, place: str, *, served: bool = False) -> Problem:
    """A ref that is not there; in one that is `served`, a folder may be meant as a repository."""
    check = "Check the path and the version; it may have been deleted or renamed"
    if served:
        check += (
            ". A repository that porchbot does not serve, or that the person who asks may not read,"
            " is taken for a folder"
        )
    return f"{place} has no tag, branch or commit {ref!r}", check


def no_commit(commit: str, place: str) -> Problem:
    """A commit that is not there any more."""
    return (
        f"{place} has no commit {commit[:12]} any more: its branch was rewritten, or is gone",
        "Name a tag or branch that is there now; if `upstreamLock.git` of a Kptfile names the"
        " commit, upgrade that package with `--strategy` copy-merge or force-delete-replace",
    )


def names_no_commit(name: str, place: str) -> Problem:
    """A tag that names something else than a commit."""
    return (f"{name} of {place} names no commit", "Name another tag, a branch or a commit")


def no_draft(workspace: str, package: str) -> Problem:
    """A draft that nothing was published from."""
    return (
        f"no revision of {package} was published from the draft {workspace!r}",
        "Name another draft as `workspaceName`, or a revision",
    )


def no_revision(place: str) -> Problem:
    """A package without a release that may be used."""
    return (
        f"{place} has no revision that is published and may be used",
        "Name a tag, branch or commit after the @",
    )


def unpublished(place: str, number: int, moved: bool) -> Problem:
    """A revision by number that is tagged, and that nobody published.

    Args:
        place: The package, with its repository.
        number: The number of the revision.
        moved: It was published, and its tag names something else by now.
    """
    how = "its tag was moved since" if moved else "somebody pushed its tag past porchbot"
    return (
        f"v{number} of {place} is not what was published: {how}, so no approval is known",
        "Name latest or a revision that was published, or publish the change there with porchbot",
    )


def not_published(shown: str) -> str:
    """A revision that a rule names and nobody published, for a title.

    Args:
        shown: As "net/core@v2".
    """
    return f"{shown}, which porchbot did not publish"


def named_like_revision(place: str, name: str) -> Problem:
    """A branch, or a tag of another folder, whose name reads like a revision of the package.

    Args:
        place: The package, with its repository.
        name: Of the branch or tag.
    """
    return (
        f"{name} is no revision of {place} but a branch or another tag with such a name",
        "Name latest or a revision that was published, or the commit that you mean",
    )


def no_folder(path: str, place: str, ref: str) -> Problem:
    """A folder that is not there."""
    return f"{place} has no folder {path!r} at {ref}", "Check the path of the package"


def too_large(place: str, why: str) -> Problem:
    """More than a package may hold."""
    return f"{place} is too large: {why}", "Split the package, or name a smaller folder"


def too_much(place: str, most: int) -> Problem:
    """A repository that sends more than is taken."""
    return (
        f"{place} sent more than {most // 1024**2} MiB, or what takes too much memory to unpack",
        "Take the package from a repository with fewer or smaller files",
    )


def not_whole(reason: str) -> Problem:
    """A repository that did not give all that was asked for."""
    return f"what was fetched is not whole: {reason}", "Try again, or check the host"


def too_slow(place: str, seconds: float) -> Problem:
    """A repository that does not answer in time."""
    return f"{place} did not answer within {seconds:g} s", "Try again, or check the host"


def not_allowed(place: str, *, by_default: bool = False) -> Problem:
    """An upstream that the configuration does not allow.

    Args:
        place: Its repository, which whoever asks may not be able to read.
        by_default: Nothing is listed, so that all may be used that porchbot serves: this one it
            does not serve, or whoever asks may not read it, and must not learn which.
    """
    fix = "Add it to `upstreams.allow`, or take the package from one that is allowed"
    if by_default:
        fix += (
            ". A repository that porchbot serves needs no entry: the person who asks must be able"
            " to read it; for a variant, it must list this one in `upstreams.share`"
        )
    return f"`upstreams` in .porchbot.yaml of the base branch does not allow {place}", fix


def not_read(place: str) -> Problem:
    """A repository that a command was not told to read."""
    return f"{place} is not among the repositories that are read", "Name it with --repository"


def not_told_of(place: str) -> Problem:
    """A repository of which not everybody may learn who can read this one."""
    return f"{place} is not read to predict conflicts", "Run the upgrade to see its result"


def listed_upstream(name: str, state: str) -> str:
    """Why a rollback is offered, as the reason in its command.

    Args:
        name: What the package was made from, such as "net/core@v3".
        state: What the ledger there says of it.
    """
    return f"its upstream {name} is {state}"
