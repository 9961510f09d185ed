"""The modules that a Starlark script may load: those of the catalog that need no more than values.

A module is a mapping of its members to plain functions and numbers; arguments come as Python
values, and what is returned goes back as a copy. Regular expressions are Go's (RE2).

Source: the catalog's `starlark`, section Libraries; starlib 0.5.0; lib/json and lib/math of
Starlark in Go.
"""

import base64 as _base64
import binascii
import hashlib
import json as _json
import math as _math
import re as _re
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, signature
from typing import Any, Final

import re2

from fnrunner.builtin.confined import starlark_formats

Member = Callable[..., Any] | float
Module = Mapping[str, Member]


class LoadError(Exception):
    """A module or a member of it cannot be loaded."""


# What stays out, and why.
REFUSED: Final = {
    "bsoup.star": "it returns objects with methods, which are not supported here",
    "geo.star": "it returns objects with methods, which are not supported here",
    "html.star": "it returns objects with methods, which are not supported here",
    "http.star": "functions have no network",
    "time.star": "it returns objects with methods, and results would depend on the time of day",
    "xlsx.star": "functions have no network to fetch a sheet from",
    "zipfile.star": "it returns objects with methods, which are not supported here",
}


def load(module: str) -> Mapping[str, Module]:
    """Return what a module offers under each name, such as `{"math": …}` for "math.star".

    Raises:
        LoadError: There is no such module here.
    """
    if module in REFUSED:
        raise LoadError(f"cannot load {module}: {REFUSED[module]}")
    if module not in _MODULES:
        there = ", ".join(sorted(_MODULES))
        raise LoadError(f"cannot load {module}: there is no such module; there are {there}")
    return _MODULES[module]


# --- base64 --------------------------------------------------------------------------------

_ENCODINGS: Final = {
    "standard": (b"+/", True),
    "standard_raw": (b"+/", False),
    "url": (b"-_", True),
    "url_raw": (b"-_", False),
}


def _encoding(name: str) -> tuple[bytes, bool]:
    found = _ENCODINGS.get(name or "standard")
    if found is None:
        raise ValueError(f"unsupported encoding format: {name}")
    return found


def _base64_encode(data: str, encoding: str = "") -> str:
    letters, padded = _encoding(encoding)
    text = _base64.b64encode(data.encode(), letters).decode()
    return text if padded else text.rstrip("=")


def _base64_decode(data: str, encoding: str = "") -> str:
    letters, padded = _encoding(encoding)
    text = "".join(data.split("\n"))
    if not padded and "=" not in text:
        text += "=" * (-len(text) % 4)
    try:
        other = str.maketrans(letters.decode(), "+/")
        return _base64.b64decode(text.translate(other), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise ValueError(f"illegal base64 data: {error}") from error


# --- hash ---------------------------------------------------------------------------------


def _hash(name: str) -> Callable[[str], str]:
    def digest(data: str) -> str:
        return hashlib.new(name, data.encode(), usedforsecurity=False).hexdigest()

    return digest


# --- json ----------------------------------------------------------------------------------


def _json_encode(value: Any) -> str:
    _check_keys(value)
    try:
        text = _json.dumps(
            starlark_formats.plain(value), ensure_ascii=False, allow_nan=False, sort_keys=True,
            separators=(",", ":"),
        )  # fmt: skip
    except ValueError as error:
        raise ValueError(f"json.encode: {error}") from error
    except TypeError as error:
        raise ValueError(f"json.encode: cannot encode {error}") from error
    return text


def _check_keys(value: Any) -> None:
    if isinstance(value, Mapping):
        for key, each in value.items():
            if not isinstance(key, str):
                raise ValueError(f"json.encode: dict has {type(key).__name__} key, want string")
            _check_keys(each)
    elif isinstance(value, list | tuple):
        for each in value:
            _check_keys(each)


def _json_decode(*args: Any, **named: Any) -> Any:
    text = args[0] if args else named["x"]
    try:
        return _json.loads(text, parse_constant=_no_constant)
    except ValueError as error:
        if "default" in named or len(args) > 1:
            return named.get("default", args[1] if len(args) > 1 else None)
        offset = getattr(error, "pos", 0)
        raise ValueError(f"json.decode: at offset {offset}, {error}") from error


def _no_constant(name: str) -> None:
    raise ValueError(f"unexpected {name}")


_JSON_PIECE: Final = _re.compile(r'"(?:\\.|[^"\\])*"|[{}\[\],:]|[^\s{}\[\],:"]+')


def _json_indent(text: str, *, prefix: str = "", indent: str = "\t") -> str:
    """Lay JSON out as Go's `json.Indent` does: texts of numbers and strings stay as they are."""
    _json_decode(text)
    written: list[str] = []
    depth, before = 0, ""
    for match in _JSON_PIECE.finditer(text):
        piece = match[0]
        if piece in "}]":
            depth -= 1
        opened, closing = before in ("{", "["), piece in "}]"
        if before == "," or opened != closing:
            written.append("\n" + prefix + indent * depth)
        written.append(": " if piece == ":" else piece)
        if piece in "{[":
            depth += 1
        before = piece
    return "".join(written)


# --- re ------------------------------------------------------------------------------------

_REFERENCE: Final = _re.compile(r"\$(?:\$|(?P<name>\w+)|\{(?P<braced>\w+)\})", _re.ASCII)


def _pattern(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        said = error.args[0].decode() if isinstance(error.args[0], bytes) else error.args[0]
        raise ValueError(f"error parsing regexp: {said}") from error


def _findall(pattern: str, string: str, flags: int = 0) -> tuple[str, ...]:  # noqa: ARG001
    return tuple(found[0] for found in _pattern(pattern).finditer(string))


def _match(pattern: str, string: str, flags: int = 0) -> list[tuple[str, ...]]:  # noqa: ARG001
    return [
        tuple(part or "" for part in (found[0], *found.groups()))
        for found in _pattern(pattern).finditer(string)
    ]


def _search(pattern: str, string: str, flags: int = 0) -> list[int] | None:  # noqa: ARG001
    found = _pattern(pattern).search(string)
    # Scripts count the bytes of a text.
    return [len(string[:end].encode()) for end in found.span()] if found else None


def _split(pattern: str, string: str, maxsplit: int = 0, flags: int = 0) -> tuple[str, ...]:  # noqa: ARG001
    parts: list[str] = []
    begin = 0
    for found in _pattern(pattern).finditer(string):
        if 0 < maxsplit <= len(parts) + 1:
            break
        if found.end() == 0 or (found.start() == found.end() == len(string)):
            continue  # an empty match at either end cuts nothing off
        parts.append(string[begin : found.start()])
        begin = found.end()
    return (*parts, string[begin:])


def _sub(pattern: str, repl: str, string: str, count: int = 0, flags: int = 0) -> str:  # noqa: ARG001
    compiled = _pattern(pattern)
    return str(compiled.sub(lambda found: _expanded(repl, found), string))


def _expanded(repl: str, found: Any) -> str:
    def value(match: _re.Match[str]) -> str:
        name = match["name"] or match["braced"]
        if not name:
            return "$"
        try:
            part = found[int(name)] if name.isdigit() else found[name]
        except (IndexError, KeyError):
            return ""
        return part or ""

    return _REFERENCE.sub(value, repl)


# --- math ----------------------------------------------------------------------------------


def _number(function: Callable[..., float]) -> Callable[..., float]:
    name = function.__name__.strip("_")

    def checked(*values: float) -> float:
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise TypeError(f"{name}: got {type(value).__name__}, want float or int")
        try:
            return function(*map(float, values))
        except ValueError:
            return _math.nan
        except OverflowError:
            return _math.inf

    return checked


def _whole(name: str, function: Callable[[float], int]) -> Callable[[float], float]:
    def checked(value: float) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"{name}: got {type(value).__name__}, want float or int")
        if isinstance(value, float) and not _math.isfinite(value):
            raise ValueError(f"cannot convert float {value} to integer")
        return function(value)

    return checked


def _round(value: float) -> float:
    return _math.copysign(_math.floor(abs(value) + 0.5), value)  # halves away from zero


def _log(value: float, base: float = _math.e) -> float:
    if base == 1:
        raise ValueError("division by zero")
    if value == 0:
        return -_math.inf
    return _math.log(value) if base == _math.e else _math.log(value) / _math.log(base)


_PLAIN_MATH: Final = (
    _math.acos, _math.acosh, _math.asin, _math.asinh, _math.atan, _math.atan2, _math.atanh,
    _math.copysign, _math.cos, _math.cosh, _math.degrees, _math.exp, _math.fabs, _math.gamma,
    _math.hypot, _math.pow, _math.radians, _math.remainder, _math.sin, _math.sinh, _math.sqrt,
    _math.tan, _math.tanh,
)  # fmt: skip
_MATH: Final[Mapping[str, Member]] = {
    **{function.__name__: _number(function) for function in _PLAIN_MATH},
    "ceil": _whole("ceil", _math.ceil),
    "e": _math.e,
    "floor": _whole("floor", _math.floor),
    "log": _number(_log),
    "mod": _number(_math.fmod),
    "pi": _math.pi,
    "round": _number(_round),
}

# --- krmfn ---------------------------------------------------------------------------------


def _field(resource: Any, *path: str) -> Any:
    for key in path:
        resource = resource.get(key) if isinstance(resource, Mapping) else None
    return "" if resource is None else resource


def _match_gvk(resource: Any, version: str, kind: str) -> bool:
    return (_field(resource, "apiVersion"), _field(resource, "kind")) == (version, kind)


def _match_name(resource: Any, name: str) -> bool:
    return bool(_field(resource, "metadata", "name") == name)


def _match_namespace(resource: Any, namespace: str) -> bool:
    return bool(_field(resource, "metadata", "namespace") == namespace)


def _positional(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that takes its arguments by position alone, all of them."""
    count = len(signature(function).parameters)

    @wraps(function)
    def checked(*args: Any, **named: Any) -> Any:
        if named:
            raise TypeError(f"{name}: unexpected keyword arguments")
        if len(args) != count:
            raise TypeError(f"{name}: got {len(args)} arguments, want {count}")
        return function(*args)

    return checked


def _named(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that takes its arguments by position or name."""
    parameters = signature(function).parameters

    @wraps(function)
    def checked(*args: Any, **named: Any) -> Any:
        if len(args) > len(parameters):
            most = f"want at most {len(parameters)}"
            raise TypeError(f"{name}: got {len(args)} arguments, {most}")
        for key in named:
            if key not in parameters:
                raise TypeError(f'{name}: unexpected keyword argument "{key}"')
        for key, parameter in list(parameters.items())[len(args) :]:
            if parameter.default is Parameter.empty and key not in named:
                raise TypeError(f"{name}: missing argument for {key}")
        return function(*args, **named)

    return checked


def _all_named(**functions: Callable[..., Any]) -> Module:
    return {name: _named(name, function) for name, function in functions.items()}


_MODULES: Final[Mapping[str, Mapping[str, Module]]] = {
    "encoding/base64.star": {"base64": _all_named(encode=_base64_encode, decode=_base64_decode)},
    "encoding/csv.star": {
        "csv": _all_named(read_all=starlark_formats.read_all, write_all=starlark_formats.write_all)
    },
    "encoding/json.star": {
        "json": {"encode": _json_encode, "decode": _json_decode, "indent": _json_indent}
    },
    "encoding/yaml.star": {
        "yaml": {"loads": starlark_formats.loads, "dumps": starlark_formats.dumps}
    },
    "hash.star": {
        "hash": {
            name: _positional(f"hash.{name}", _hash(name)) for name in ("md5", "sha1", "sha256")
        }
    },
    "krmfn.star": {
        "krmfn": {
            "match_gvk": _positional("match_gvk", _match_gvk),
            "match_name": _positional("match_name", _match_name),
            "match_namespace": _positional("match_namespace", _match_namespace),
        }
    },
    "math.star": {"math": _MATH},
    "re.star": {
        "re": _all_named(findall=_findall, match=_match, search=_search, split=_split, sub=_sub)
    },
}
