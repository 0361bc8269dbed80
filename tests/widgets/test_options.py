"""Options of a workbench about a model's file: they reach `load_onnx`, and one that does not exist is an error."""

from __future__ import annotations

import numpy as np
import pytest
from errors import models

import workbench as wb
from workbench.cli import main
from workbench.errors import UsageError, WorkbenchError
from workbench.graph.graph import Source
from workbench.network.seeded_model import load_filled
from workbench.session.export import network as networks
from workbench.widgets.export import made


@pytest.fixture
def open_model(tmp_path):
    return models.open_dimension(tmp_path / "open.onnx")


@pytest.fixture
def stub(tmp_path):
    """A model without data for its weights."""
    path = models.dense(tmp_path / "stub.onnx")
    import onnx

    model = onnx.load(path)
    for weight in model.graph.initializer:
        for field in ("raw_data", "float_data"):
            weight.ClearField(field)
    onnx.save(model, path)
    return path


def refused(call, *arguments, **named):
    with pytest.raises(WorkbenchError) as caught:
        call(*arguments, **named)
    return caught.value


def test_shapes_reach_the_model(open_model):
    error = refused(wb.Workbench, open_model)
    assert error.code == "model.unresolved_dim"
    assert "shapes={'x': (" in error.hint
    assert "--" not in error.hint
    (name,) = error.where[:1]
    for opened in (wb.Session(open_model, shapes={name: (5, 3)}), wb.Workbench(open_model, shapes={name: (5, 3)})):
        session = getattr(opened, "session", opened)
        assert session.state.opened.graph.input_types()[name].shape == (5, 3)
        assert f"{{'{name}': (5, 3)}}" in made(session, {"what": "network"}).text
        session.close()


def test_weights_are_made_up_by_a_seed(stub):
    error = refused(wb.Workbench, stub)
    assert error.code == "model.weights_missing"
    assert "fill_weights=SEED" in error.hint
    assert "--" not in error.hint
    w = wb.Workbench(stub, fill_weights=3)
    graph, same, other = w.session.state.opened.graph, load_filled(stub, 3).optimize(), load_filled(stub, 4).optimize()
    assert all(np.array_equal(graph.constants[n], same.constants[n]) for n in same.constants)
    assert not all(np.array_equal(graph.constants[n], other.constants[n]) for n in other.constants)
    assert networks._source(w.session.state) == Source(str(stub), 3)
    w.session.close()
    assert refused(wb.Workbench, stub, fill_weights="a").code == "usage.number"


@pytest.mark.parametrize("options", [{"nonsense": 3}, {"shape": {"x": (8, 64)}}, {"Layout": {}}])
def test_an_option_that_does_not_exist(tmp_path, options):
    path = models.dense(tmp_path / "m.onnx")
    error = refused(wb.Workbench, path, **options)
    assert isinstance(error, UsageError)
    assert error.code == "usage.option"
    assert "'shapes'" in error.hint or "shape" not in options
    if "Layout" not in options:
        assert refused(wb.Session, path, **options).code == "usage.option"


@pytest.mark.parametrize("options", [{"shapes": {"x": (8, 64)}}, {"fill_weights": 0}])
def test_what_is_no_file_has_no_options_of_a_file(options):
    task = wb.Task.of_func(wb.workloads.matmul(4, 4, 4))
    assert refused(wb.Workbench, task, **options).code == "usage.option"
    session = wb.Session(task)
    assert refused(wb.Workbench, session, **options).code == "usage.option"
    session.close()


def test_widgets_traits_are_options_as_well(tmp_path):
    w = wb.Workbench(wb.Task.of_func(wb.workloads.matmul(4, 4, 4)), layout={"width": "50%"}, shapes=None)
    assert w.layout.width == "50%"
    w.session.close()


def test_hints_on_the_command_line_are_in_its_words(capfd, open_model, stub):
    for path, word in ((open_model, "--shape x="), (stub, "--fill-weights SEED")):
        assert main(["tasks", str(path)]) == 3
        said = capfd.readouterr().err
        assert word in said
        assert "shapes=" not in said
        assert "fill_weights=" not in said
    assert "shapes={" in refused(wb.extract_tasks, wb.load_onnx(open_model)).hint  # Python's words again
