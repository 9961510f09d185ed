"""What a program's end means as a function's answer."""

import pytest

from fnrunner.contract.errors import FunctionFailedError
from fnrunner.contract.run import ResourceLimits
from fnrunner.fence import answer
from fnrunner.fence.sandbox import Ended, Used

LIST = b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"
FLOW = b'{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": []}\n'
RESULTS = LIST + b"results:\n- message: no\n"


def ended(output: bytes, *, status: int = 0, log: str = "") -> Ended:
    return Ended(output, log, status, Used(None, None, 0.1, len(output)))


@pytest.mark.parametrize("output", [LIST, FLOW, b"# made here\n" + LIST])
def test_a_list_is_an_answer_however_it_is_written(output: bytes) -> None:
    found = answer.outcome("f", ended(output, log="done"), "sha256:a")

    assert (found.resources, found.failed, found.log) == (output, False, "done")
    assert (found.digest, found.exit_code, found.results) == ("sha256:a", 0, ())


@pytest.mark.parametrize(
    "output",
    [b"", b"usage: f\n", b"wanted kind: ResourceList\n", b"- kind: ResourceList\n", b"kind: Pod\n"],
)
def test_words_are_no_answer_whatever_they_speak_of(output: bytes) -> None:
    """Short-cut: look for the words `kind: ResourceList` anywhere."""
    with pytest.raises(FunctionFailedError, match=r"its output is not a ResourceList \(.*\)\. why"):
        answer.outcome("f", ended(output, log="why\n"), "")


@pytest.mark.parametrize("status", [1, 2, 137])
def test_any_status_but_0_is_a_refusal(status: int) -> None:
    found = answer.outcome("f", ended(RESULTS, status=status), "")

    assert (found.failed, found.exit_code) == (True, status)
    assert found.results == ({"message": "no"},)
    assert found.resources == RESULTS


@pytest.mark.parametrize(
    ("seconds", "left"),
    [(None, 10.0), (300.0, 10.0), (10.05, 9.95), (5.0, 4.9), (0.5, 0.45), (0.0, 0.0)],
)
def test_a_caller_may_shorten_the_time_of_a_function_and_never_extend_it(
    seconds: float | None, left: float
) -> None:
    """Short-cut: go by the caller alone, who may wait for ever."""
    assert answer.within(ResourceLimits(seconds=10.0), seconds).seconds == pytest.approx(left)
