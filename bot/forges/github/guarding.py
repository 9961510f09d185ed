"""What guards a repository at GitHub, against what the bot needs: rules of branches and tags.

Pure: from what GitHub tells to what is to be changed, and the exact request that changes it.

Source: https://docs.github.com/rest/repos/rules
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bot.forges.github.http import JSONObject
from bot.forges.marks import spelled
from bot.forges.port import Drift, Mend, RequiredCheck
from lifecycle import globs, names
from lifecycle.facts.checks import PUBLISH

DRAFT = f"{names.DRAFTS}any"
"""A branch like those that drafts are on."""

TAGS = names.tag_ref("**/v*")
"""Release tags, of packages in folders and of one at the top: `**/` stands for none as well."""

_TAG_RULES = frozenset({"creation", "update", "deletion"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """What GitHub tells of one repository.

    Attributes:
        repository: `GET /repos/{owner}/{repo}`.
        app: Number of the App; 0 where the bot is a machine user.
        login: Of the bot.
        required: Branch to the checks that it requires; None where the plan has no such rules.
        signed: Branches that take signed commits only; `DRAFT` stands for drafts.
        direct: Branches whose rulesets require checks and no pull request.
        classic: Branch to its classic protection, as administrators are told it:
            `GET /repos/{owner}/{repo}/branches/{branch}/protection`.
        rulesets: Those of tags, each with its rules; who bypasses them is told to administrators.
        runs_told: The bot may read check runs.
        instance: Name of the bot, where it has one of its own.
    """

    repository: JSONObject
    app: int
    login: str
    required: dict[str, Sequence[RequiredCheck] | None]
    signed: frozenset[str]
    rulesets: Sequence[JSONObject]
    direct: frozenset[str] = frozenset()
    classic: Mapping[str, JSONObject] = field(default_factory=dict)
    runs_told: bool = True
    instance: str = ""

    @property
    def check(self) -> str:
        """The check that a branch has to require."""
        return spelled(PUBLISH, self.instance)

    @property
    def who(self) -> str:
        """The bot, as a rule names it."""
        slug = self.login.removesuffix("[bot]")
        return f"the App {slug}" if self.app else f"a team of {self.login} alone"


def lacking(given: Guarded) -> Iterator[Drift]:
    """What the repository's rules leave open that the bot relies on."""
    name = str(given.repository["full_name"])
    if not given.runs_told:
        yield Drift(
            place=f"{name}, check runs",
            found="the token cannot read them",
            wanted="read access, to see the checks of others that a branch requires",
            fix="Give the token read access to checks (a classic token: the scope repo); until then"
            " proposals to branches that require check runs of others wait",
            harmful=False,
        )
    if any(required is None for required in given.required.values()):
        yield Drift(
            place=f"{name}, a private repository",
            found="this GitHub plan has no draft pull requests, branch rules or tag rules for it",
            wanted="a plan that has them, or a public repository",
            fix="Until then anyone with write access can merge and tag without the bot, which"
            " reports it, and drafts are pull requests whose titles begin with 'Draft: '",
            harmful=False,
        )
        return
    for branch, required in given.required.items():
        yield from _of_branch(given, branch, required or ())
    yield from _of_drafts(given)
    yield from _of_tags(given)


def _of_branch(given: Guarded, branch: str, required: Sequence[RequiredCheck]) -> Iterator[Drift]:
    name, page = str(given.repository["full_name"]), _rules_page(given)
    source = given.app or None
    # A check of that name by another bot of the same App is none of ours.
    ours = [
        each.source
        for each in required
        if each.name == PUBLISH and (each.ours or each.source not in (None, source))
    ]
    if source not in ours:
        loose = None in ours
        whose = f" from {given.who}" if given.app else ", which is set as a commit status"
        yield Drift(
            place=f"{name}, branch {branch}",
            found=f"{given.check} is accepted from any App"
            if loose
            else f"{given.check} is not required",
            wanted=f"a rule that requires the status check {given.check}{whose}",
            fix=f"At {page} add a branch ruleset for {branch} with it, and an empty bypass list",
            mend=Mend("POST", _rulesets(given), branch_ruleset(branch, given.app, given.check)),
        )
    if others := sorted({each for each in ours if each not in (None, source)}):
        yield Drift(
            place=f"{name}, branch {branch}",
            found=f"{given.check} is required from another App (App ID {others[0]})",
            wanted=f"the source {given.who}" if given.app else "any source",
            fix=f"Change the source of that check at {page}; nothing is merged until then",
        )
    classic = given.classic.get(branch, {})
    yield from _of_classic(given, branch, classic)
    if branch in given.direct and not classic.get(_REVIEWS):
        yield Drift(
            place=f"{name}, branch {branch}",
            found="its rulesets require checks and no pull request, so a commit with green checks"
            " can be pushed there"
            + ("" if classic else "; its classic protection is not told to the bot"),
            wanted="a rule that requires a pull request, with 0 approvals or more",
            fix=f"At {page} add *Require a pull request before merging* to the ruleset of {branch},"
            " unless its classic branch protection has it",
            harmful=False,
        )
    if branch in given.signed:
        yield Drift(
            place=f"{name}, branch {branch}",
            found="only signed commits are accepted",
            wanted="no change",
            fix="GitHub signs the bot's merges; people have to sign what they push",
            harmful=False,
        )


def _of_classic(given: Guarded, branch: str, classic: JSONObject) -> Iterator[Drift]:
    """Who gets past the classic protection of a branch that is the one to require our check."""
    checks = classic.get("required_status_checks") or {}
    named = {str(each.get("context")) for each in checks.get("checks") or ()}
    if given.check not in named | {str(each) for each in checks.get("contexts") or ()}:
        return
    place = f"{given.repository['full_name']}, classic protection of {branch}"
    page = f"{given.repository['html_url']}/settings/branches"
    if not (classic.get("enforce_admins") or {}).get("enabled"):
        yield Drift(
            place=place,
            found="administrators, and people with a role that bypasses it, are not bound by it",
            wanted="nobody past the check",
            fix=f"Select *Do not allow bypassing the above settings* at {page}",
            harmful=False,
        )
    if past := _past(classic.get(_REVIEWS) or {}):
        yield Drift(
            place=place,
            found=f"these may push to it without a pull request: {', '.join(past)}",
            wanted="an empty list",
            fix="Empty the list *Allow specified actors to bypass required pull requests* at"
            f" {page}",
            harmful=False,
        )
    if (classic.get("allow_force_pushes") or {}).get("enabled"):
        yield Drift(
            place=place,
            found="force pushes are allowed, which can remove what was published",
            wanted="no force pushes",
            fix=f"Clear *Allow force pushes* at {page}",
            harmful=False,
        )


_REVIEWS = "required_pull_request_reviews"


def _past(reviews: JSONObject) -> list[str]:
    """Who is on the bypass list of required pull requests, sorted."""
    listed = reviews.get("bypass_pull_request_allowances") or {}
    found = [f"@{each['login']}" for each in listed.get("users") or ()]
    found += [f"team {each['slug']}" for each in listed.get("teams") or ()]
    found += [f"the App {each['slug']}" for each in listed.get("apps") or ()]
    return sorted(found)


def _of_drafts(given: Guarded) -> Iterator[Drift]:
    """Render commits are pushed to drafts: what signs them there."""
    if DRAFT not in given.signed:
        return
    place = f"{given.repository['full_name']}, draft branches"
    found = "signed commits are required"
    if given.app:
        yield Drift(
            place=place,
            found=found,
            wanted="no change",
            fix="Where a push is refused for this reason, the bot makes the commit through the API"
            " and GitHub signs it",
            harmful=False,
        )
    else:
        yield Drift(
            place=place,
            found=found,
            wanted="the bot's render commits to be accepted, which GitHub signs only for an App",
            fix=f"Exclude {names.DRAFTS}** from that rule at {_rules_page(given)}",
        )


def _of_tags(given: Guarded) -> Iterator[Drift]:
    name, page = str(given.repository["full_name"]), _rules_page(given)
    us = ("Integration", given.app)
    yield from _of_other_tags(given, us)
    whole = [each for each in given.rulesets if _holds_for_all_tags(each)]
    if whole and not given.app:
        return  # which team holds a machine user alone, nobody is told
    # Of one that does not tell who passes, the best is believed.
    bypasses = [_bypass(each, us) for each in whole]
    for ruleset, there in zip(whole, bypasses, strict=True):
        others, missing = len(there - {us}), us not in there
        # All of them hold: who is on the list of one is stopped by another.
        if missing or (others and {us} not in bypasses):
            yield Drift(
                place=f"{name}, tag ruleset {ruleset['name']!r}",
                found="the App is not on its bypass list"
                if missing
                else f"others than the App on its bypass list: {others}",
                wanted=f"a bypass list with {given.who} only",
                fix=f"Set its bypass list to {given.who} at {page}",
                harmful=missing,
            )
    if whole:
        return
    yield Drift(
        place=f"{name}, release tags",
        found="anyone with write access can create, move and delete them",
        wanted=f"a rule that allows this only to {given.who}",
        fix=f"At {page} add a tag ruleset for **/v* that restricts creations, updates and"
        f" deletions, with only {given.who} on its bypass list",
        mend=Mend("POST", _rulesets(given), tag_ruleset(given.app)) if given.app else None,
    )


def _holds_for_all_tags(ruleset: JSONObject) -> bool:
    """Whether nobody but who bypasses it makes, moves or deletes a release tag."""
    rules = {str(rule["type"]) for rule in ruleset.get("rules") or ()}
    named = (ruleset.get("conditions") or {}).get("ref_name") or {}
    includes = {TAGS, "~ALL"} & {*named.get("include", ())}
    is_whole = bool(includes) and not named.get("exclude") and rules >= _TAG_RULES
    return is_whole and ruleset.get("enforcement") == "active"


def _bypass(ruleset: JSONObject, us: tuple[str, int]) -> set[tuple[object, object]]:
    """Who passes a ruleset by kind and number; us alone where GitHub does not tell."""
    actors = ruleset.get("bypass_actors")
    return {us} if actors is None else {(a.get("actor_type"), a.get("actor_id")) for a in actors}


def _of_other_tags(given: Guarded, us: tuple[str, int]) -> Iterator[Drift]:
    """Rules that keep the bot from making some release tags, whatever others let it: all hold."""
    for ruleset in given.rulesets:
        rules = {str(rule["type"]) for rule in ruleset.get("rules") or ()}
        is_on = ruleset.get("enforcement") == "active" and "creation" in rules
        if not is_on or _holds_for_all_tags(ruleset) or not given.app:
            continue  # what restricts all of them is told by itself
        named = (ruleset.get("conditions") or {}).get("ref_name") or {}
        if us not in _bypass(ruleset, us) and any(
            _is_meant(named.get("include"), tag) and not _is_meant(named.get("exclude"), tag)
            for tag in _SOME_TAGS
        ):
            yield Drift(
                place=f"{given.repository['full_name']}, tag ruleset {ruleset['name']!r}",
                found="it restricts who creates release tags, and its bypass list lacks the App",
                wanted=f"a bypass list with {given.who}",
                fix=f"Add {given.who} to its bypass list at {_rules_page(given)}; until then"
                " nothing that it holds for is published",
            )


_SOME_TAGS = tuple(names.tag_ref(each) for each in ("v1", "core/v1", "net/core/v1"))
"""Like release tags, of a package at the top and in folders."""


def _is_meant(patterns: Sequence[str] | None, tag: str) -> bool:
    """Whether a tag is one that a ruleset includes, or excludes; GitHub reads them as Ruby does."""
    return any(
        each == "~ALL" or globs.matches(globs.parts(each), tag.split("/"))
        for each in map(str, patterns or ())
    )


_BY_PULL_REQUEST: JSONObject = {
    "required_approving_review_count": 0,
    "dismiss_stale_reviews_on_push": False,
    "require_code_owner_review": False,
    "require_last_push_approval": False,
    "required_review_thread_resolution": False,
}
"""Who approves is for `access`; GitHub wants each of these."""


def branch_ruleset(branch: str, app: int, check: str = PUBLISH) -> JSONObject:
    """A ruleset by which nothing comes into a branch but by a pull request with the bot's check.

    Args:
        branch: Its name.
        app: Who has to report the check; 0 for anybody.
        check: Its name.
    """
    checks = [{"context": check} | ({"integration_id": app} if app else {})]
    return {
        "name": f"porchbot: {branch}",
        "target": "branch",
        "enforcement": "active",
        "conditions": {"ref_name": {"include": [names.branch_ref(branch)], "exclude": []}},
        "rules": [
            {"type": "deletion"},
            {"type": "non_fast_forward"},
            # Else what has a green check could be pushed there past every pull request.
            {"type": "pull_request", "parameters": _BY_PULL_REQUEST},
            {
                "type": "required_status_checks",
                "parameters": {
                    "strict_required_status_checks_policy": False,
                    "required_status_checks": checks,
                },
            },
        ],
        "bypass_actors": [],
    }


def tag_ruleset(app: int) -> JSONObject:
    """A ruleset by which the App alone makes, moves and deletes release tags."""
    return {
        "name": "porchbot: release tags",
        "target": "tag",
        "enforcement": "active",
        "conditions": {"ref_name": {"include": [TAGS], "exclude": []}},
        "rules": [{"type": each} for each in sorted(_TAG_RULES)],
        "bypass_actors": [{"actor_id": app, "actor_type": "Integration", "bypass_mode": "always"}],
    }


def _rulesets(given: Guarded) -> str:
    return f"/repositories/{int(given.repository['id'])}/rulesets"


def _rules_page(given: Guarded) -> str:
    return f"{given.repository['html_url']}/settings/rules"
