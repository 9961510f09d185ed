"""What every test session has, such as the coverage of the forge's descriptions at its end."""

from __future__ import annotations

import gc

import pytest
from hypothesis import settings

from tests.contract.coverage import CoveragePlugin

# The same examples in every run: a change is to blame for what it breaks, and not for what was
# there before. `pytest --hypothesis-profile=search` looks for more. How long an example takes says
# more about the machine than about us.
settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile("same")


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin that collects and prints the coverage."""
    config.pluginmanager.register(CoveragePlugin(), "contract-coverage")


def pytest_collection_finish() -> None:
    """Spare the collector thousands of tests, which live as long as the session."""
    gc.collect()
    gc.freeze()
