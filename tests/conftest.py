"""What every test session has: the coverage of the forge's descriptions is printed at its end."""

from __future__ import annotations

import pytest

from tests.contract.coverage import CoveragePlugin


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin that collects and prints the coverage."""
    config.pluginmanager.register(CoveragePlugin(), "contract-coverage")
