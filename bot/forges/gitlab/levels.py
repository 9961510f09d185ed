"""Our access level in a project, as the project tells it.

Source: https://docs.gitlab.com/api/access_requests/#valid-access-levels
"""

from bot.forges.gitlab.http import JSONObject

DEVELOPER = 30
"""From here on somebody may push."""


def level_of(project: JSONObject) -> int:
    """Our access level in a project, by itself or by its group; 0 for none."""
    given = (project.get("permissions") or {}).values()
    return max((int(each["access_level"]) for each in given if each), default=0)
