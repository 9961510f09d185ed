"""Names of images: which are well formed, and what a short one stands for."""

from cadlib import images


def test_short_names_come_from_the_catalog() -> None:
    """The short-cut is to look for ":" anywhere, which takes a port for a tag."""
    assert images.resolve_image("set-labels") == (
        "ghcr.io/kptdev/krm-functions-catalog/set-labels:latest"
    )
    assert images.resolve_image("localhost:5000/a") == "localhost:5000/a:latest"
    assert images.resolve_image("a:v1", "x.io/y/") == "x.io/y/a:v1"


def test_a_long_image_name_is_refused_at_once() -> None:
    assert not images.is_image("a-" * 100_000)


def test_names_without_the_cases() -> None:
    """What the public cases show, in short, for a checkout that stands alone."""
    good = ("a", "a:v1.3_beta", "a.b.c:1234/foo/bar/x", "e:v0@sha256:" + "a" * 64)
    bad = ("a::@!", "a/a/", "e.com/.dots/i", "Foo/FarB", "a@v1", "", "a:")

    assert [images.is_image(image) for image in (*good, *bad)] == [True] * 4 + [False] * 7


def test_prefixes_without_the_cases() -> None:
    """The short-cut is to look for "://" only."""
    good = ("", "ghcr.io/a/b", "localhost:5000/path/", "My-Host.io/x")
    bad = ("http://r.io/p", "my\tr.io/p", "/", "/a/b", "r.io/p?q=1", "r.io//p", "r.io/P")

    assert [images.is_prefix(prefix) for prefix in (*good, *bad)] == [True] * 4 + [False] * 7


def test_the_repository_of_an_image_keeps_its_port() -> None:
    """The short-cut is to cut at the first ":", as kpt does where it merges Kptfiles."""
    assert [
        images.repository(image)
        for image in ("a", "a:v1", "localhost:5000/x/a", "localhost:5000/x/a:v1@sha256:0", "a@b:c")
    ] == ["a", "a", "localhost:5000/x/a", "localhost:5000/x/a", "a"]
