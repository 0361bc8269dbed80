"""Where a run stands, as a value that can be compared between processes."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import json


def state_of(run_state):
    scheduler = copy.deepcopy(run_state.scheduler)
    for state in scheduler.states:
        state.exhausted = False  # the search says so again
    return {
        "states": scheduler.states,
        "next": scheduler.next(),
        "terms": [scheduler.terms(i) for i in range(len(scheduler.tasks))],
        "why": [scheduler.why(i) for i in range(len(scheduler.tasks))],
        "resting": [scheduler.resting(i) for i in range(len(scheduler.tasks))],
        "budget": run_state.budget.trials,
        "epsilon": run_state.epsilon,
        "requests": copy.deepcopy(run_state.requests),
        "measured": copy.deepcopy(run_state.measured),
        "ledgers": [(s.ledger.best, s.ledger.course[:], s.ledger.untuned_ms) for s in run_state.scheduler.states],
        "quality": dict(run_state.quality),
        "numbers": (run_state.next_trial, run_state.next_round),
        "lines": tuple(map(len, (run_state.records, run_state.comparisons, run_state.rounds, run_state.commands))),
    }


def digest(run_state):
    """A short text that is the same in every process for the same run_state."""

    def plain(value):
        if dataclasses.is_dataclass(value):
            return dataclasses.asdict(value)
        if isinstance(value, set | frozenset):
            return sorted(value)
        return list(value)

    text = json.dumps(state_of(run_state), default=plain, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
