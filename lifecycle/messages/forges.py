"""What is said otherwise on another forge than GitHub: its terms, and whole phrases."""

from collections.abc import Mapping
from typing import Final

from lifecycle.terms import Terms

GITLAB_PHRASES: Final[Mapping[str, str]] = {
    # Places and names.
    "base branch": "target branch",
    "merge queue": "merge train",
    "an administrator": "a Maintainer",
    "An administrator": "A Maintainer",
    "*Ready for review*": "*Mark as ready*",
    "the App `": "the user `",
    "the App": "the bot",
    # Where things are shown: a status is one line, the summary has the rest.
    " The check shows each one at its line.": " Each one stands at its line.",
    "the check `porchbot/render` shows": "`porchbot/render` in the summary shows",
    "the check has all of it as a patch": "the summary has all of it as a patch",
    # Reviews and threads.
    "*Files changed → Review changes → Approve*; `/approve` does not count as a review": (
        "the button *Approve*; `/approve` counts for the bot alone"
    ),
    "their approval, or a dismissal of the review": (
        "their approval, or their request for changes taken back, by a new review or by taking"
        " them off the reviewers"
    ),
    "every conversation resolved; then": (
        "every thread resolved (*All threads must be resolved* is set for this project); then"
    ),
    "the reviews that the branch's rules require": (
        "the approvals that the project's approval rules require, and no reviewer who requests"
        " changes"
    ),
    # Merging.
    "the checks that the branch's rules require": (
        "a pipeline that succeeds, with every status of this commit (*Pipelines must succeed* is"
        " set for this project); see the tab *Pipelines*"
    ),
    "the base branch merged into this one": (
        "the target branch merged into this one, by `/rebase`, or this one rebased onto it"
    ),
    "check the App's permissions and who may push to the branch;": (
        "check the bot's role in the project, and *Allowed to merge* under *Settings → Repository"
        " → Protected branches*;"
    ),
    "merge past this check: as a member of the bypass list of the branch's ruleset, or with *Do not"
    " allow bypassing* turned off in its protection": (
        "turn off *Pipelines must succeed* for as long as it takes to merge this"
    ),
    "*Settings → Rules → Rulesets → New branch ruleset*, target ": (
        "*Settings → Merge requests → Merge checks → Pipelines must succeed*; a merge into "
    ),
    ", *Require status checks to pass*, add `": " then waits for every status, also for `",
    " (for a private repository, GitHub has rulesets on paid plans only).": ".",
    " out of that rule: *Settings → Rules → Rulesets*.": (
        " out of what is protected, or turn off *Pipelines must succeed* for as long as it takes"
        " to merge this."
    ),
    "or the bot removed from the rule's bypass list, so that GitHub says what is missing": (
        "or the bot taken off those who may go around it, so that GitLab says what is missing"
    ),
    # Tags.
    "*Settings → Rules → Rulesets*, the bot's App in the bypass list of each ruleset that restricts"
    " deletions of these tags": (
        "*Settings → Repository → Protected tags*, the bot's role among those allowed to create"
        " them, which is what deleting one takes"
    ),
    # What the bot may do.
    "it was given before the App was installed": "it was given before the bot was let in",
    "grant it the organization permission *Members: Read-only*": "make it a member of the group",
    "the team does not exist, or the App cannot see it": (
        "the group does not exist, or the bot cannot see it"
    ),
    "grant the App the permission Issues (read and write)": (
        "give the bot a role that may edit issues"
    ),
    "install the App in that repository or make it public": (
        "make the bot a member of that project or make it public"
    ),
    # Onboarding.
    "an administrator should require, under Settings → Rules:": (
        "a Maintainer should set, under *Settings*:"
    ),
    "a branch ruleset for ": (
        "*Merge requests → Merge checks*: *Pipelines must succeed* and *All threads must be"
        " resolved*. A merge into "
    ),
    " with the status check ": " then waits for the status ",
    " from the App ": " of the user ",
    ", and an empty bypass list;": ";",
    "a tag ruleset for ": "*Repository → Protected tags*: ",
    " that restricts creations, updates and deletions, with ": (
        ", allowed to create for no role but that of "
    ),
    " alone in the bypass list.": ".",
    "`**/v*`": "`*/v*`",
}
"""Phrases of ours, and what they are on GitLab.

Source: https://docs.gitlab.com/user/project/merge_requests/auto_merge/
https://docs.gitlab.com/user/project/protected_tags/
"""

GITLAB_ROLES: Final[Mapping[str, str]] = {
    "read access": "the Reporter role",
    "triage access": "the Developer role",
    "write access": "the Developer role",
    "maintain access": "the Maintainer role",
    "admin access": "the Owner role",
}
"""What our roles are on GitLab, which has none between reading and pushing.

Source: https://docs.gitlab.com/user/permissions/
"""


def gitlab(login: str, proposals: str) -> Terms:
    """Return GitLab's terms.

    Args:
        login: The bot's: commands are addressed to it, since `/approve` and others at the start of
            a line are GitLab's own.
        proposals: Address of the project's merge requests, without a slash at its end, such as
            "https://gitlab.example.org/acme/blueprints/-/merge_requests".

    Source: https://docs.gitlab.com/user/project/quick_actions/
    """
    return Terms(
        forge="GitLab",
        noun="merge",
        sigil="!",
        command=f"@{login} ",
        bot=login,
        proposals=proposals,
        changes="/diffs",
        roles=GITLAB_ROLES,
        phrases=GITLAB_PHRASES,
    )
