"""Which upstreams a configuration lets be used."""

import pytest

from lifecycle.policy import Policy, UpstreamPolicy
from lifecycle.upstreams.locations import locate
from lifecycle.upstreams.use import may_use


def policy(*allow: str, above: Policy | None = None) -> Policy:
    return Policy(upstream_use=UpstreamPolicy(allow=allow), above=above)


WITHOUT = Policy()
ACME = policy("github.com/acme/*")
RULES: dict[str, tuple[Policy, str, bool, bool]] = {
    "what is served, without a list": (WITHOUT, "github.com/acme/x", True, True),
    "nothing else, without a list": (WITHOUT, "github.com/acme/x", False, False),
    "what the list names": (ACME, "github.com/acme/x", False, True),
    "what it names in other letters": (ACME, "GitHub.com/Acme/x", False, True),
    "nothing beside the list, served or not": (ACME, "github.com/other/x", True, False),
    "no longer name that begins so": (ACME, "github.com/acme-evil/x", False, False),
    "a list of none": (policy(), "github.com/acme/x", True, False),
    "one repository": (policy("github.com/acme/x"), "github.com/acme/x", False, True),
    "one repository, as an address": (
        policy("https://github.com/acme/x.git"),
        "github.com/acme/x",
        False,
        True,
    ),
    "not the one that is called longer": (
        policy("github.com/acme/x"),
        "github.com/acme/xyz",
        False,
        False,
    ),
    "one folder": (policy("github.com/acme/x/net"), "github.com/acme/x", False, True),
    "not another folder": (policy("github.com/acme/x/other"), "github.com/acme/x", False, False),
    "another port is another host": (ACME, "https://github.com:8443/acme/x", False, False),
    "what the default branch allows, too": (
        policy("github.com/*", above=ACME),
        "github.com/other/x",
        False,
        False,
    ),
}


@pytest.mark.parametrize(("rules", "upstream", "served", "expected"), RULES.values(), ids=RULES)
def test_what_may_be_used(rules: Policy, upstream: str, served: bool, expected: bool) -> None:
    location = locate(upstream)
    assert location is not None
    assert may_use(rules, location, "net/core", served=served) is expected
