"""Machines that answer from a log: what they tell is what stands in the file, and nothing more than was asked for."""

import gzip
import json
import statistics

import numpy as np
import pytest

import workbench as wb
from workbench import labs
from workbench.errors import InputError, UsageError
from workbench.labs import RECORDINGS, recorded, sample_log


@pytest.fixture(scope="module")
def cache():
    with gzip.open(sample_log("convolution-A100.json.gz")) as file:
        return json.load(file)["cache"]


def _entry(cache, params):
    return cache[",".join(str(value) for value in params.values())]


@pytest.mark.parametrize("one", RECORDINGS, ids=lambda one: one.name)
def test_what_is_declared_holds(one):
    machine = recorded(one.name, answers=True)
    assert len(machine.space) == one.configurations == len(machine.log)
    assert set(machine.log.records["device"]) == {one.machine}
    assert one.licence == "MIT"
    assert one.machine in repr(machine)
    assert one.licence in machine._repr_html_()


def test_a_measurement_has_the_repetitions_of_the_file(cache):
    machine = recorded("a100-convolution")
    for number in (0, 1000, 2000):
        params = machine.space[number]
        entry, found = _entry(cache, params), machine.measure(params)
        assert found.costs_ms == pytest.approx(entry["times"])
        assert found.median_ms == pytest.approx(statistics.median(entry["times"]))
        assert found.host == "NVIDIA A100-PCIE-40GB (recorded)"
    assert machine.measured == 3


def test_failures_are_told_as_a_device_tells_them(cache):
    machine = recorded("a100-convolution")
    said = {"RuntimeFailedConfig": "run_error", "CompilationFailedConfig": "build_error"}
    failed = {entry["time"]: entry for entry in cache.values() if entry["time"] in said}
    assert set(failed) == set(said)
    for word, entry in failed.items():
        found = machine.measure({name: entry[name] for name in machine.space.params})
        assert (found.status, found.error, found.costs_ms) == (said[word], word, ())


def test_the_best_and_the_log_are_told_where_the_lab_says_so(cache):
    hidden, told = recorded("a100-convolution"), recorded("a100-convolution", answers=True)
    for name in ("best", "log"):
        with pytest.raises(UsageError) as caught:
            getattr(hidden, name)
        assert caught.value.code == "lab.mode"
    params, found = told.best
    means = [entry["time"] for entry in cache.values() if not isinstance(entry["time"], str)]
    assert _entry(cache, params)["time"] == min(means)
    assert found.mean_ms == pytest.approx(min(means))


def test_a_budget_counts_different_configurations(cache):
    machine = recorded("a100-convolution", budget=2)
    first, second = machine.space[0], machine.space[1]
    for params in (first, second, first):
        machine.measure(params)
    told = [_entry(cache, params) for params in (first, second)]
    assert machine.device_s == pytest.approx(sum(e["compile_time"] + e["benchmark_time"] for e in told) / 1e3)
    with pytest.raises(UsageError) as caught:
        machine.measure(machine.space[2])
    assert caught.value.code == "lab.budget"
    assert machine.measured == 2


def test_parameters_with_one_value_need_not_be_said():
    machine = recorded("a100-convolution")
    full = machine.space[7]
    short = {name: value for name, value in full.items() if len(machine.space.params[name]) > 1}
    assert len(short) < len(full)
    assert machine.measure(**short) == machine.measure(full)


REFUSED = [
    ({"block_size": 16}, "no parameter 'block_size'"),
    ({"block_size_x": 16}, "says nothing of block_size_y"),
    ({"block_size_x": 17}, "block_size_x cannot be 17"),
    ({"block_size_x": np.array([16, 32])}, "block_size_x cannot be array([16, 32])"),
    ({"block_size_x": 256, "block_size_y": 16}, "does not allow"),
]


@pytest.mark.parametrize(("change", "said"), REFUSED)
def test_what_the_space_does_not_have_is_told(change, said):
    machine = recorded("a100-convolution")
    params = change if "nothing" in said else {**machine.space[0], **change}
    with pytest.raises(UsageError) as caught:
        machine.measure(params)
    assert caught.value.code == "usage.configuration"
    assert said in caught.value.message
    assert machine.measured == 0


def test_a_search_on_a_recorded_machine():
    machine = recorded("rtx2080ti-coulomb")
    runs = machine.simulate("random", budget=20, seeds=3)
    log = wb.logs.open(sample_log("coulomb-RTX2080Ti.json.gz"))
    assert runs["cost_s"].equals(wb.logs.simulate(log, strategy="random", budget=20, seeds=3)["cost_s"])
    assert machine.score(runs) == wb.logs.score(runs, log)
    assert machine.measured == 0


def test_a_name_that_is_not_there():
    with pytest.raises(InputError) as caught:
        labs.recorded("a100-convolutions")
    assert caught.value.code == "lab.no_recording"
    assert "a100-convolution" in caught.value.hint
