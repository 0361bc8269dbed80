"""Deliberate bugs: a piece of text in one function is replaced, and a check has to notice it.

A mutation names the function ("module:Class.method"), the text that is replaced, what stands there instead, and
networks of which at least one has to come out wrong. Without the mutation all of them have to come out right, so a
network that is broken anyway proves nothing. A mutation that nothing notices is a failing test.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FunctionType

from graph.checks import kept

from workbench.graph import Graph

Net = Callable[[], Graph]


@dataclass(frozen=True)
class Mutation:
    """One deliberate bug.

    Attributes
    ----------
    unit : str
        The pass or piece that it breaks.
    where : str
        Function whose text changes: ``"workbench.graph.passes.fold_batch_norm:channel_affine"``.
    what : str
        What is wrong with it, in words.
    old, new : str
        Text that occurs once in the function, and what replaces it.
    on : tuple of callables
        Networks to check with.
    check : callable
        Graph -> what is wrong, "" when nothing is; `graph.checks.kept` by default.
    """

    unit: str
    where: str
    what: str
    old: str
    new: str
    on: tuple[Net, ...]
    check: Callable[[Graph], str] = kept

    def __str__(self) -> str:
        return f"{self.unit}: {self.what}"

    def function(self) -> FunctionType:
        module, _, path = self.where.partition(":")
        found = functools.reduce(getattr, path.split("."), importlib.import_module(module))
        found = inspect.unwrap(found)
        assert isinstance(found, FunctionType), self.where
        return found

    def code(self) -> CodeType:
        """The function's code with the bug in it."""
        fn = self.function()
        lines = textwrap.dedent(inspect.getsource(fn)).splitlines()
        while not lines[0].startswith("def "):  # decorators
            lines.pop(0)
        text = "\n".join(lines)
        assert text.count(self.old) == 1, f"{self}: {self.old!r} occurs {text.count(self.old)} times in {self.where}"
        module = compile(text.replace(self.old, self.new), fn.__code__.co_filename, "exec")
        return next(c for c in module.co_consts if isinstance(c, CodeType) and c.co_name == fn.__name__)

    @contextmanager
    def active(self) -> Iterator[None]:
        """The bug is there inside of the block, wherever the function has got to (registries, tables)."""
        fn, changed = self.function(), self.code()
        before = fn.__code__
        fn.__code__ = changed
        try:
            yield
        finally:
            fn.__code__ = before


@functools.cache
def _sound(net: Net, check: Callable[[Graph], str]) -> str:
    return check(net())


def assert_noticed(m: Mutation) -> None:
    """Fail unless the check is content with every network, and with at least one of them no more under the mutation."""
    for net in m.on:
        assert not _sound(net, m.check), f"{net} is wrong without any mutation: {_sound(net, m.check)}"
    with m.active():
        for net in m.on:
            try:
                if m.check(net()):
                    return
            except NameError:  # a mutation that cannot run says nothing
                raise
            except Exception:  # a bug that ends in an error is noticed as well
                return
    raise AssertionError(f"nobody noticed: {m}")
