"""Patterns for paths of files."""

import pytest

from fnrunner.builtin import globs

FITS = {
    ("*.yaml", "a.yaml"): True,
    ("*.yaml", "b/a.yaml"): False,
    ("**/*.yaml", "a.yaml"): True,
    ("**/*.yaml", "c/b/a.yaml"): True,
    ("c/**", "c/b/a.yaml"): True,
    ("c/**", "c"): True,
    ("c/**", "cc/a"): False,
    ("c/**/a", "c/a"): True,
    ("c/**/a", "c/x/y/a"): True,
    ("c/**/a", "c/xa"): False,
    ("**", "a/b"): True,
    ("a**", "ab"): True,
    ("a**", "a/b"): False,
    ("a?c", "abc"): True,
    ("a?c", "a/c"): False,
    ("a[b-d]", "ac"): True,
    ("a[!b]", "ab"): False,
    ("a[^b]", "ac"): True,
    ("a[^b]", "a/"): False,
    ("a[]]", "a]"): True,
    ("{a,b/**}/c", "b/x/c"): True,
    ("{a,b}/c", "b/c"): True,
    ("{a,b}/c", "c/c"): False,
    ("{a,{b,c}}", "c"): True,
    (r"\*", "*"): True,
    (r"\*", "a"): False,
    ("a.b", "axb"): False,
    ("a|b", "a"): False,
    ("", ""): True,
}


@pytest.mark.parametrize(("names", "wanted"), FITS.items(), ids=map(str, FITS))
def test_paths_fit(names: tuple[str, str], wanted: bool) -> None:
    """Short-cut: fnmatch, whose `*` goes through folders."""
    pattern, path = names

    assert bool(globs.compiled(pattern).fullmatch(path)) is wanted


@pytest.mark.parametrize("pattern", ["[a", "{a", "a\\", "[]", "[b-a]"])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="syntax error in pattern"):
        globs.compiled(pattern)
