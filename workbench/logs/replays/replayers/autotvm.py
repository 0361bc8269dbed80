"""Records of AutoTVM."""

from __future__ import annotations

from typing import Any

from workbench.errors import WorkbenchError
from workbench.logs.importer import UNREADABLE
from workbench.logs.replays.autotvm import known
from workbench.logs.replays.result import CannotReplay, Rebuilt, Request, replayer
from workbench.logs.replays.taking import Taking
from workbench.logs.tvm.autotvm_templates import resolved, template_extents
from workbench.schedule.schedule import Schedule

OLD_NAMES = {
    "topi_nn_conv2d:direct": "conv2d_nchw.cuda",
    "topi_nn_conv2d:winograd": "conv2d_nchw_winograd.cuda",
    "topi_nn_depthwise_conv2d_nchw:direct": "depthwise_conv2d_nchw.cuda",
}
"""Tasks and templates of format 0.1 for CUDA, and how both are called later."""


@replayer("autotvm")
def replay_autotvm(request: Request) -> Rebuilt:
    """Rebuild a record of AutoTVM; its task says the computation, its knobs the schedule."""
    name, args, entities = _read(request.raw)
    template = known(name)
    try:
        extents = template_extents(name, args)
        knobs = {str(knob): resolved(kind, value, extents.get(knob)) for knob, kind, value in entities}
        sizes = {knob: value[-1] for knob, value in knobs.items() if isinstance(value, list) and value}
        func = template.computation(args, sizes)
        taking = Taking(Schedule(func, request.target))
        template.schedule(taking, knobs)
    except WorkbenchError as error:
        raise CannotReplay(f"{error.message} [{error.code}]") from None
    except UNREADABLE as error:
        if isinstance(error, KeyError):
            raise CannotReplay(f"the knob {error.args[0]} is missing") from None
        raise CannotReplay(f"arguments or knobs of another form ({type(error).__name__})") from None
    return taking.schedule, taking.steps, taking.notes


def _read(raw: Any) -> tuple[str, list[Any], list[Any]]:
    try:
        if "input" in raw:
            (_, name, args, kwargs), entities = raw["input"], raw["config"]["entity"]
        else:
            (target, name, args, kwargs, _, config) = raw["i"]
            name, args, entities = *_renamed(f"{name}:{config['t']}", target, args), config["e"]
    except UNREADABLE as error:
        raise CannotReplay(f"the record has another form ({type(error).__name__})") from None
    if kwargs:
        raise CannotReplay(f"it has arguments by name: {', '.join(map(str, kwargs))}")
    return str(name), args, entities


def _renamed(name: str, target: str, args: list[Any]) -> tuple[str, list[Any]]:
    """Name and arguments of format 0.2 for those of format 0.1, which knows no dilation."""
    if name in OLD_NAMES and target.startswith("cuda"):
        return OLD_NAMES[name], [*args[:4], [1, 1], args[-1]]
    return f"{name} of format 0.1", args
