"""What a mutation is: it replaces text in one module.

`install` makes the import system load that module with the change, so nothing is written anywhere.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType


def _pattern(text: str) -> re.Pattern[str]:
    """Match the text however it is broken into lines."""
    tokens = re.findall(r"\w+|[^\w\s]", text)
    parts = [r",?\s*" + re.escape(t) if t in ")]}" else re.escape(t) for t in tokens]
    return re.compile(r"\s*".join(parts))


@dataclass(frozen=True)
class Mutation:
    """Replace `old` by `new` (each `old` occurs once) in `module`; `primitive` is the one that it breaks."""

    primitive: str
    module: str
    what: str
    edits: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return f"{self.primitive}: {self.what}"

    def apply(self, source: str) -> str:
        for old, new in self.edits:
            places = list(_pattern(old).finditer(source))
            if len(places) != 1:
                raise AssertionError(f"{self}: the text occurs {len(places)} times in {self.module}: {old!r}")
            source = source[: places[0].start()] + new + source[places[0].end() :]
        return source

    def source(self) -> str:
        """Text of the module with the change."""
        spec = importlib.util.find_spec(self.module)
        assert spec is not None, self.module
        assert spec.origin is not None, self.module
        return self.apply(Path(spec.origin).read_text(encoding="utf-8"))


def mutation(primitive: str, module: str, what: str, *edits: str) -> Mutation:
    """Make a mutation of one module from texts and what replaces them, in turn."""
    return Mutation(primitive, module, what, tuple(zip(edits[::2], edits[1::2], strict=True)))


class _Loader(importlib.machinery.SourceFileLoader):
    """Compiles the changed text, and neither reads nor writes a cache."""

    def __init__(self, mutation: Mutation, path: str) -> None:
        super().__init__(mutation.module, path)
        self._mutation = mutation

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._mutation.apply(Path(self.path).read_text(encoding="utf-8")), self.path, "exec")


class _Finder:
    def __init__(self, mutation: Mutation) -> None:
        self._mutation = mutation

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None):
        if name != self._mutation.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        assert spec is not None
        assert spec.origin is not None
        return importlib.util.spec_from_file_location(name, spec.origin, loader=_Loader(self._mutation, spec.origin))


def install(mutation: Mutation) -> None:
    """Load the mutation's module with the change from now on (it must not be loaded yet)."""
    assert mutation.module not in sys.modules, mutation.module
    sys.meta_path.insert(0, _Finder(mutation))
