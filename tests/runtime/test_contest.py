"""Contests: who is faster, on clocks that drift, jump and are disturbed, and in a worker process."""

import itertools
import math
import random
from dataclasses import replace
from types import SimpleNamespace

import pytest
from runtime.llvm_kernels import CRASH, HANG, add_func, code

from workbench.errors import UsageError
from workbench.runtime.measuring import contest_run
from workbench.runtime.measuring.contest_rounds import _orders, enough, play
from workbench.runtime.measuring.jobs import ContestJob
from workbench.runtime.results.contest import Contest
from workbench.runtime.results.contest_statistics import confidence, plain, resolution
from workbench.runtime.results.measure_options import BRIEF, ContestRules, MeasureOptions
from workbench.runtime.results.measurement import Measurement
from workbench.runtime.workers.batch import MeasureInput
from workbench.runtime.workers.dispatch import BatchDispatch
from workbench.runtime.workers.local_runner import LocalRunner
from workbench.target import Target

# ---- clocks ----


BLOCK = ContestRules().block_ms


def contest_of(costs):
    return Contest(measurements=tuple(Measurement(status="ok", costs_ms=tuple(c)) for c in costs))


class Machine:
    """Runs blocks in simulated time; what disturbs them depends on when they run and not on who does."""

    def __init__(
        self,
        seed,
        true_ms,
        noise=0.01,
        drift=0.0,
        outliers=0.0,
        modes=1.0,
        blind=True,
        block_ms=BLOCK,
        late=0.0,
        cold=0.0,
    ):
        self.late, self.cold, self.place, self.last = late, cold, 0, 0
        self.block_ms, self.chance, self.true_ms = block_ms, random.Random(seed), true_ms
        self.noise, self.drift, self.outliers, self.modes, self.blind = noise, drift, outliers, modes, blind
        self.now, self.mode, self.until = 0.0, 1.0, 0.0

    def block(self, i):
        if self.now >= self.until:  # the clock has another speed for some blocks
            self.mode, self.until = self.chance.choice([1.0, self.modes]), self.now + self.chance.expovariate(1 / 15.0)
        cost = self.true_ms[i] * self.mode * (1.0 + self.drift * self.now / 100.0) * self.chance.gauss(1.0, self.noise)
        hit = self.chance.random() < self.outliers
        cost *= self.chance.uniform(2.0, 20.0) if hit else 1.0
        cost *= 1.0 + self.late * (self.place % len(self.true_ms)) + self.cold * (self.last != i)
        self.place, self.last = self.place + 1, i
        self.now += self.block_ms
        return abs(cost) + 1e-9, self.blind or not hit, self.block_ms


MACHINES = {
    "quiet": {},
    "noisy": {"noise": 0.03},
    "drifts": {"drift": 0.5},
    "disturbed unseen": {"outliers": 0.1},
    "disturbed and seen": {"outliers": 0.3, "blind": False},
    "two speeds": {"modes": 1.25},
    "late in a round": {"late": 0.02, "noise": 0.005},
    "after another": {"cold": 0.03, "noise": 0.005},
    "all of it": {"noise": 0.02, "drift": 0.3, "outliers": 0.05, "modes": 1.2},
}


def outcomes(true_ms, count, rules=None, **machine):
    for seed in range(count):
        yield contest_of(play(Machine(seed, true_ms, **machine).block, len(true_ms), rules or ContestRules())[0])


@pytest.mark.parametrize("rules", [ContestRules(), BRIEF], ids=["long", "brief"])
@pytest.mark.parametrize("machine", MACHINES)
def test_the_same_twice_is_hardly_ever_an_improvement(machine, rules):
    claims = sum(c.winner() != 0 for c in outcomes((1.0, 1.0), 100, rules, **MACHINES[machine]))
    assert claims <= 2


@pytest.mark.parametrize("rules", [ContestRules(), BRIEF], ids=["long", "brief"])
def test_a_place_in_the_rounds_is_nobodys_gain(rules):
    for place in ({"late": 0.02}, {"late": 0.02, "noise": 0.003}, {"cold": 0.03}):
        assert not any(c.winner() for c in outcomes((1.0,) * 4, 20, rules, **place))


@pytest.mark.parametrize("participants", [2, 3, 4])
def test_everyone_is_as_often_early_as_late_and_two_follow_themselves_as_often_as_each_other(participants):
    orders = list(itertools.islice(_orders(participants), 40))
    assert all(sorted(order) == list(range(participants)) for order in orders)
    for k in range(0, 40, 4):
        places = [sum(order.index(i) for order in orders[k : k + 4]) for i in range(participants)]
        assert set(places) == {2 * (participants - 1)}
    assert len({tuple(order) for order in orders}) > 1
    if participants == 2:
        line = [i for order in orders for i in order]
        same = [sum(a == b == i for a, b in itertools.pairwise(line)) for i in (0, 1)]
        assert abs(same[0] - same[1]) <= 4


@pytest.mark.parametrize("each", [[0.01, 0.011], [0.3, 0.33], [0.49, 0.51], [1.45, 1.6], [3.0, 3.9], [70.0, 80.0]])
def test_the_same_kernel_twice_gets_as_many_stretches_however_it_was_calibrated(each):
    for rules, flushes in itertools.product((ContestRules(), BRIEF), (False, True)):
        timer = SimpleNamespace(flushes=flushes)
        stretch = contest_run.common_stretch([*each, 500.0])
        blocks = [contest_run._ParticipantBlocks(timer, None, ms, stretch, rules.block_ms) for ms in each]
        assert len({(b.count, b.skip) for b in blocks}) == 1
        assert all(b.number * ms <= 1.5 * max(stretch, ms) for b, ms in zip(blocks, each, strict=True))


def test_a_brief_one_is_brief_and_finds_what_matters():
    found = list(outcomes((1.0, 0.93), 40, BRIEF, noise=0.02, block_ms=BRIEF.block_ms))
    assert sum(c.winner() == 1 for c in found) >= 36
    assert all(2 * c.rounds * BRIEF.block_ms <= BRIEF.most_ms + 2 * BRIEF.block_ms for c in found)


def test_four_of_the_same_are_hardly_ever_an_improvement():
    assert sum(c.winner() != 0 for c in outcomes((1.0,) * 4, 50, **MACHINES["all of it"])) <= 1


@pytest.mark.parametrize("machine", MACHINES)
def test_three_percent_are_found(machine):
    found = [c.winner() == 1 for c in outcomes((1.0, 0.97), 40, **MACHINES[machine])]
    assert sum(found) >= 36
    assert not any(c.winner() for c in outcomes((0.97, 1.0), 20, **MACHINES[machine]))


def test_three_percent_are_found_within_a_tenth_of_a_second_where_it_is_quiet():
    rounds = sorted(c.rounds for c in outcomes((1.0, 0.97), 50, noise=0.007))
    assert rounds[44] * 2 * BLOCK <= 110.0


def test_a_clear_case_is_short():
    assert all(c.rounds == ContestRules().least for c in outcomes((1.0, 0.85), 20))
    assert all(c.rounds == ContestRules().least for c in outcomes((0.85, 1.0), 20))


def test_a_plain_difference_needs_four_rounds():
    for true_ms in ((10.0, 1.0), (1.0, 10.0), (10.0, 1.0, 1.1)):
        for contest in outcomes(true_ms, 10):
            assert contest.rounds == 4
            assert contest.winner() == (1 if true_ms[0] > 1.0 else 0)
    assert plain([0.8] * 4, [1.0] * 4)
    assert plain([1.0] * 4, [0.8] * 4)
    assert not plain([0.5] * 3, [1.0] * 3)
    assert not plain([0.5, 0.5, 0.5, 0.81], [1.0] * 4)
    assert not contest_of([[1.0, 1.1, 1.2, 1.3], [0.9, 1.0, 1.1, 1.2]]).beats(1)


def test_calls_of_seconds_end_after_the_fewest_rounds_that_can_convince():
    machine = Machine(0, (1.0, 0.95), noise=0.001, block_ms=3000.0)
    costs, _ = play(machine.block, 2, ContestRules())
    assert len(costs[0]) == 7
    assert contest_of(costs).winner() == 1


def test_with_disturbed_rounds_only_it_ends_nevertheless():
    machine = Machine(0, (1.0, 0.9), outliers=1.0, blind=False)
    costs, clean = play(machine.block, 2, ContestRules())
    assert not clean
    assert len(costs[0]) >= ContestRules().least
    assert machine.now < 4 * ContestRules().most_ms


def test_where_cores_were_taken_away_only_a_plain_difference_counts():
    def disturbed(*costs):
        timed = [Measurement(status="ok", costs_ms=c, why_not="a thread had half of a core") for c in costs]
        return Contest(measurements=tuple(timed))

    close = disturbed((1.0,) * 20, (0.8,) * 20)
    assert not close.clean
    assert not close.differ(1)
    assert not close.beats(1)
    assert close.winner() == 0
    plain = disturbed((3.1, 3.2, 3.3, 9.0), (1.0,) * 4)
    assert plain.differ(1)
    assert plain.winner() == 1
    assert not disturbed((1.0,) * 4, (3.2,) * 4).beats(1)
    assert close.why_not == "a thread had half of a core"


# ---- statistics ----


def test_confidence_is_the_chance_that_is_counted_out():
    for n in (1, 2, 5):
        for signs in itertools.product((-1, 1), repeat=n):
            mine = [math.exp(s * (k + 1) / 100) for k, s in enumerate(signs)]

            def won(signs):
                return sum(k + 1 for k, s in enumerate(signs) if s < 0)

            outcomes = [won(other) < won(signs) for other in itertools.product((-1, 1), repeat=n)]
            assert confidence(mine, [1.0] * n) == pytest.approx(sum(outcomes) / len(outcomes))


def test_sure_after_seven_rounds_at_the_earliest():
    assert [n for n in range(1, 10) if confidence([0.9 + k / 1000 for k in range(n)], [1.0] * n) >= 0.99] == [7, 8, 9]


def test_one_of_several_challengers_has_to_be_surer():
    incumbent, challenger = [1.0] * 7, [0.9 + k / 1000 for k in range(7)]
    assert contest_of([incumbent, challenger]).winner() == 1
    assert contest_of([incumbent, challenger, incumbent]).winner() == 0
    assert contest_of([incumbent, [1.1] * 7, challenger]).beats(2)


def test_a_clock_that_does_not_move_is_no_error():
    still = contest_of([[0.0] * 10, [0.0] * 10])
    assert (still.ratio(1), still.confidence(1), still.winner()) == (1.0, 0.0, 0)
    assert contest_of([[0.0, 10.0] * 5, [0.0, 0.0, 10.0, 10.0, 0.0] * 2]).winner() == 0
    assert not enough([[0.0] * 10, [0.0] * 10], 1.0, ContestRules())


def test_equal_times_are_no_evidence():
    assert confidence([1.0] * 20, [1.0] * 20) == 0.0
    assert not contest_of([[1.0] * 20] * 2).beats(1)


def test_resolution_halves_with_four_times_the_rounds():
    chance = random.Random(1)
    logs = [math.exp(chance.gauss(0, 0.01)) for _ in range(4000)]
    few = sum(resolution(logs[k : k + 20], [1.0] * 20) for k in range(0, 4000, 20)) / 200
    many = sum(resolution(logs[k : k + 80], [1.0] * 80) for k in range(0, 4000, 80)) / 50
    assert few == pytest.approx(2 * many, rel=0.1)
    assert many == pytest.approx(2.576 * 1.253 * 0.01 / math.sqrt(80), rel=0.15)
    assert resolution([1.0], [1.0]) == math.inf


def test_a_gain_below_the_margin_or_the_resolution_is_none():
    sure = [[1.0] * 60, [0.997 + k * 1e-5 for k in range(60)]]
    assert contest_of(sure).confidence(1) > 0.999
    assert not contest_of(sure).beats(1)
    assert contest_of(sure).beats(1, margin=0.001)
    wild = [[1.0] * 12, [0.95 - 0.03 * k for k in range(12)]]
    assert contest_of(wild).beats(1)
    wild[1] = [0.99 - 0.08 * (k % 7) for k in range(12)]
    assert contest_of(wild).confidence(1) > 0.99
    assert contest_of(wild).beats(1) == (-math.log(contest_of(wild).ratio(1)) > contest_of(wild).resolution(1))


def test_a_large_difference_shows_through_large_noise_whichever_is_the_faster():
    """Half the width of the interval is one of logarithms: two times as slow is as far away as two times as fast."""
    found = contest_of([[1.0, 1.0, 3.0, 3.0] * 3, [0.25, 0.7, 0.75, 2.1] * 3])
    assert 1.0 - found.ratio(1) < found.resolution(1) < -math.log(found.ratio(1)), "the case that this test is for"
    assert found.differ(1) == found.differ(0, 1) == found.beats(1) is True


def test_what_is_plain_needs_no_statistics_to_differ():
    wild = contest_of([[1.0] * 5, [1.3, 200.0, 1.3, 200.0, 1.3]])
    assert wild.differ(0, 1)
    assert not contest_of([[1.0, 1.4] * 5, [1.4, 1.0] * 5]).differ(1)


def test_whoever_was_not_timed_loses():
    ok, failed = Measurement(status="ok", costs_ms=(1.0,) * 10), Measurement(status="run_error", error="it broke")
    one = Contest(measurements=(failed, ok))
    assert one.beats(1)
    assert one.winner() == 1
    assert not one.beats(0, 1)
    assert one.ratio(0, 1) == math.inf
    assert one.status == "run_error"
    assert one.error == "participant 0: run_error: it broke"
    other = Contest(measurements=(ok, failed, Measurement(status="cancelled")))
    assert other.winner() == 0
    assert other.status == "cancelled"
    assert (other.rounds, other.latency_ms(0), other.latency_ms(1)) == (10, 1.0, math.inf)
    assert Contest(measurements=(failed, failed)).winner() == 0


def test_enough_needs_all_challengers_decided():
    rules = ContestRules()
    clear, open_ = [0.85] * 10, [1.0 + 0.03 * (-1) ** k * (k + 1) / 10 for k in range(10)]
    assert enough([[1.0] * 10, clear], 1.0, rules)
    assert not enough([[1.0] * 10, clear, open_], 1.0, rules)
    assert not enough([[1.0] * 9, clear[:9]], 1.0, rules)
    assert enough([[1.0] * 10, clear, open_], rules.most_ms, rules)


def test_rules_that_cannot_be():
    bad = {
        "block_ms": (0, -1, "x"),
        "budget_ms": (0,),
        "most_ms": (0,),
        "resolution": (0,),
        "warm_ms": (-1,),
        "least": (0, 1.5),
    }
    for name, values in bad.items():
        for value in values:
            with pytest.raises(UsageError) as caught:
                ContestRules(**{name: value})
            assert caught.value.code == "usage.contest"
            assert name in str(caught.value)


# ---- in a worker process ----

N = 1024
FUNC = add_func(N)
SHORT = ContestRules(block_ms=0.3, warm_ms=0.5, budget_ms=5.0, most_ms=20.0)


@pytest.fixture(scope="module", params=[1, 2])
def local(request):
    with LocalRunner(Target.host(request.param), MeasureOptions(timeout_s=3.0), builders=1) as one:
        yield one


def right(k):
    return MeasureInput("t", FUNC, add_func(N, 1.0, f"right{k}"), flops=N)


@pytest.mark.parametrize("constants", ["near", "shared", "memory"])
def test_participants_are_built_checked_and_timed_in_the_same_rounds(local, constants):
    contest = local.contest([right(0), right(1), right(2)], MeasureOptions(constants=constants), SHORT)
    assert contest.status == "ok", contest.error
    assert len({len(c) for c in contest.costs_ms}) == 1
    assert contest.rounds >= 7
    assert all(m.max_rel_error == 0 and m.gflops > 0 and m.number > 1 for m in contest.measurements)
    assert contest.elapsed_s > 0


def test_what_was_built_lately_is_not_built_again(local, monkeypatch):
    assert local.measure(right(7)).ok
    monkeypatch.setattr(BatchDispatch, "_begin_build", None)
    assert local.contest([right(7), right(7)], rules=SHORT).status == "ok"


def test_one_that_fails_harms_no_other(local, monkeypatch):
    if local.target.threads == 1:
        pytest.skip("once is enough")
    give = BatchDispatch._give

    def spoil(self, worker, duty, job):
        if isinstance(job, ContestJob):
            trials = list(job.trials)
            for k, trial in enumerate(duty.trials):
                source = {2: CRASH, 3: HANG}.get(trial.index)
                trials[k] = replace(trials[k], code=code(source, N)) if source else trials[k]
                if trial.index == 4:
                    trials[k] = replace(trials[k], code=replace(trials[k].code, object=b"nonsense"))
            job = ContestJob(tuple(trials), job.rules)
        give(self, worker, duty, job)

    monkeypatch.setattr(BatchDispatch, "_give", spoil)
    wrong = MeasureInput("t", FUNC, add_func(N, 2.0))
    broken = MeasureInput("t", FUNC, "no function")
    contest = local.contest([right(0), wrong, right(2), right(3), right(4), broken, right(1)], rules=SHORT)
    statuses = [m.status for m in contest.measurements]
    assert statuses == ["ok", "wrong_answer", "run_error", "timeout", "run_error", "build_error", "ok"]
    errors = [m.error for m in contest.measurements]
    assert "differ" in errors[1]
    assert "SIGSEGV" in errors[2]
    assert "3 s" in errors[3]
    assert "link" in errors[4]
    assert contest.rounds >= 7
    assert contest.winner() in (0, 6)


def test_a_contest_of_one_and_of_different_tasks(local):
    assert local.contest([right(0)], rules=SHORT).status == "ok"
    with pytest.raises(UsageError) as caught:
        local.contest([right(0), MeasureInput("u", FUNC, FUNC)])
    assert caught.value.code == "usage.contest"


def test_cancelled_before_and_while_it_is_held(local):
    import threading

    local.hold(True)
    threading.Timer(0.3, local.cancel).start()
    assert local.contest([right(0), right(1)], rules=SHORT).status == "cancelled"
    local.hold(False)
    assert local.contest([right(0), right(1)], rules=SHORT).status == "ok"


def test_where_the_incumbent_fails_the_fastest_of_the_others_wins():
    failed = Measurement(status="timeout", error="late")
    slow, fast = (Measurement(status="ok", costs_ms=(ms,) * 10) for ms in (5.0, 1.0))
    assert Contest(measurements=(failed, slow, fast)).winner() == 2
    assert Contest(measurements=(failed, fast, slow)).winner() == 1
    assert Contest(measurements=(failed, failed)).winner() == 0


def test_a_contest_is_printed_in_the_words_of_the_workbench():
    told = str(replace(contest_of([[2.0] * 9, [1.0] * 9]), names=("v0", "v3")))
    assert told == (
        "v3 is 2.00× as fast (between 2.00 and 2.00) as v0, sure; v0 2.00\u202fms, v3 1.00\u202fms (in 9 rounds)"
    )
    same = str(contest_of([[1.0] * 9, [1.0] * 9]))
    assert same.startswith("participant 0 and participant 1 take the same time: only a difference of")
    bad = Measurement(status="wrong_answer", error="C[0, 0] is 1, the reference says 2")
    failed = Contest(measurements=(bad, *contest_of([[1.0] * 9, [0.5] * 9]).measurements))
    assert str(failed).startswith("participant 2 is 2.00× as fast"), "of those that were timed"
    assert "participant 0 failed: wrong_answer: C[0, 0] is 1" in str(failed)
    busy = replace(contest_of([[1.0] * 9, [1.0] * 9]).measurements[0], why_not="the second thread had 55 % of a core")
    told = str(Contest(measurements=(busy, busy)))
    assert told.startswith("cannot tell participant 0 from participant 1: the second thread had 55 % of a core (only")
    assert str(Contest(measurements=())) == "cancelled (in 0 rounds)"


def test_a_contest_in_a_notebook():
    found = replace(contest_of([[2.0] * 9, [1.0] * 9]), names=("<i>", "v3"))
    html = found._repr_html_()
    assert "v3 is 2.00× as fast (between 2.00 and 2.00) as &lt;i&gt;, sure" in html
    assert "<table" in html
