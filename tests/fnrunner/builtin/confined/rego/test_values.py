"""The functions of Rego, where the engine has none or other ones."""

import pytest

from fnrunner.builtin.confined.rego_engine import PolicyError
from tests.fnrunner.builtin.confined.rego.test_verdicts import answer
from tests.fnrunner.builtin.confined.rego.values import GIVEN, VALUES


@pytest.mark.parametrize("v1", [False, True], ids=["v0", "v1"])
@pytest.mark.parametrize(("call", "value"), VALUES.items(), ids=VALUES)
def test_a_function_has_the_value_that_it_has_in_go(
    call: str, value: list[object], v1: bool
) -> None:
    """Short-cut: the functions of the engine, which are Rust's."""
    assert answer(f"package p\nanswer := {call}", GIVEN, v1=v1) == value


STOPPED = {
    "1 / (input.n - 5)": "p:2:13: div: divide by zero",
    "1 % 0": "p:2:13: rem: modulo by zero",
    "9223372036854775807 + 1": "plus: numbers beyond 64 bits are not supported",
    'sprintf("%v", [92233720368547758080])': "numbers beyond 64 bits are not supported",
    'net.cidr_intersects("x", "10.0.0.0/8")': "net.cidr_intersects: 'x' does not",
    'sprintf("%f", [1])': "sprintf: %f of a whole number is not supported",
    'sprintf("%T", [1])': "sprintf: %T is not supported",
    'sprintf("%v", [[set()]])': "printable: printing an empty set",
    'time.format([0, "UTC", "RFC1123"])': "is_layout: the layout RFC1123 has the name of a zone",
    'json.filter({"a/b": 1}, ["a~1b"])': "are_plain: paths with ~ are not supported",
}


@pytest.mark.parametrize(("call", "said"), STOPPED.items(), ids=STOPPED)
def test_what_would_come_out_otherwise_stops_the_policy(call: str, said: str) -> None:
    """Short-cut: have no value, so that a violation is passed over."""
    with pytest.raises(PolicyError) as error:
        answer(f"package p\nanswer := {call}", GIVEN, v1=True)
    assert said in str(error.value)
