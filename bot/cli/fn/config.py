"""A function's configuration from a file or from the command line."""

import os
from collections.abc import Sequence
from pathlib import Path

from bot.cli.dropin import CommandFailure
from cadlib.render.functions import config_problem, from_texts
from cadlib.stream import kio
from cadlib.yaml import Stream, Value, digits, read


def one(path: str) -> Stream:
    """Return the only resource of a file, for the `functionConfig` of a list.

    Raises:
        Failure: It is missing, or does not hold exactly one.
    """
    found = kio.read(_data(path), path=path).items
    if len(found) != 1:
        raise CommandFailure(f"expected exactly 1 functionConfig, found {len(found)}")
    return found[0]


def of_file(path: str) -> Value:
    """Return the configuration in a file.

    Raises:
        Failure: It is missing, or does not hold one resource; in kpt's words.
    """
    full = os.path.abspath(path)
    found = [each for each in read(_data(path), path=path).documents if not each.empty]
    if len(found) != 1:
        raise CommandFailure(
            f'functionConfig "{full}" must not contain more than one config, got {len(found)}'
        )
    root = found[0].root
    if not isinstance(found[0].value, dict):
        kind = "SequenceNode" if isinstance(found[0].value, list) else "ScalarNode"
        contents = found[0].source.text[root.start : root.end]
        raise CommandFailure(
            f'failed to read functionConfig "{full}": wrong node kind: expected MappingNode but'
            f" got {kind}: node contents:\n{contents}\n"
        )
    problem = config_problem(found[0].value)
    if problem:
        raise CommandFailure(f'functionConfig "{full}": {problem}')
    return digits.written(found[0].value, found[0])


def of_args(args: Sequence[str]) -> Value:
    """Return the configuration that `key=value` texts make; the first may name its kind.

    Raises:
        Failure: One is no such text.
    """
    kind, texts = "ConfigMap", list(args)
    if texts and "=" not in texts[0]:
        kind, *texts = texts
    if any("=" not in each for each in texts):
        raise CommandFailure("args must have keys and values separated by =")
    pairs = (each.partition("=") for each in texts)
    return from_texts({key: value for key, _, value in pairs}, kind)


def _data(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except FileNotFoundError as error:
        raise CommandFailure(f"missing function config file: {path}") from error
    except OSError as error:
        raise CommandFailure(f"{path} cannot be read: {error.strerror}") from error
