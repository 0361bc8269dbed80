"""The fake run behaves as a real one does where a session looks."""

from __future__ import annotations

from session.conftest import Mirror, matmul
from session.fakes import FakeTuning
from waiting import until

from workbench.analysis import best_so_far


def test_a_session_follows_a_fake_run_to_its_end(session):
    fake = FakeTuning([matmul(64), matmul(32)], trials=200, rate=2000.0)
    s = session(fake)
    mirror = Mirror(s)
    fake.start()
    assert fake.join(100)
    until(lambda: s.state.watch.told)
    assert s.flush(100)
    until(lambda: mirror.agrees(s))
    tuning, tasks = s.snapshot().slices["tuning"], s.snapshot().slices["tasks"]
    assert (tuning["state"], tuning["trials"], tuning["fraction"]) == ("done", 200, 1.0)
    assert sum(row["trials"] for row in tasks["rows"]) == 200
    assert sum(row["failed"] for row in tasks["rows"]) == tuning["failed"] == sum(not r.ok for r in fake.records) > 0
    assert len(fake.rounds) == 13
    assert sum(r.trials for r in fake.rounds) == 200
    assert best_so_far(fake).count == 200
    assert fake.records == FakeTuning(fake.tasks, rate=2000.0).feed(200).records


def test_its_trials_open_and_it_is_paused_and_cancelled(session):
    fake = FakeTuning([matmul(64)]).feed(20)
    s = session(fake)
    s.run("open_trial", trial=next(r.trial for r in fake.records if r.trace))
    assert [step.name for step in s.schedule.trace] == ["split"]
    s.run("pause")
    assert fake.state == s.snapshot().slices["tuning"]["state"] == "paused"
    s.run("cancel")
    assert (fake.state, len(fake.rounds), sum(r.trials for r in fake.rounds)) == ("cancelled", 2, 20)
