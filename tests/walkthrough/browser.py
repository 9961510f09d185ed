"""Drives Chromium as a person does: looks at words, presses buttons with the mouse, types.

It speaks the DevTools protocol over a pair of pipes: JSON messages with a zero byte between.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.screenshots import BROWSERS, QUIET

PATIENCE = 90.0
"""Seconds for a page to say what it should; it takes about one."""

USUAL = (1280, 900)
"""Width and height of the window, in CSS pixels."""

NARROW = 400
"""Width of a telephone's window; every page fits into it."""

_FIND = """
(() => {
  const words = %s, flat = (e) => (e.innerText || "").replace(/\\s+/g, " ").trim();
  const found = [...document.querySelectorAll("a, button, summary")].filter((e) => !e.disabled);
  const one = found.find((e) => flat(e) === words) || found.find((e) => flat(e).includes(words));
  if (!one) return null;
  one.scrollIntoView({block: "center", behavior: "instant"});
  const box = one.getBoundingClientRect();
  const x = box.x + box.width / 2, y = box.y + box.height / 2;
  const top = document.elementFromPoint(x, y);
  if (!top || !one.contains(top)) return null;
  window.porchbotOld = true;
  return {x, y};
})()
"""
"""Finds what a person would press by its words; nothing that is hidden, disabled or covered."""

_BEYOND = """
(() => {
  const cut = (e) => {
    if (!e) return false;
    const style = getComputedStyle(e);
    return /auto|scroll/.test(style.overflowX) || style.textOverflow === "ellipsis"
      || cut(e.parentElement);
  };
  const right = (node) => {
    const range = document.createRange();
    range.selectNode(node);
    return (node instanceof Element ? node : range).getBoundingClientRect().right;
  };
  const found = [], nodes = document.createTreeWalker(document.body, 5);
  while (nodes.nextNode()) {
    const node = nodes.currentNode, seen = node instanceof Element ? node : node.parentElement;
    if (!seen.checkVisibility() || cut(node.parentElement)) continue;
    if (right(node) > innerWidth + 0.5) found.push(`${Math.round(right(node))}: `
      + (node instanceof Element ? node.outerHTML : node.data).trim().slice(0, 80));
  }
  return found;
})()
"""
"""What of the page nobody sees: right of the window, though not in what scrolls or ends in dots."""


class BrowserError(Exception):
    """The browser did not do, or a page did not say, what was wanted."""


def program() -> str | None:
    """Chromium on this machine; None where there is none."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


class Browser:
    """One window of Chromium, open while this context is."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._profile = Path(tempfile.mkdtemp(prefix="porchbot-browser-"))
        self._session = ""
        self._number = 0
        self._unread = b""

    def __enter__(self) -> Self:
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        # Chromium reads from 3 and writes to 4, whatever numbers the pipes have here.
        shell = f'exec "$@" 3</dev/fd/{theirs_in} 4>/dev/fd/{theirs_out}'
        options = [
            *QUIET,
            "--remote-debugging-pipe",
            "--disable-dev-shm-usage",
            f"--user-data-dir={self._profile}",
        ]
        self._process = subprocess.Popen(
            ["sh", "-c", shell, "sh", self._path, *options, "about:blank"],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        found = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = found["sessionId"]
        self._call("Page.enable")
        self.resize(*USUAL)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._session = ""
            self._call("Browser.close")
            self._process.wait(20)
        except (BrowserError, OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._out)
        os.close(self._in)
        shutil.rmtree(self._profile, ignore_errors=True)

    def resize(self, width: int, height: int) -> None:
        """Give the window a size, in CSS pixels."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1.5, "mobile": False}
        self._call("Emulation.setDeviceMetricsOverride", **metrics)

    def opens(self, address: str) -> None:
        """Open an address, as if it was typed."""
        self._evaluate("window.porchbotOld = true")
        answer = self._call("Page.navigate", url=address)
        if answer.get("errorText"):
            raise BrowserError(f"{address}: {answer['errorText']}")
        self._leaves(f"open {address}")

    def text(self) -> str:
        """What a person reads on the page, with single blanks."""
        found = self._evaluate("document.readyState === 'complete' && document.body.innerText")
        return " ".join(str(found or "").split())

    def address(self) -> str:
        """Where the browser is."""
        return str(self._evaluate("location.href"))

    def sees(self, *words: str, reload: bool = False) -> str:
        """Wait until the page says all of these words; what it says then.

        Args:
            words: Texts, each with single blanks.
            reload: Look again meanwhile, as a person presses the browser's button.

        Raises:
            BrowserError: It does not say them in time.
        """
        until = time.monotonic() + PATIENCE
        while missing := [each for each in words if each not in (said := self.text())]:
            if time.monotonic() > until:
                raise BrowserError(f"{self.address()} does not say {missing}:\n{said}")
            time.sleep(0.3)
            if reload:
                self.opens(self.address().partition("#")[0])
        return said

    def misses(self, words: str) -> None:
        """Look again until the page no longer says these words.

        Raises:
            BrowserError: It goes on saying them.
        """
        until = time.monotonic() + PATIENCE
        while words in self.text():
            if time.monotonic() > until:
                raise BrowserError(f"{self.address()} still says {words!r}")
            time.sleep(0.3)
            self.opens(self.address().partition("#")[0])

    def presses(self, words: str, *, leaves: bool = True) -> None:
        """Press what has these words on it, with the mouse, and wait for the next page.

        Raises:
            BrowserError: Nothing that can be pressed has these words, or no page follows.
        """
        until = time.monotonic() + PATIENCE
        while (at := self._evaluate(_FIND % json.dumps(words))) is None:
            if time.monotonic() > until:
                raise BrowserError(f"{self.address()} has no {words!r} to press:\n{self.text()}")
            time.sleep(0.1)
        for kind in ("mousePressed", "mouseReleased"):
            self._call("Input.dispatchMouseEvent", type=kind, **at, button="left", clickCount=1)
        if leaves:
            self._leaves(f"press {words}")

    def types(self, words: str) -> None:
        """Type into the page's field for comments."""
        self._evaluate("document.querySelector('textarea').focus()")
        self._call("Input.insertText", text=words)

    def pictures(self, file: Path, width: int, height: int) -> None:
        """Take a picture of the upper part of the page in a window of this size."""
        self.resize(width, height)
        self._evaluate("window.scrollTo(0, 0)")
        shot = self._call("Page.captureScreenshot", format="png")
        file.write_bytes(base64.b64decode(shot["data"]))
        self.resize(*USUAL)

    def beyond(self) -> list[str]:
        """What lies right of a narrow window, and where it ends."""
        self.resize(NARROW, USUAL[1])
        found = self._evaluate(_BEYOND)
        self.resize(*USUAL)
        return list(found)

    def _leaves(self, what: str) -> None:
        until = time.monotonic() + PATIENCE
        gone = "window.porchbotOld === undefined && document.readyState === 'complete'"
        while not self._evaluate(gone):
            if time.monotonic() > until:
                raise BrowserError(f"no page follows: {what}")
            time.sleep(0.05)

    def _evaluate(self, expression: str) -> Any:
        """Value of an expression; None where its page went away meanwhile, or where it failed."""
        try:
            found = self._call("Runtime.evaluate", expression=expression, returnByValue=True)
        except BrowserError as error:
            if "context" in str(error) or "navigated" in str(error):
                return None
            raise
        return found["result"].get("value")

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while True:
            answer = self._read(until)
            if answer.get("id") != self._number:
                continue  # an event
            if "error" in answer:
                raise BrowserError(f"{method}: {answer['error'].get('message')}")
            result: dict[str, Any] = answer["result"]
            return result

    def _read(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._in], [], [], max(0, until - time.monotonic()))
            more = os.read(self._in, 1 << 16) if ready else b""
            if not more:
                raise BrowserError("Chromium does not answer")
            self._unread += more
        line, _, self._unread = self._unread.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message
