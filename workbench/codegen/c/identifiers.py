"""Names of loops and buffers as C identifiers."""

from __future__ import annotations

import re

_KEYWORDS = """auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while asm typeof
bool true false main NULL NAN INFINITY"""
_OWN = """ALIGNED UNROLL VECTOR_LOOP PRAGMA Context Region Runtime run_tasks bufs workspace locals rt ctx context task
tid n memset"""
_LIBRARY = "exp log sqrt tanh erf floor ceil rint fabs copysign pow fmod rsqrt sigmoid"
_RESERVED = frozenset([*_KEYWORDS.split(), *_OWN.split(), *_LIBRARY.split(), *(f"{f}f" for f in _LIBRARY.split())])
#: Types and macros of the headers, our functions for single types, and the functions of the nests.
_TAKEN = re.compile(
    r"_|u?int\d+_t|\w+_(float|int|uint|bool|bfloat)\d*$|(U?INT|FP_|M_|HUGE_|MATH_|SIZE_|PTRDIFF_|SIG_|W(CHAR|INT)_)|nest\d+(_task)?$"
)


def is_taken(name: str) -> bool:
    """Whether a name means something in C, its library, or the text around the nests."""
    return name in _RESERVED or _TAKEN.match(name) is not None


class Names:
    """Gives every loop and buffer an identifier of its own, close to its name."""

    def __init__(self, *taken: str) -> None:
        self._used = set(taken)
        self._given: dict[tuple[str, str], str] = {}

    def __call__(self, what: str, name: str) -> str:
        """Return the identifier of the loop or buffer (`what`) `name`."""
        key = (what, name)
        if key not in self._given:
            self._given[key] = self._fresh(name)
        return self._given[key]

    def _fresh(self, name: str) -> str:
        base = re.sub(r"[^A-Za-z0-9_]", "_", name)
        if not base or base[0].isdigit() or _TAKEN.match(base):
            base = f"x{base}"
        candidate, k = base, 1
        while candidate in self._used or is_taken(candidate):
            k += 1
            candidate = f"{base}__{k}"
        self._used.add(candidate)
        return candidate
