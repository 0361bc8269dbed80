"""What an output says in Colab, whose page asks for it before it loads a widget's module."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

import workbench as wb

WIDGET = "application/vnd.jupyter.widget-view+json"


def test_the_output_names_the_widget_manager(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[str]()
    output = ModuleType("google.colab.output")
    output.enable_custom_widget_manager = lambda: asked.append("manager")  # type: ignore[attr-defined]
    output._widgets = SimpleNamespace(_installed_url="https://colab.example/manager.js")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "google.colab.output", output)
    w = wb.Workbench(wb.workloads.matmul(8, 8, 8), auto_measure=False)
    try:
        for shown in (w, w.show("nest")):
            data, metadata = shown._repr_mimebundle_()
            assert data[WIDGET]["model_id"] == shown.model_id
            assert metadata[WIDGET]["colab"]["custom_widget_manager"]["url"] == "https://colab.example/manager.js"
            assert "matmul" in data["text/html"]
        assert asked == ["manager"]
    finally:
        w.close()
