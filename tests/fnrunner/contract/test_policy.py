"""Which images a pattern means, and which hosts may be asked for them."""

import pytest

from fnrunner.contract.errors import FunctionRefusedError
from fnrunner.contract.policy import RunnerPolicy, fits
from fnrunner.contract.run import Granted, ResourceLimits

ONE = f"sha256:{'1' * 64}"
TWO = f"sha256:{'2' * 64}"

MEANT = [
    ("*", "evil.com/x:v1"),
    ("**", "evil.com/a/b:v1"),
    ("registry.corp/fns/*", "registry.corp/fns/a:v1"),
    ("registry.corp/fns/*", "registry.corp/fns/a/b:v1"),
    ("Registry.corp/fns/*", "registry.CORP/fns/a:v1"),
    ("*.corp/fns/*", "registry.corp/fns/a:v1"),
    ("*.corp/*", "a.b.corp/fns/a:v1"),
    ("registry.corp:*/fns/*", "registry.corp:5000/fns/a:v1"),
    ("*/fns/a", "registry.corp:5000/fns/a:v1"),
    ("registry.corp/fns/a", "registry.corp/fns/a:v1"),
    ("registry.corp/fns/a:v1", "registry.corp/fns/a:v1"),
    ("docker.io/team/*", "team/a:v1"),
    ("team/*", "team/a:v1"),
    ("audit", "audit"),
]
NOT_MEANT = [
    ("*.corp/fns/*", "evil.com/x.corp/fns/y:v1"),
    ("*.corp/fns/*", "evil.com:5000/x.corp/fns/y:v1"),
    ("registry*corp/fns/*", "registry.evil.com/corp/fns/y:v1"),
    ("registry?corp/fns/*", "registry/corp/fns/y:v1"),
    ("registry[.-/]corp/*", "registry/corp/y:v1"),
    ("*/fns/*", "evil.com/deep/fns/y:v1"),
    ("*/fns/a", "team/fns/a:v1"),
    ("*corp", "evil.com/corp"),
    ("gcr.io*", "gcr.io.evil.com/x:v1"),
    ("registry.corp/fns/*", "registry.corp.evil.com/fns/a:v1"),
    ("registry.corp/fns/*", "registry.corp:5000/fns/a:v1"),
    ("registry/fns/*", "registry.evil/fns/a:v1"),
    ("*.corp/fns/a:v1", "evil.com/x.corp/fns/a:v1"),
    (f"*.corp/fns/*@{ONE}", f"evil.com/x.corp/fns/y@{ONE}"),
    ("reg*/fns/*", "registry/fns/a:v1"),
]


@pytest.mark.parametrize(("pattern", "image"), MEANT)
def test_what_a_pattern_means(pattern: str, image: str) -> None:
    assert fits(pattern, image)


@pytest.mark.parametrize(("pattern", "image"), NOT_MEANT)
def test_a_star_in_the_host_ends_with_the_host(pattern: str, image: str) -> None:
    """Short-cut: hold the whole name against the whole pattern, whose star then means "/" too."""
    assert not fits(pattern, image, ONE)
    with pytest.raises(FunctionRefusedError, match="not among the functions allowed"):
        RunnerPolicy(allow=(pattern,)).check_host(image, named=True)


def test_what_is_granted_goes_by_the_same_patterns() -> None:
    """Short-cut: mend the list of allowed images alone; variables hold secrets."""
    policy = RunnerPolicy(grants=(("*.corp/fns/*", Granted(environment={"TOKEN": "secret"})),))

    assert policy.granted("registry.corp/fns/a:v1").environment
    assert not policy.granted("evil.com/x.corp/fns/a:v1").environment


ASKED = [
    (("registry.corp/*",), "registry.corp/a:v1", False),
    ((f"registry.corp/a@{ONE}",), "registry.corp/a:v1", False),
    ((f"registry.corp/a@{ONE}",), f"registry.corp/a@{ONE}", False),
    ((ONE, "registry.corp/fns/*"), "registry.corp/other/a:v1", False),
    ((ONE, "registry.corp/fns/*"), f"registry.corp/other/a@{ONE}", False),
    ((ONE,), "registry.corp/a:v1", True),
    ((ONE,), f"registry.corp/a@{ONE}", True),
    ((ONE, "*"), "evil.com/a:v1", False),
]
NOT_ASKED = [
    (
        (ONE,),
        "evil.com/a:v1",
        False,
        "its registry evil.com is not among the registries allowed here",
    ),
    (
        (ONE,),
        f"evil.com/a@{ONE}",
        False,
        "its registry evil.com is not among the registries allowed here",
    ),
    ((ONE, "registry.corp/*"), "evil.com/a:v1", False, "its registry evil.com is not among"),
    ((ONE, "*.corp/*"), "evil.com/x.corp/a:v1", False, "its registry evil.com is not among"),
    ((f"registry.corp/a@{ONE}",), "evil.com/a:v1", True, "not among the functions allowed"),
    ((f"registry.corp/a@{ONE}",), f"registry.corp/a@{TWO}", True, "not among the functions"),
    ((ONE, "registry.corp/*"), f"evil.com/a@{TWO}", True, "not among the functions allowed"),
    ((), "registry.corp/a:v1", True, "not among the functions allowed"),
]


@pytest.mark.parametrize(("allow", "image", "named"), ASKED)
def test_which_hosts_are_asked(allow: tuple[str, ...], image: str, named: bool) -> None:
    RunnerPolicy(allow=allow).check_host(image, named=named)


@pytest.mark.parametrize(("allow", "image", "named", "said"), NOT_ASKED)
def test_no_other_host_is_asked(allow: tuple[str, ...], image: str, named: bool, said: str) -> None:
    """Short-cut: ask any host as soon as a digest is listed, since its name may mean that."""
    with pytest.raises(FunctionRefusedError, match=said):
        RunnerPolicy(allow=allow).check_host(image, named=named)


def test_nobody_is_granted_more_than_the_runner_can_hand_on() -> None:
    """Short-cut: hear out 64 MiB, to refuse what is over 6."""
    large = Granted(bounds=ResourceLimits(seconds=600.0))
    policy = RunnerPolicy(usual=large, grants=(("a", large),)).within(1000, 10.0)
    for image in ("a", "b"):
        bounds = policy.granted(image).bounds
        assert (bounds.output_bytes, bounds.seconds) == (1000, 9.9)
