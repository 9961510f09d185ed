"""Access levels: ours in a project, as the project tells it, and those of its members.

Source: https://docs.gitlab.com/api/access_requests/#valid-access-levels
"""

from datetime import date

from bot.forges.gitlab.http import JSONObject

DEVELOPER = 30
"""From here on somebody may push."""


def level_of(project: JSONObject) -> int:
    """Our access level in a project, by itself or by its group; 0 for none."""
    given = (project.get("permissions") or {}).values()
    return max((int(each["access_level"]) for each in given if each), default=0)


def of_member(member: JSONObject, today: date) -> int:
    """The access level of a membership; 0 for one that waits for a seat, or has ended.

    GitLab removes what has ended in the night, and lists it until then.

    Args:
        member: Of a project or group, as GitLab tells it; an account alone is none.
        today: At the forge.

    Source: https://docs.gitlab.com/api/project_members/, `membership_state` and `expires_at`
    """
    ends = member.get("expires_at")
    if str(member.get("membership_state") or "active") != "active":
        return 0
    if ends and date.fromisoformat(str(ends)[:10]) <= today:
        return 0
    return int(member.get("access_level") or 0)
