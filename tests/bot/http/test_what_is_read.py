"""What the process that takes webhooks reads at its start."""

import subprocess
import sys

NEEDS_NOT = {
    "_ruamel_yaml",
    "cadlib.diff.changes",
    "cadlib.yaml",
    "cel_expr_python",
    "cryptography",
    "git",
    "github",
    "gitlab",
    "grpc",
    "jinja2",
    "ruamel",
}


def test_who_takes_webhooks_reads_no_client_of_a_forge() -> None:
    """The short-cut reads them, or a parser, for one name in them: 30 MB, half a second."""
    program = (
        "import gc, sys; gc.disable()\n"
        "import bot.http.server, bot.http.web, bot.http.webhooks, bot.settings\n"
        "import bot.forges.github.deliveries, bot.store.postgres\n"
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert NEEDS_NOT & set(done.stdout.split()) == set()
