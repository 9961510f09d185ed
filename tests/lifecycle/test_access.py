"""Roles as a forge tells them."""

import pytest

from lifecycle.access import Role

ANSWERS: dict[str, tuple[str, str, Role]] = {
    "maintain is told as write": ("write", "maintain", Role.MAINTAIN),
    "triage is told as read": ("read", "triage", Role.TRIAGE),
    "plain write": ("write", "write", Role.WRITE),
    "admin": ("admin", "admin", Role.ADMIN),
    "an outsider of a private repository": ("none", "", Role.NONE),
    "a role of the organisation's own counts as its base": ("write", "release-crew", Role.WRITE),
    "a role of one's own that is called admin": ("read", "admin", Role.READ),
    "no permission, whatever the name": ("none", "admin", Role.NONE),
    "an answer of tomorrow": ("superuser", "superuser", Role.NONE),
    "capitals": ("Write", "Maintain", Role.MAINTAIN),
}


@pytest.mark.parametrize(("permission", "name", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_roles_are_read_from_the_forge(permission: str, name: str, expected: Role) -> None:
    assert Role.read(permission, name) is expected
