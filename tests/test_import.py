"""Importing the package is cheap and pulls in none of the heavy dependencies."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

import pytest

import workbench as wb

HEAVY = (
    "IPython",
    "anywidget",
    "ipykernel",
    "ipywidgets",
    "jupyterlab",
    "llvmlite",
    "onnx",
    "pandas",
    "plotly",
    "xgboost",
)


def fresh(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout


def test_import_loads_nothing_heavy():
    loaded = set(json.loads(fresh("import workbench, sys, json; print(json.dumps(sorted(sys.modules)))")))
    assert not loaded & set(HEAVY)


def test_tensor_expressions_and_target_load_nothing_heavy():
    code = "import workbench as wb, sys, json; wb.te; wb.workloads; wb.Target.host()"
    code += "; print(json.dumps(sorted(sys.modules)))"
    assert not set(json.loads(fresh(code))) & set(HEAVY)


def test_who_looks_into_a_model_loads_only_that():
    """Somebody has clicked, and waits for the process."""
    code = "import workbench.server.model_main as m, sys, json; m.prepare(); print(json.dumps(sorted(sys.modules)))"
    loaded = {name for name in json.loads(fresh(code)) if name.startswith("workbench.")}
    rooms = {name.split(".")[1] for name in loaded}
    light = {"arguments", "cooperative_yield", "errors", "first_use", "former_modules", "markup", "safe_text"}
    assert rooms <= {"graph_layout", "model_files", "server", *light}


def test_widgets_do_not_load_what_plotly_only_asks_the_version_of():
    pytest.importorskip("nbformat")
    code = "import workbench.widgets, sys; print('nbformat' in sys.modules, 'jsonschema' in sys.modules)"
    code += "; import plotly.io as p, nbformat; p.show({}, renderer='plotly_mimetype'); nbformat.v4.new_notebook()"
    assert fresh(code).startswith("False False")


@pytest.mark.bench
def test_import_is_fast():
    code = "import time; t = time.perf_counter(); import workbench; print(time.perf_counter() - t)"
    assert min(float(fresh(code)) for _ in range(3)) < 0.5


def test_all_is_sorted_and_complete():
    assert list(wb.__all__) == sorted(wb.__all__)
    assert set(wb.__all__) == set(wb._HOME)
    assert set(wb.__all__) <= set(dir(wb))


@pytest.mark.parametrize("name", sorted(wb._HOME))
def test_public_name_resolves(name):
    module = "workbench." + wb._HOME[name].partition(":")[0]
    assert importlib.util.find_spec(module), module
    assert getattr(wb, name) is not None


@pytest.mark.parametrize("name", ["compile", "tune"])
def test_actions_are_callable_even_after_their_module_was_imported(name):
    code = f"import workbench.tune.run.tuning_session, workbench as wb; assert callable(wb.{name})"
    fresh(code)


AT_ONCE = """
import sys, threading
import workbench as wb

sys.setswitchinterval(1e-6)
names = [*wb._HOME, "build", "moves"] if {turn} else ["build", "moves", *reversed(wb._HOME)]
start, failed = threading.Barrier(len(names)), []

def use(name):
    start.wait()
    try:
        if name in wb._HOME:
            getattr(wb, name)
        else:
            getattr(wb.Schedule(wb.workloads.matmul(8, 8, 8)), name)()
    except BaseException as e:
        failed.append(f"{{name}}: {{e!r}}")

threads = [threading.Thread(target=use, args=(name,), daemon=True) for name in names]
for t in threads:
    t.start()
for t in threads:
    t.join(50)
print(failed, sum(t.is_alive() for t in threads))
"""


@pytest.mark.parametrize("turn", [0, 1])
def test_threads_can_use_names_for_the_first_time_at_once(turn):
    """Where one imports a room and another a module of it, Python may hand out what is half made."""
    assert fresh(AT_ONCE.format(turn=turn)).strip() == "[] 0"


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Scheduler'"):
        wb.Scheduler  # noqa: B018


def test_version_is_that_of_the_distribution():
    from importlib.metadata import PackageNotFoundError, version

    try:
        assert version("schedule-workbench") == wb.__version__
    except PackageNotFoundError:
        pytest.skip("the package is not installed, only on the path")
