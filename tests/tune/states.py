"""Where a run stands, as a value that can be compared between processes."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import json


def state_of(standing):
    scheduler = copy.deepcopy(standing.scheduler)
    for state in scheduler.states:
        state.exhausted = False  # the search says so again
    return {
        "states": scheduler.states,
        "next": scheduler.next(),
        "terms": [scheduler.terms(i) for i in range(len(scheduler.tasks))],
        "why": [scheduler.why(i) for i in range(len(scheduler.tasks))],
        "resting": [scheduler.resting(i) for i in range(len(scheduler.tasks))],
        "budget": standing.budget.trials,
        "epsilon": standing.epsilon,
        "wishes": copy.deepcopy(standing.wishes),
        "measured": copy.deepcopy(standing.measured),
        "ledgers": [(s.ledger.best, s.ledger.course[:], s.ledger.untuned_ms) for s in standing.scheduler.states],
        "quality": dict(standing.quality),
        "numbers": (standing.next_trial, standing.next_round),
        "lines": tuple(map(len, (standing.records, standing.comparisons, standing.rounds, standing.commands))),
    }


def digest(standing):
    """A short text that is the same in every process for the same standing."""

    def plain(value):
        if dataclasses.is_dataclass(value):
            return dataclasses.asdict(value)
        if isinstance(value, set | frozenset):
            return sorted(value)
        return list(value)

    text = json.dumps(state_of(standing), default=plain, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
