"""Element types that a typed graph may hold."""

from __future__ import annotations

from workbench.errors import ModelError

#: By their NumPy names.
DTYPES = (
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
)


def check_dtype(name: str, what: str) -> None:
    """Refuse an element type that a typed graph cannot hold.

    Raises
    ------
    ModelError
        "model.unsupported_dtype".
    """
    if name not in DTYPES:
        text = f"The {what} has element type {name}, which is not supported."
        raise ModelError("model.unsupported_dtype", text, (), f"supported: {', '.join(DTYPES)}")
