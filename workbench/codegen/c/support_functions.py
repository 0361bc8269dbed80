"""Functions that the printed C brings along: operations whose meaning C's own operators do not have.

Integers wrap, quotients and remainders by 0 are 0, a remainder has the sign of the divisor, maximum and minimum of
floats are NaN when an operand is, and a float that becomes an integer is cut to the nearest one that there is (NaN to
0). Only what is used is printed.
"""

from __future__ import annotations

from workbench.ir.dtypes import is_float, itemsize

#: Type of a value in an expression; half-precision values are computed as float, truth values as int.
VALUE_TYPE = {
    "float32": "float", "float64": "double", "float16": "float", "bfloat16": "float", "bool": "int",
    **{f"{u}int{bits}": f"{u}int{bits}_t" for u in ("", "u") for bits in (8, 16, 32, 64)},
}  # fmt: skip
#: Type of an element in memory.
MEMORY_TYPE = VALUE_TYPE | {"float16": "uint16_t", "bfloat16": "uint16_t", "bool": "uint8_t"}

_FLOAT = {
    "max": "return a != a || a > b ? a : b;",
    "min": "return a != a || a < b ? a : b;",
    # The second operand is no NaN: one comparison that a NaN passes is enough.
    "at_least": "return a < b ? b : a;",
    "at_most": "return a > b ? b : a;",
    "mod": "const {t} r = {fmod}(a, b);\n    return r == 0 ? {copysign}(0, b) : (r < 0) != (b < 0) ? r + b : r;",
    "sigmoid": "const {t} e = {exp}(-{fabs}(a));\n    return (a < 0 ? e : 1) / (1 + e);",
    "rsqrt": "return 1 / {sqrt}(a);",
    "square": "return a * a;",
}
_INT = {
    "add": "return ({t})(({u})a + ({u})b);",
    "sub": "return ({t})(({u})a - ({u})b);",
    "mul": "return ({t})(({u})a * ({u})b);",
    "neg": "return ({t})(0 - ({u})a);",
    "abs": "return a < 0 ? ({t})(0 - ({u})a) : a;",
    "max": "return a > b ? a : b;",
    "min": "return a < b ? a : b;",
}
_SIGNED = {
    "div": "return b == 0 ? 0 : b == -1 ? ({t})(0 - ({u})a) : ({t})(a / b);",
    "mod": "const {t} r = b == 0 || b == -1 ? 0 : ({t})(a % b);\n"
    "    return r != 0 && (r < 0) != (b < 0) ? ({t})(r + b) : r;",
}
_UNSIGNED = {
    "div": "return b == 0 ? 0 : ({t})(a / b);",
    "mod": "return b == 0 ? 0 : ({t})(a % b);",
}
_ONE_OPERAND = ("sigmoid", "rsqrt", "square", "neg", "abs")

_BITS = "union { float f; uint32_t u; } x;"
#: Conversions between half precision in memory and float, to nearest even.
_HALVES = {
    "from_bfloat16": f"""static inline float from_bfloat16(uint16_t h) {{
    {_BITS}
    x.u = (uint32_t)h << 16;
    return x.f;
}}""",
    "to_bfloat16": f"""static inline uint16_t to_bfloat16(float a) {{
    {_BITS}
    x.f = a;
    return a != a ? 0x7fc0 : (uint16_t)((x.u + 0x7fff + (x.u >> 16 & 1)) >> 16);
}}""",
    "from_float16": f"""static inline float from_float16(uint16_t h) {{
    {_BITS}
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 1023;
    if (exponent == 0) {{
        x.f = (float)fraction * 0x1p-24f; /* denormal numbers and zeros */
        x.u |= sign;
    }} else {{
        x.u = sign | (exponent == 31 ? 255 : exponent + 112) << 23 | fraction << 13;
    }}
    return x.f;
}}""",
    "to_float16": f"""static inline uint16_t to_float16(float a) {{
    {_BITS}
    x.f = fabsf(a);
    const uint32_t sign = signbit(a) ? 0x8000 : 0;
    if (a != a) return 0x7e00;
    if (x.f >= 65520.0f) return (uint16_t)(sign | 0x7c00);
    if (x.f < 0x1p-14f) {{
        x.f += 0.5f; /* the sum is rounded at the place of the last denormal bit */
        return (uint16_t)(sign | (x.u - 0x3f000000));
    }}
    return (uint16_t)(sign | (x.u - 0x38000000 + 0xfff + (x.u >> 13 & 1)) >> 13);
}}""",
}


#: A float with the bits of a double that a second rounding, to half precision, could miss: cut, and odd where inexact.
_ODD = f"""static inline float odd_float32(double a) {{
    {_BITS}
    x.f = (float)a;
    if (a == a && (double)x.f != a) {{
        x.u -= fabs((double)x.f) > fabs(a);
        x.u |= 1;
    }}
    return x.f;
}}"""


def compute_dtype(dtype: str) -> str:
    """Return the dtype that values of `dtype` are computed in."""
    return "float32" if dtype in ("float16", "bfloat16") else dtype


def math_name(name: str, dtype: str) -> str:
    """Return the C library's name of a function for float or double."""
    return name if dtype == "float64" else f"{name}f"


class Helpers:
    """The functions that were asked for."""

    def __init__(self) -> None:
        self._used: dict[str, str] = {}

    def name(self, op: str, dtype: str, lanes: int = 1) -> str | None:
        """Return the function for an operation, noting its use; None where there is none. For several `lanes` it takes
        vectors as OpenCL C has them.
        """
        dtype = compute_dtype(dtype)
        unsigned = dtype.startswith("u") or dtype == "bool"
        table = _FLOAT if is_float(dtype) else _INT | (_UNSIGNED if unsigned else _SIGNED)
        if op not in table:
            return None
        full = f"{op}_{dtype}" + (f"x{lanes}" if lanes > 1 else "")
        if full not in self._used:
            self._used[full] = self._text(full, op, dtype, table[op], lanes)
        return full

    def _text(self, full: str, op: str, dtype: str, body: str, lanes: int) -> str:
        t = VALUE_TYPE[dtype] + (str(lanes) if lanes > 1 else "")
        u = "uint64_t" if itemsize(dtype) == 8 else "uint32_t"
        library = {f: math_name(f, dtype) for f in ("fmod", "copysign", "exp", "fabs", "sqrt")}
        operands = f"{t} a" if op in _ONE_OPERAND else f"{t} a, {t} b"
        return f"static inline {t} {full}({operands}) {{\n    {body.format(t=t, u=u, **library)}\n}}"

    def conversion(self, direction: str, dtype: str) -> str:
        """Return the function that converts a half-precision dtype: "from" memory, or "to" it."""
        full = f"{direction}_{dtype}"
        self._used[full] = _HALVES[full]
        return full

    def nearest(self) -> str:
        """Return the function that cuts a number to an index that exists."""
        self._used["nearest"] = (
            "static inline int64_t nearest(int64_t a, int64_t extent) {\n"
            "    return a < 0 ? 0 : a < extent ? a : extent - 1;\n}"
        )
        return "nearest"

    def to_odd(self) -> str:
        """Return the function that brings a double to a float for a rounding that follows."""
        self._used["odd_float32"] = _ODD
        return "odd_float32"

    def to_integer(self, source: str, dtype: str) -> str:
        """Return the function that converts a float dtype to an integer dtype."""
        source, t = compute_dtype(source), VALUE_TYPE[dtype]
        bits, signed = 8 * itemsize(dtype), not dtype.startswith("u")
        low, high = (f"INT{bits}_MIN", f"INT{bits}_MAX") if signed else ("0", f"UINT{bits}_MAX")
        suffix = "" if source == "float64" else "f"
        below, above = f"-0x1p{bits - 1}" if signed else "0x0p0", f"0x1p{bits - signed}"
        test = f"a != a ? 0 : a <= {below}{suffix} ? {low} : a >= {above}{suffix} ? {high} : ({t})a"
        full = f"{dtype}_of_{source}"
        self._used[full] = f"static inline {t} {full}({VALUE_TYPE[source]} a) {{\n    return {test};\n}}"
        return full

    def text(self) -> str:
        """Return the definitions."""
        return "\n\n".join(self._used.values())
