import sys

import pytest
from short_runs import short_network_times

from workbench.space.template import TEMPLATES

__all__ = ["short_network_times"]  # a fixture


@pytest.fixture(autouse=True)
def templates_as_they_were():
    before = dict(TEMPLATES)
    yield
    TEMPLATES.clear()
    TEMPLATES.update(before)


@pytest.fixture(autouse=True)
def names_of_modules_as_they_were():
    before = dict(sys.modules)
    yield
    for name in [n for n in sys.modules if n == "tvm" or n.startswith("tvm.")]:
        if name not in before:
            del sys.modules[name]
