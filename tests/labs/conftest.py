"""Labs whose checks take no time: what is judged is counted, and the clock is left out."""

from __future__ import annotations

import pytest

import workbench as wb


@pytest.fixture
def no_clock(monkeypatch):
    """Every nest runs, in a millisecond."""
    done = wb.Measurement(status="ok", costs_ms=(1.0,))
    monkeypatch.setattr(wb.Schedule, "measure", lambda self, *args, **options: done)
