"""The numbers that decide how a run goes, by concern: each with its unit, its origin and what follows from it.

Where nothing else is said, a number was chosen, not measured. What describes a machine is not here: that comes from the
`Target` or from a measurement on it. The scheduler's numbers are attributes of `GradientScheduler`.
"""

from __future__ import annotations


class Comparisons:
    """Which trials are timed against the best of their task: more of them find it more surely, and take time from new
    trials. ``bench_trust.py tuned`` tells what comes of it.
    """

    #: Trials of a round that challenge the best, at most.
    CHALLENGERS = 3
    #: Times as slow as the fastest challenger: a slower one is left out, because that one has to be beaten first.
    CLOSE = 1.05
    #: Participants of a play-off, the best included.
    FINALISTS = 4
    #: Share of the best one's time: a loser that took less may not have lost, and has a second comparison.
    DOUBT = 0.98
    #: Times as slow as the winner of a brief comparison: a loser that is no slower takes part in the play-off.
    NEAR = 1.02
    #: Times as slow as the best: a slower trial is no rival of it in a play-off.
    RIVAL = 1.1
    #: Rounds that trials wait for a comparison that cannot be made, before the least latency counts.
    PATIENCE = 3


class Finals:
    """What of a run's time is kept for the end. More of it leaves less for trials."""

    #: Seconds that a play-off takes, about; so much of a time limit is kept for each task.
    PLAY_OFF_S = 0.4
    #: Share of a time limit that is kept for play-offs, at most.
    PLAY_OFFS = 0.05
    #: Share of a run's time so far that all play-offs at its end may take.
    ALL_PLAY_OFFS = 0.1
    #: Share of a time limit that is kept for timing the network at the end, at most.
    NETWORK = 0.1


class NetworkRuns:
    """When and for how long the whole network is timed; ``bench_trust.py promised`` tells what comes of it."""

    #: Share of what the kernels took together at the last time: below it the network is timed again.
    FASTER = 0.9
    #: Share of a run's time so far that timing the network may take before its end.
    MOST = 0.1
    #: Seconds for the runs of one measurement, at most and at least: four turns of two plans, and who disturbs them is
    #: waited for.
    SECONDS, LEAST_S = 1.0, 0.25
    #: Seconds for the runs of a comparison of candidates inside the network, at most and at least.
    FINAL_SECONDS, FINAL_LEAST_S = 3.0, 0.75
    #: Share of a run's time so far, between these bounds: a run of three seconds does not end with ten of timing.
    SHARE = 0.1
    #: Undisturbed turns that decide a comparison at least.
    ENOUGH = 7
    #: Share of the network's time: the last candidates of a task with as much are timed inside it.
    HEAVY = 0.1


class Budgets:
    """What a run gets where the caller does not say it."""

    #: Trials of each task where neither trials nor seconds are given.
    TRIALS_PER_TASK = 64
    #: Trials a second that are hoped for where only a time limit is given.
    TRIALS_PER_S = 12
    #: Trials of a round, at least and at most: fewer teach the model too little, more come from an older model.
    LEAST_BATCH, MOST_BATCH = 4, 16
    #: Rounds of each task that a batch leaves room for.
    ROUNDS = 3
    #: Trials after which a task that had none is thought to be known, for the forecast alone.
    FIRST = 16


class Faults:
    """How often something may fail before it is given up."""

    #: Failures in a row of a task's own parts (rule, template, search) before the task is given up.
    TASK = 3
    #: Rounds without any result: somebody may have cancelled a runner that is shared.
    SILENT_ROUNDS = 8


class Waiting:
    """Seconds of waiting; shorter ones answer sooner and look more often."""

    #: Between two looks of a coroutine at whether a session has ended.
    END_S = 0.05
    #: Between two looks at the control file.
    CONTROL_FILE_S = 0.15
    #: For a callback of a command from the control file, at the end of a session.
    CALLBACK_S = 5.0


class Cluster:
    """How work gets through a dask cluster; `test_distributed` and `test_dask_dispatch` show what comes of it."""

    #: Candidates of one piece of work at most: a worker builds the next one while it measures, but what a lost worker
    #: had is measured again.
    CHUNK = 4
    #: Pieces of work that each device has been given, the one that it works on included.
    AHEAD = 2
    #: Workers that may be lost over a candidate; with the last one, it was alone.
    LOSSES = 2
    #: Times that a candidate may fail without a measurement for other reasons.
    FAILURES = 3
    #: Seconds between two looks at whether somebody came, went, or wants to end this.
    TICK_S = 0.1
    #: Seconds between two questions to the scheduler who is there.
    LOOK_S = 0.5
    #: Seconds for a result to come from the worker that has it.
    FETCH_S = 10.0
    #: Seconds without any worker after which that is told.
    TELL_S = 2.0
    #: Seconds that the first workers have to say what they are, and that `DaskRunner.workers` waits for new ones.
    FIRST_S, INTRODUCE_S = 2.0, 10.0
    #: Seconds that workers have to end the processes of a runner that is closed.
    LET_GO_S = 5.0
    #: Idle runners per device that a worker keeps. A tuner that died never says that it needs them no more.
    IDLE_RUNNERS = 4
    #: Names of runners and batches that have ended which a worker remembers, for work of theirs that comes late.
    REMEMBERED = 1000
