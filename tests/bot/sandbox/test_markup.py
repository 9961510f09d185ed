"""Text of people and packages becomes HTML that can do no harm; diffs get their line numbers."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.sandbox.pages.markup import MOST_PATCH, CheckAnnotation, Side, markdown, shown_diff

PATCH = """@@ -1,3 +1,4 @@ kind: Service
 apiVersion: v1
-kind: Pod
+kind: Service
+metadata: {}
 spec: {}
\\ No newline at end of file"""


class TestMarkdown:
    @pytest.mark.parametrize(
        "text",
        [
            "<script>alert(1)</script>",
            "a <b onclick=alert(1)>b</b>",
            "<details onclick=alert(1)>",
            "<img src=x onerror=alert(1)>",
            "<!-- x --><script>alert(1)</script>",
            "<!-- a --> <!-- never closed <script>",
            "<scr<!-- -->ipt>alert(1)</scr<!-- -->ipt>",
            "![x](https://elsewhere.example/x.png)",
            '![x" onerror="alert(1)](https://elsewhere.example/x.png)',
            "[x](javascript:alert(1))",
            "`<script>`",
        ],
    )
    def test_nothing_comes_through_as_markup(self, text: str) -> None:
        """Short-cut: strip comments first and trust the rest; taking one out can make a tag."""
        html = str(markdown(text))
        assert not re.search(r"<(script|img|b)\b", html)
        assert not re.search(r"<[^>]*\son\w+=", html)
        assert 'href="javascript:' not in html

    def test_comments_are_hidden_and_text_around_them_is_not(self) -> None:
        html = str(markdown("before <!-- record --> after\n\n<!-- x\n\ny -->\n\nend"))
        assert "record" not in html
        assert all(word in html for word in ("before", "after", "end"))

    def test_details_and_tables_work(self) -> None:
        html = str(
            markdown("<details><summary>2 changes</summary>\n\n| a |\n| - |\n| 1 |\n\n</details>")
        )
        assert "<details><summary>2 changes</summary>" in html
        assert "<td>1</td>" in html

    def test_a_mention_is_marked_but_not_in_code(self) -> None:
        html = str(markdown("@ann and `@bob` and a@example.org"))
        assert html.count('class="mention"') == 1

    @given(st.text(alphabet="<>!-/=\"'`[]()abdetils scrp\n@", max_size=80))
    def test_only_known_tags_come_out(self, text: str) -> None:
        known = (
            "p|h[1-6]|em|strong|s|code|pre|blockquote|ul|ol|li|hr|br|a|span|table|thead|tbody|tr"
            "|th|td|details|summary|sub|sup"
        )
        for tag in re.findall(r"<[^>]*>", str(markdown(text))):
            assert re.match(rf"</?({known})( /)?(\s[^>]*)?>\Z", tag)
            if " on" in tag:
                # Inside a quoted attribute, where it does nothing.
                assert not re.search(r"\son\w+=", re.sub(r'"[^"]*"', '""', tag))


class TestDiff:
    def test_lines_carry_both_numbers(self) -> None:
        lines = shown_diff("a.yaml", PATCH).lines
        assert [(line.side, line.old, line.new) for line in lines] == [
            (Side.HUNK, None, None),
            (Side.SAME, 1, 1),
            (Side.REMOVED, 2, None),
            (Side.ADDED, None, 2),
            (Side.ADDED, None, 3),
            (Side.SAME, 3, 4),
            (Side.HUNK, None, None),
        ]
        assert (shown_diff("a.yaml", PATCH).added, shown_diff("a.yaml", PATCH).removed) == (2, 1)

    def test_an_annotation_stands_at_its_new_line(self) -> None:
        """Short-cut: match the number on either side; the removed line 2 would show it too."""
        note = CheckAnnotation(
            check="c", path="a.yaml", line=2, level="failure", message="no such kind"
        )
        far = CheckAnnotation(check="c", path="a.yaml", line=90, level="notice", message="far")
        other = CheckAnnotation(check="c", path="b.yaml", line=2, level="notice", message="other")
        diff = shown_diff("a.yaml", PATCH, [far, note, other])
        assert [line.text for line in diff.lines if line.notes] == ["kind: Service"]
        assert diff.elsewhere == (far,)
        assert diff.notes == 2

    def test_a_very_large_patch_is_not_shown(self) -> None:
        long = "@@ -0,0 +1 @@\n" + "+x\n" * MOST_PATCH
        assert shown_diff("a.yaml", long).lines == ()
        assert shown_diff("logo.png", None).lines == ()
