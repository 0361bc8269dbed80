"""The sum of a log, which keeps little of it, says what the ledger of all its lines says."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import pytest
from benchmarks.big_own_logs import own
from tune.random_logs import random_log, write

from workbench.log import Comparison, Header, Ledger, Record, Round, load_log
from workbench.log.conditions import mixed
from workbench.log.objects import line_object, line_objects
from workbench.log.reader import write_log
from workbench.log.rows import NEEDLESS
from workbench.log.tally import Tally


@pytest.mark.parametrize("most", [16, 60])
def test_the_tally_says_what_the_whole_log_says(tmp_path, most):
    counted = 0
    for seed in range(200):
        path = write(tmp_path / f"{seed}.tunelog.jsonl", random_log(seed, most))
        log, found = load_log(path), Tally(path)
        if seed % 8 == 0:
            write_log(path, replace(log.header, schema=1), log.lines)
            assert Tally(path).ledger.to_json(found.names) == found.ledger.to_json(found.names)
            path.write_text(path.read_text().replace('"kind":"trial",', ""))  # as in the oldest logs
            assert Tally(path).ledger.to_json(found.names) == found.ledger.to_json(found.names)
            assert Tally(path).trials == found.trials
        ledger, records = Ledger.of(log.lines), log.records
        assert found.ledger.to_json(found.names) == ledger.to_json(found.names), path.read_text()
        assert found.names.keys() >= ledger.tasks.keys()
        assert (found.trials, found.seconds) == (len(records), max(r.elapsed_s for r in records))
        assert found.failures == Counter((r.status, r.error) for r in records if not r.ok)
        assert found.hosts == Counter(r.host for r in records)
        assert found.conditions.mixed() == mixed(records)
        assert found.comparisons == sum(isinstance(line, Comparison) for line in log.lines)
        assert found.rounds == sum(isinstance(line, Round) for line in log.lines)
        for key, task in ledger.tasks.items():
            mine = found.ledger.tasks[key]
            assert (mine.name, mine.weight, mine.flops) == (task.name, task.weight, task.flops)
            assert (mine.failures, mine.comparisons) == (task.failures, task.comparisons)
            counted += len(task._candidates) - len(mine._candidates)
    assert counted > 0  # something was left out


def test_keys_that_are_escaped_are_known_again(tmp_path):
    for key in ('a"b', "\\", "é", "\ud800"):
        path = tmp_path / "log"
        one = next(line for line in random_log(1, 16) if isinstance(line, Record) and line.ok)
        lines = [replace(one, trial=k, key=(k and "other") or key, latency_ms=ms) for k, ms in enumerate((0.5, 0.1))]
        lines += [replace(one, trial=2, key=key, latency_ms=0.9), replace(one, trial=3, key=key, latency_ms=0.505)]
        write_log(path, Header(tasks=()), lines)
        log, found = load_log(path), Tally(path)
        assert found.ledger.to_json({}) == Ledger.of(log.lines).to_json({})
        escaped = [json.dumps(json.loads(line)) for line in path.read_text().splitlines()]
        path.write_text("\n".join(escaped) + "\n")
        assert Tally(path).ledger.to_json({}) == found.ledger.to_json({})


def test_most_trials_of_a_long_log_are_only_counted(tmp_path):
    path = tmp_path / "long.tunelog.jsonl"
    trials = [
        Record(
            task_key="a", task="conv", trial=n, status="ok", target="llvm", key=f"{n:016x}", origin="sketch",
            latency_ms=1.0 + (n * 7919 % 5000) / 5000, elapsed_s=float(n), timestamp=1.8e9 + n,
        )
        for n in range(5000)
    ]  # fmt: skip
    write(path, trials)
    found = Tally(path)
    assert found.ledger.to_json() == Ledger.of(load_log(path).lines).to_json()
    assert len(found.ledger.tasks["a"]._candidates) < 50


def test_only_what_is_right_as_it_stands_is_left_out(tmp_path):
    own(tmp_path / "log", 40)
    left_out = set[str]()
    for row in filter(lambda line: line.startswith('{"of"'), (tmp_path / "log").read_text().splitlines()):
        whole, short = json.loads(row), json.loads(NEEDLESS.sub(b"", row.encode()))
        left_out |= whole.keys() - short.keys()
        assert short == {name: whole[name] for name in short}
    assert left_out == {"costs", "v", "p", "sp", "c", "x", "err"}
    for bad in (
        '"costs":[4,,1]',
        '"costs":[23,1]',
        '"costs":[4,1.5]',
        '"c":"x"',
        '"v":[1,2',
        '"p":1e999',
        '"x":1.',
        '"of":0',
    ):
        assert NEEDLESS.sub(b"", f'{{"n":1,{bad},"e":2}}'.encode()) == f'{{"n":1,{bad},"e":2}}'.encode()


def test_lines_read_together_are_those_read_one_by_one():
    good, deep = b'{"a":[1,{"b":null}]}\n', b'{"a":' + b"[" * 101 + b"]" * 101 + b"}\n"
    odd = [
        b"\n", b'{"a":NaN}\n', b'{"a":1},{"b":2}\n', b'{"a":[1\n', b"2]}\n", b"[1]\n", b"\xff\n", deep, b'{"a":1} \r\n',
        b'\xef\xbb\xbf{"a":1}\n', b'{"a":"\\ud800"}\n', b"{" * 9999 + b"\n",
    ]  # fmt: skip
    for line in odd:
        for lines in ([good, line, good], [line], [good, line[:-1]], [good, good, line]):
            assert line_objects(lines) == [line_object(one) for one in lines]
    assert line_objects([good, *odd]) == [line_object(one) for one in [good, *odd]]
