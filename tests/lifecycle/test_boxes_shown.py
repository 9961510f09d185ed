"""What people see beside a box, however a forge tells it."""

import re
from dataclasses import replace

import pytest

from lifecycle import boxes

LINE = r"`@porchbot upgrade a\_b v2`: is <b> in [#12](https://forge/a_b/12?x=1): é *now*"
SEAL = "porchbot-box " + "5" * 32
SHOWN = {
    "as it stands there": (LINE, True),
    "with its seal": (f"{LINE} <!-- {SEAL} -->", True),
    "with every mark escaped": (re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", f"{LINE}  {SEAL}"), True),
    "as people see it": (f"@porchbot upgrade a_b v2: is in #12: é now {SEAL}", True),
    "as HTML": ("<code>@porchbot upgrade a_b v2</code>: is in #12&#58; é <em>now</em>", True),
    "another revision": (LINE.replace("v2", "v3"), False),
    "the line in a comment before another text": (f"<!-- {LINE} -->no harm", False),
    "the line and another text": (f"✔ {LINE}", False),
    "the seal alone": (SEAL, False),
}


@pytest.mark.parametrize(("told", "same"), SHOWN.values(), ids=SHOWN)
def test_what_people_see_beside_a_box_is_known_however_a_forge_tells_it(
    told: str, same: bool
) -> None:
    """Short-cuts refused: the text as it is, which GitLab escapes; its seal alone, which whoever
    may edit the issue puts beside a box of theirs."""
    (tick,) = boxes.newly_ticked(3, "", f"- [x] {LINE} <!-- {SEAL} -->", shows=True)

    assert (boxes.shown(told) == tick.shown) is same
    assert boxes.Tick.of(str(tick)) == tick
    assert boxes.Tick.of(str(replace(tick, shown=""))) == replace(tick, shown="")
