"""From a log back to a search: the same model, the same judgement of it, the same next proposals."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from tune.test_strategies import SMALL, TARGET, TASK, measured, record, rounds

from workbench import workloads
from workbench.cost_model import AnalyticModel, XGBoostModel
from workbench.search import make_search
from workbench.space.space import make_space


@pytest.fixture(scope="module")
def conv():
    return make_space(workloads.conv2d_nhwc(14, 14, 16, 48, bias=True, relu=True), TARGET)


def by_hand(space, number: int, count: int) -> list[SimpleNamespace]:
    """Records of rows that a person has added in a round, as they come to a search: one by one."""
    variant = space.variants[-1]
    picks = variant.sampler.draw(count, np.random.default_rng([number, 3]))
    out = []
    for key, pick in zip(variant.keys(picks), picks, strict=True):
        c = SimpleNamespace(key=f"{int(key):016x}", variant=variant.index, row=variant.sampler.row(pick), predicted=0.5)
        out.append(record(c, measured(c), number, space))
        out[-1].origin = "manual"
    return out


@pytest.mark.parametrize("hand", [0, 2])
def test_restored_it_goes_on_whatever_else_the_model_and_a_person_know(hand, conv):
    """The model was told of rows of another run before, as by seeds or a file; and a person adds some in between."""
    variant = conv.variants[0]
    x = variant.features(variant.sampler.draw(40, np.random.default_rng(9)))
    speed = np.linspace(0.0, 3.0, 40)

    def search():
        model = XGBoostModel()
        model.warm_start({"elsewhere": (x, speed)})
        return make_search("evolutionary", TASK, conv, model, 2, SMALL)

    live, batches, log = search(), [], []
    for k in range(4):
        batches.append(live.ask(7))
        told = [(c, measured(c)) for c in batches[-1]]
        given = by_hand(conv, k, hand)
        for r in given:
            live.restore([r])
        live.tell(told)
        lines = [record(c, m, k, conv) for c, m in told]
        log += lines[:3] + given + lines[3:]
    resumed = search()
    resumed.restore([r for r in log if r.round < 3])
    assert resumed.ask(7) == batches[3]
    whole = search()
    whole.restore(log)
    assert whole.quality == live.quality
    assert whole.ask(7) == live.ask(7)


def test_rows_by_hand_take_no_round_out_of_the_judgement(conv):
    search = make_search("evolutionary", TASK, conv, AnalyticModel(), 2, SMALL)
    rounds(search, conv, 2)
    judged = search.quality
    for r in by_hand(conv, 7, 9):
        search.restore([r])
    assert search.quality == judged
    assert judged.pairs
