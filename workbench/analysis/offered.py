"""Steps that are offered together: shown as one label, sent back as one command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.schedule.primitive import Primitive


class Offered:
    """Base of what is offered; its text is the label.

    Attributes
    ----------
    steps : tuple of Primitive
        In their order; each is legal after those before it.
    without : tuple of int
        Steps of the schedule that are taken back before them, by their places in its trace.
    """

    __slots__ = ()
    steps: tuple[Primitive, ...]
    without: tuple[int, ...]

    def told(self) -> dict[str, Any]:
        """Return what else a front end is told."""
        return {}

    def to_json(self) -> dict[str, Any]:
        """Return what a front end shows and sends back."""
        first, *rest = (step.to_json() for step in self.steps)
        back = {"without": list(self.without)} if self.without else {}
        return {"step": first, "then": rest, "label": str(self), **self.told(), **back}
