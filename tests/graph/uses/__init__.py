"""Uses of operators that are computed by the onnx package, wholly or where our declaration does not cover them."""

from graph.uses.base import Use
from graph.uses.chains import CHAINS
from graph.uses.elementwise import BINARY, UNARY
from graph.uses.images import IMAGES
from graph.uses.moves import MOVES
from graph.uses.normalise import NORMALISE
from graph.uses.pool import POOL
from graph.uses.quantised import QUANTISED
from graph.uses.reduce import REDUCE
from graph.uses.resize import RESIZE
from graph.uses.signal import LATER, SIGNAL

TABLES = (UNARY, BINARY, REDUCE, POOL, MOVES, IMAGES, RESIZE, NORMALISE, QUANTISED, SIGNAL, LATER)
CASES: dict[str, list[Use]] = {op: uses for table in TABLES for op, uses in table.items()}

__all__ = ["CASES", "CHAINS", "Use"]
