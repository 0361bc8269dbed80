"""Levels of a tiled reduction, written as in Ansor's sketches: "SSRSRS"."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.errors import UsageError

#: Levels of spatial and of reduction loops: their combinations grow with the power of it. Chosen, not measured.
MOST = 5


@dataclass(frozen=True, slots=True)
class Structure:
    """Levels of loops from the outermost to the innermost: S over tiles of the result, R over parts of the reduction.

    The first S are blocks that run in parallel, the last S are the register tile, unrolled and vectorised. With several
    R the longest axis of the reduction is cut into panels, and the other axes run at the last R.
    """

    text: str

    @staticmethod
    def parse(text: object) -> Structure:
        """Read "SSRSRS".

        Raises
        ------
        UsageError
            "space.structure" for anything but 2 to 5 S and 1 to 5 R that begin and end with an S.
        """
        hint = 'for example "SSRS", "SSRSRS" (with panels of the reduction), "SRS", "SSRSRSRS"'
        if not isinstance(text, str):
            raise UsageError(
                "space.structure", f"A structure is text, not {type(text).__name__}.", ("structure",), hint
            )
        wrong = _wrong(text)
        if wrong:
            raise UsageError("space.structure", f"The structure {text[:40]!r} {wrong}.", ("structure",), hint)
        return Structure(text)

    @property
    def spatial(self) -> int:
        """Levels of spatial loops."""
        return self.text.count("S")

    @property
    def reduction(self) -> int:
        """Levels of reduction loops."""
        return self.text.count("R")

    @property
    def before(self) -> int:
        """Spatial levels before the reduction begins."""
        return self.text.index("R")

    def without_panels(self) -> Structure:
        """The structure of a reduction that is not cut: from its first R on, what is left is the last R."""
        return Structure(self.text[: self.before] + self.text[self.text.rindex("R") :])


def _wrong(text: str) -> str:
    odd = sorted(set(text) - set("SR"))
    if not text or odd:
        return f"has {', '.join(map(repr, odd))}; its letters are S and R" if odd else "has no levels"
    if text[0] != "S" or text[-1] != "S":
        return "has to begin with the parallel blocks and to end with the register tile, both S"
    for letter, least, what in (("S", 2, "spatial"), ("R", 1, "reduction")):
        if not least <= text.count(letter) <= MOST:
            return f"has {text.count(letter)} {what} levels; {least} to {MOST} are possible"
    return ""
