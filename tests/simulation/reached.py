"""How far a history came, for the figures."""

from collections import Counter
from typing import Any

from tests.simulation.diary import Diary
from tests.simulation.ending import at_lines
from tests.simulation.evidence import QUEUE
from tests.simulation.oracle_boxes import TICKED
from tests.simulation.setting import BOT, called


def reached(diary: Diary, repo: Any) -> Counter[str]:
    """How far proposals came, for the figures."""
    tally: Counter[str] = Counter()
    for pull in repo.pulls.values():
        tally["stage: opened"] += 1
        if pull.merged:
            bot = called(pull.merged_by.login) == BOT
            tally["stage: merged by the bot" if bot else "stage: merged by hand"] += 1
        elif pull.state != "open":
            tally["stage: closed"] += 1
        elif pull.draft:
            tally["stage: left as a draft"] += 1
        else:
            tally["stage: left as a proposal"] += 1
        tally["stage: findings at lines"] += len(at_lines(pull))
    tally["publish: releases made"] += len(repo.releases)
    for entry in diary.entries:
        if entry.who == QUEUE and entry.what == "pull merged":
            tally["publish: merged by a queue"] += 1
        if entry.who == BOT and entry.what == "push":
            if entry.text.startswith("refs/tags/"):
                gone = not entry.after.strip("0")
                tally[f"publish: tags {'withdrawn' if gone else 'made'}"] += 1
            elif entry.after.strip("0") and entry.before.strip("0"):
                tally["publish: renderings pushed or merges"] += 1
            else:
                tally["publish: branches deleted"] += 1
        elif entry.who == BOT:
            tally[f"bot: {entry.what}"] += 1
        if entry.what.endswith(TICKED):
            tally[f"{entry.what.replace(TICKED, 'box')}: {entry.text.partition(' ')[0]}"] += 1
    return tally
