"""Logs: secrets never, whoever writes the line and wherever in it they stand."""

import json
import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bot.forges.gitlab.hooks import INSTANCE, HookSecrets
from bot.logs import MOST_VALUE, Form, Redactor
from tests.counting import assert_seconds_in_proportion

CHECKOUT = Path(__file__).resolve().parents[2]
TOKEN = "ghs_1234_eyJhbGciOiJIUzI1NiJ9.eyJpZCI6MX0.c2lnbmF0dXJl-_x"
RUN = """
import logging, structlog
from bot import logs
logs.configure(["webhook secret"])
log = structlog.get_logger()
header = "Authorization: Basic eC1hY2Nlc3MtdG9rZW46Z2hz"
log.info("line", where={"header": header}, said="webhook secret")
try:
    raise ValueError("TOKEN")
except ValueError:
    log.exception("broke")
    logging.getLogger("a.library").exception("broke too: %s", "webhook secret")
log.info("two\\nlines", number=1)
"""


def test_nothing_that_is_written_holds_a_secret() -> None:
    """The short-cut filters the root logger: what libraries pass up to it goes by unseen."""
    done = subprocess.run(
        [sys.executable, "-c", RUN.replace("TOKEN", TOKEN)],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    )

    written = done.stdout + done.stderr
    for secret in ("webhook secret", "eC1hY2Nlc3M", "eyJhbGci", "c2lnbmF0"):
        assert secret not in written
    assert written.count("[secret]") >= 5
    assert "a.library" in written
    # A line each, and a traceback does not break it.
    assert len(done.stderr.splitlines()) == 4
    assert "two\\nlines" in written
    assert "\\\\n" not in written


AGAIN = """
import structlog
from structlog.testing import capture_logs
from bot import logs
log = structlog.get_logger()
logs.configure()
log.info("begun")
logs.configure(["learnt later"])
log.info("goes on", said="learnt later")
with capture_logs() as lines:
    log.info("looked at")
assert [line["event"] for line in lines] == ["looked at"], lines
"""


def test_a_logger_that_wrote_before_knows_secrets_that_come_later() -> None:
    """The short-cut gives each configuration a list of its own: who logged before keeps the old."""
    done = subprocess.run(
        [sys.executable, "-c", AGAIN], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert "goes on" in done.stderr
    assert "learnt later" not in done.stderr


def test_what_is_no_request_fills_no_log() -> None:
    """Short-cut refused: the server's own line for each, which anybody who connects can cause."""
    code = "import logging; from bot import logs; logs.configure();"
    code += "said = logging.getLogger('uvicorn.error');"
    code += "said.warning('Invalid HTTP request received.'); said.error('it broke')"

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, check=True
    )

    assert (b"Invalid" in done.stderr, b"it broke" in done.stderr) == (False, True)


@pytest.mark.parametrize("form", Form)
def test_no_line_acts_on_a_terminal(form: Form) -> None:
    """Short-cut refused: what `json` escapes, which leaves out what turns text or clears it."""
    evil = "a\x9b2Jb\u202ec\U000e0041d"
    code = f"from bot import logs; logs.configure((), logs.Form('{form}'));"
    code += f"import structlog; structlog.get_logger().info('branch', ref={evil!a})"

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, check=True
    )

    assert done.stderr.isascii()
    assert form is Form.TEXT or json.loads(done.stderr)["ref"] == evil


@pytest.mark.parametrize(
    "secret",
    [
        "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        TOKEN,
        "github_pat_11AAAA_bbbb",
        "glpat-0123456789_-abcdefgh",
        HookSecrets("gitlab", (b"root",)).token(INSTANCE),
        HookSecrets("gitlab", (b"root",)).signing_token(INSTANCE),
        "Bearer eyJhbGciOiJSUzI1NiJ9.e30.x",
        "AUTHORIZATION: basic eC1hY2Nlc3MtdG9rZW46Z2hz",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\\nMIIE\\n-----END PRIVATE KEY-----",
    ],
)
def test_what_looks_like_a_secret_is_taken_out(secret: str) -> None:
    cleaned = Redactor().text(f"before {secret} after")

    assert cleaned.startswith("before ")
    assert cleaned.endswith("[secret] after")
    assert secret.split()[-1] not in cleaned


def test_a_key_that_is_cut_off_goes_to_the_end_of_the_text() -> None:
    """The short-cut asks for the end of the key: what was cut off before it is shown."""
    assert Redactor().text("it is -----BEGIN PRIVATE KEY-----\nMIIEvQ") == "it is [secret]"


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN A",
        "-----END PRIVATE KEY",
        "basic ",
        "ghs_",
        "group-1-",
    ],
)
def test_text_is_cleaned_in_a_time_in_proportion_to_its_length(text: str) -> None:
    """The short-cut looks from each key's beginning for an end: a minute for a name of 256 kB."""
    assert_seconds_in_proportion(lambda size: lambda: Redactor().text(text * size), 150)


def _lines(called: str, form: Form = Form.JSON) -> list[str]:
    """What a program writes that logs with `log`, and `big` at hand: "x" 100,000 times."""
    code = f"import logging, structlog; from bot import logs; big = 'x' * 100_000\n\
logs.configure(['the secret of all'], logs.Form('{form}')); log = structlog.get_logger()\n{called}"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    return done.stderr.splitlines()


LONG = (
    "log.info('made', project=big)",
    "log.info(big)",
    "log.info('made', names=['a', big, big, big])",
    "log.info('made', names=['name'] * 50_000)",
    "log.info('made', names={big: {'a': big}, 'b': big})",
    "log.info('made', names={str(n): n for n in range(50_000)})",
    "log.info('made', error=ValueError(big))",
    "logging.getLogger('a.library').warning('it is %s', big)",
)


@pytest.mark.parametrize("form", Form)
def test_what_others_chose_makes_no_long_line(form: Form) -> None:
    """The short-cut cuts what is a text: lists, names in mappings and errors are none."""
    for called, line in zip(LONG, _lines("\n".join(LONG), form), strict=True):
        assert len(line) < 3 * MOST_VALUE, called
        assert "…" in line, called


def test_what_is_cut_says_how_long_it_is() -> None:
    line, listed = map(
        json.loads,
        _lines("log.info('a', project=big); log.info('a', names=['a', big, 'b', 'c'])"),
    )

    assert line["project"] == "x" * MOST_VALUE + "… (100000 characters)"
    assert listed["names"][2:] == ["… (2 more)"]


def test_the_most_of_a_traceback_stays() -> None:
    """Short-cut refused: one length for all, which leaves the frames away that matter."""
    called = "def a(n): 1/0 if n == 0 else b(n - 1)\n\
def b(n): a(n)\n\
try: a(60)\nexcept ZeroDivisionError: log.exception('broke', more=big)"
    (line,) = map(json.loads, _lines(called))

    assert len(line["exception"]) > MOST_VALUE
    assert line["exception"].endswith("ZeroDivisionError: division by zero")


@pytest.mark.parametrize(
    "secret", ["a very secret text", HookSecrets("gitlab", (b"root",)).token(INSTANCE)]
)
@pytest.mark.parametrize("shown", [1, 12])
def test_no_beginning_of_a_secret_stands_before_the_cut(secret: str, shown: int) -> None:
    """The short-cut cuts and then looks for secrets: of one amid the cut, its half is none."""
    redact = Redactor(["a very secret text"])
    text = "x" * (MOST_VALUE - len(secret) + shown) + secret + "y" * 10_000

    written = redact(None, "info", {"event": "e", "project": text})["project"]

    assert secret[:8] not in written
    assert written.startswith("x" * 1_900)


def test_ordinary_words_stay() -> None:
    text = "the basic idea; a bearer of news; ghost_writer; v1.2; net/core"

    assert Redactor(["", "id"]).text(text) == text


def test_a_secret_within_another_goes_whole() -> None:
    assert Redactor(["hunter", "hunter and more"]).text("a hunter and more.") == "a [secret]."


def test_logging_is_left_alone_until_configured() -> None:
    assert not any(type(h).__module__ == "bot.logs" for h in logging.getLogger().handlers)


SHOW = """
import logging, structlog
from dataclasses import dataclass
from enum import Enum, StrEnum
from pathlib import Path
from bot import logs

class Color(Enum):
    RED = 1

class Word(StrEnum):
    LATE = "late"

@dataclass
class Result:
    after: float | None
    kept: bool

logs.configure(["hidden secret"], logs.Form("FORM"))
structlog.get_logger().info(
    "looked", nothing=None, yes=True, color=Color.RED, word=Word.LATE, result=Result(None, False),
    many=("a", None), named={Word.LATE: {"hidden secret": Path("/x")}}, raw=b"bytes", text="a b",
    seconds=0.25, wrong=float("nan"), error=ValueError("it is 'so'"),
)
logging.getLogger("a.library").warning("about %s", "hidden secret")
"""


def _written(form: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", SHOW.replace("FORM", form)],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stderr.splitlines()


def test_text_for_people() -> None:
    """Short-cut refused: str() of whatever is logged, which shows None, True and <Color.RED: 1>."""
    ours, theirs = _written("text")

    time, level, rest = ours.split(None, 2)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", time)
    assert level == "INFO"
    assert rest == (
        'looked yes=true color=1 word=late result={"after": null, "kept": false} many=["a", null]'
        ' named={"late": {"[secret]": "/x"}} raw=bytes text="a b" seconds=0.25 wrong=nan'
        " error=\"it is 'so'\""
    )
    assert theirs.split(None, 1)[1] == "WARNING about [secret] logger=a.library"


def test_json_for_machines() -> None:
    ours, theirs = (json.loads(line) for line in _written("json"))

    assert list(ours)[:3] == ["timestamp", "level", "event"]
    assert {name: ours[name] for name in ("nothing", "yes", "color", "word", "result", "many")} == {
        "nothing": None,
        "yes": True,
        "color": 1,
        "word": "late",
        "result": {"after": None, "kept": False},
        "many": ["a", None],
    }
    assert ours["named"] == {"late": {"[secret]": "/x"}}
    assert (theirs["level"], theirs["event"]) == ("warning", "about [secret]")
