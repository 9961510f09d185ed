"""The message of an unexpected error: one line, and at most a hint.

A traceback is for whoever asks for it, with PORCHBOT_TRACEBACK=1.
"""

import os
import sys
import traceback

from bot.cli import terminal

_EXTRAS = {
    "server": (
        "cryptography",
        "git",
        "gitdb",
        "github",
        "gitlab",
        "google",
        "grpc",
        "grpc_health",
        "grpc_reflection",
        "httptools",
        "jinja2",
        "jwt",
        "prometheus_client",
        "psycopg",
        "psycopg_pool",
        "requests",
        "starlette",
        "structlog",
        "uvicorn",
    ),
    "policy": ("regorus",),
    "kubernetes": ("kubernetes",),
    "traces": ("opentelemetry",),
    "demo": ("graphql", "markupsafe", "rich"),
}
"""The extra of pyproject.toml that brings a module; a test compares both."""

_DEMO = frozenset(("demo", "playground"))

_EXTRA_OF = {module: extra for extra, modules in _EXTRAS.items() for module in modules}


def tell(error: Exception, command: str = "") -> int:
    """Write on standard error why a command ended; return its exit status.

    Args:
        error: What nobody below handled.
        command: The command's name, such as "playground"; "" where there is none.
    """
    if os.environ.get("PORCHBOT_TRACEBACK"):
        traceback.print_exception(error)
        return 1
    for line in _lines(error, command):
        print(terminal.line(line), file=sys.stderr)  # noqa: T201 (the program's own voice)
    return 1


def _lines(error: Exception, command: str) -> list[str]:
    if isinstance(error, ModuleNotFoundError):
        extra = _EXTRA_OF.get((error.name or "").partition(".")[0])
        if extra and command in _DEMO:
            extra = "demo"  # which brings the others that it needs
        if extra:
            return [
                f"error: this command needs {error.name}, which is not installed.",
                f"Install it: pip install 'porchbot[{extra}]'",
            ]
    if type(error).__module__ == "requests.exceptions":  # read by its name: 20 MB to import
        address = getattr(getattr(error, "request", None), "url", None) or ""
        host = address.partition("://")[2].partition("/")[0].rpartition("@")[2]
        return [
            f"error: {host or 'the forge'} does not answer ({type(error).__name__}).",
            "Check the network, and PORCHBOT_GITLAB_URL or PORCHBOT_GITHUB_API_URL if the forge is"
            " elsewhere.",
        ]
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return [f"error: {where}{error.strerror}"]
    what = " ".join(str(error).split()) or "no reason given"
    return [
        f"error: {type(error).__name__}: {what}",
        "This is a bug of porchbot. PORCHBOT_TRACEBACK=1 shows where; please report it.",
    ]
