"""Spaces of T1 files: values, restrictions and numbers equal to those of a few lines of Python."""

import itertools
import json
import math

import pandas as pd
import pytest
from tuner_files import HERE, document

import workbench as wb
from workbench.errors import LogError, UsageError
from workbench.logs import SearchSpace, read_space

KERNEL_TUNER = HERE / "kernel-tuner"
CONVOLUTION = KERNEL_TUNER / "convolution_milo-T1.json"


def _by_python(path):
    """Enumerate a space with Python's own evaluation, which the tests can trust."""
    described = document(path)["ConfigurationSpace"]
    values = {p["Name"]: eval(p["Values"]) for p in described["TuningParameters"]}
    for row in itertools.product(*values.values()):
        configuration = dict(zip(values, row, strict=True))
        if all(eval(c["Expression"], dict(configuration)) for c in described["Conditions"]):
            yield row


@pytest.mark.parametrize(
    ("path", "combinations", "allowed"),
    [
        (CONVOLUTION, 10_240, 4_362),
        (KERNEL_TUNER / "pnpoly-T1.json", 4_092, 4_092),
        (HERE / "ktt" / "coulomb-T1-full-search.json", 672, 210),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_the_configurations_are_those_of_python(path, combinations, allowed):
    space = read_space(path)
    rows = list(_by_python(path))
    assert (space.combinations, len(space)) == (combinations, allowed)
    assert [tuple(row) for row in space.configurations().itertuples(index=False)] == rows


def test_a_large_space_is_counted():
    assert len(read_space(KERNEL_TUNER / "unit-T1_input.json")) == 16 * 16 * 8 * 6 * 8 * 8 * 2 * 2 * 3 // 4


@pytest.mark.parametrize("way", ["paths", "hint", "space"])
def test_a_complete_search_tries_every_configuration_once(way):
    path = KERNEL_TUNER / "convolution_milo-A100.json.gz"
    log = {
        "paths": lambda: wb.logs.open([CONVOLUTION, path]),
        "hint": lambda: wb.logs.open(path, space=CONVOLUTION),
        "space": lambda: wb.logs.open(path, space=read_space(CONVOLUTION)),
    }[way]()
    assert (len(log), log.format) == (4362, "kernel-tuner")
    assert (log.space.tried(log.table()) == 1).all()
    assert all(configuration in log.space for configuration in log.records["params"][:50])


def test_a_sample_of_a_space_leaves_the_rest_untried():
    log = wb.logs.open(KERNEL_TUNER / "mm96-cpu-v1.5.0.json")
    assert log.space.restrictions is None, "a cache does not say whether there are any"
    tried = log.space.tried(log.table())
    assert (len(tried), tried.sum(), (tried == 0).sum()) == (90, 40, 50)


def test_membership_and_restrictions_with_divisions():
    space = SearchSpace({"a": [0, 1, 2, 3], "b": ["x", "y"]}, ["a == 0 or 6 % a == 0", "b == 'x' or a > 1"])
    assert {"a": 2, "b": "y"} in space
    assert {"a": 1, "b": "y"} not in space
    assert {"a": 5, "b": "x"} not in space
    assert {"a": 2} not in space
    assert "a" not in space
    assert space.configurations().to_dict("records") == [
        {"a": 0, "b": "x"}, {"a": 1, "b": "x"}, {"a": 2, "b": "x"}, {"a": 2, "b": "y"}, {"a": 3, "b": "x"},
        {"a": 3, "b": "y"},
    ]  # fmt: skip
    with pytest.raises(UsageError) as caught:
        space.tried(pd.DataFrame({"a": [1]}))
    assert caught.value.code == "usage.space_parameters"


def test_a_space_with_nothing_allowed_or_too_much():
    assert len(SearchSpace({"a": [1, 2], "b": [3]}, ["a > 5"])) == 0
    with pytest.raises(LogError) as caught:
        len(SearchSpace({name: list(range(1000)) for name in "abcd"}))
    assert caught.value.code == "log.space_too_large"
    many = SearchSpace({name: list(range(1000)) for name in "abcd"}, ["a == b == c == d", "a == b", "a == c"])
    assert many.combinations == 10**12
    assert len(many) == 1000, "a restriction applies as soon as its parameters are there"
    assert math.isclose(float(many.configurations().mean().mean()), 499.5)


@pytest.mark.parametrize(
    "change",
    [
        lambda t1: t1.pop("ConfigurationSpace"),
        lambda t1: t1["ConfigurationSpace"].pop("TuningParameters"),
        lambda t1: t1["ConfigurationSpace"]["TuningParameters"].clear(),
        lambda t1: t1["ConfigurationSpace"]["TuningParameters"][0].update(Values="__import__('os').getcwd()"),
        lambda t1: t1["ConfigurationSpace"]["TuningParameters"][0].update(Values="range(10**12)"),
        lambda t1: t1["ConfigurationSpace"]["TuningParameters"][0].update(Values="5"),
        lambda t1: t1["ConfigurationSpace"]["TuningParameters"][0].update(Values=None),
        lambda t1: t1["ConfigurationSpace"]["Conditions"].append({"Expression": "block_size_x.real > 1"}),
        lambda t1: t1["ConfigurationSpace"]["Conditions"].append({"Expression": "blok_size_x > 1"}),
        lambda t1: t1["ConfigurationSpace"]["Conditions"].append("x"),
        lambda t1: t1.update(ConfigurationSpace=[]),
    ],
)
def test_damage_is_told_with_its_place(change, tmp_path):
    path = tmp_path / "T1.json"
    described = document(CONVOLUTION)
    change(described)
    path.write_text(json.dumps(described))
    with pytest.raises(LogError) as caught:
        read_space(path)
    assert caught.value.code == "log.space"
    assert str(path) in caught.value.where


def test_no_text_describes_a_space(tmp_path):
    path = tmp_path / "T1.json"
    path.write_text('{"TuningParameters": [')
    with pytest.raises(LogError) as caught:
        wb.logs.open(KERNEL_TUNER / "mm96-cpu-v1.5.0.json", space=path)
    assert caught.value.code == "log.space"
