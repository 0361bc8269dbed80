"""The C header of an exported library."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.runtime.export.library_tables import About
from workbench.runtime.export.native_contexts import ABI, ERRORS
from workbench.runtime.networks.execution_plan import ArraySpec

_TEXT = """/* [NAME], compiled by [VERSION] for
 *     [TARGET]
 *
 * A context holds what one run needs besides the constants: memory for intermediate results and [P]_threads(context)
 * threads, of which the calling one is the first. Different contexts may run at the same time; a context that is
 * running answers [U]_BUSY to everybody else.
 *
 *     [P]_context *context;
 *     int error = [P]_create(0, &context);
 *     if (error) { fprintf(stderr, "%s\\n", [P]_error_text(error)); ... }
 *     error = [P]_run(context, inputs, outputs);
 *     [P]_destroy(context);
 *
 * Inputs and outputs are dense arrays, the last dimension contiguous, and used where they are. Those that begin at a
 * multiple of 64 bytes are the fastest; an input whose vectors are read very often is copied otherwise. Outputs may
 * overlap neither each other nor inputs.
 *
 * A process that forks may go on to use its contexts, on one thread until [P]_set_threads starts new ones; none of
 * them may be running while it forks.
 */
#ifndef [U]_NETWORK_H
#define [U]_NETWORK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What this header describes; [P]_abi() is what the library has. */
#define [U]_ABI [ABI]

/* What functions return. */
enum {
[ERRORS]
};

/* Inputs, in the order of the pointers that [P]_run takes: index, and size in bytes. */
[INPUTS]

/* Outputs, likewise. */
[OUTPUTS]

typedef struct [P]_context [P]_context;

/* An input or output. Names are those of the model, in UTF-8. */
typedef struct {
    const char *name;
    const char *dtype; /* "float32", "int64", "bool", ... */
    const int64_t *shape;
    int64_t bytes;
    int32_t rank;
} [P]_tensor;

/* Make a context with so many threads (0: [THREADS], the number chosen at export). On an error *context is NULL. */
int [P]_create(int threads, [P]_context **context);

/* End the context's threads and give its memory back; NULL is allowed. It must not be running. */
void [P]_destroy([P]_context *context);

/* Run the network once: inputs[i] and outputs[i] point to arrays as the lists above say. */
int [P]_run([P]_context *context, const void *const inputs[], void *const outputs[]);

/* Use so many threads from now on. On an error the context stays as it is. */
int [P]_set_threads([P]_context *context, int threads);
int [P]_threads(const [P]_context *context);

/* What an error code means; never NULL. */
const char *[P]_error_text(int code);

/* The first processor feature that the code needs and this machine lacks; NULL when it has all. */
const char *[P]_missing_feature(void);

/* Inputs and outputs; NULL for an index that does not exist. */
int [P]_input_count(void);
int [P]_output_count(void);
const [P]_tensor *[P]_input(int index);
const [P]_tensor *[P]_output(int index);

/* What this is. */
int [P]_abi(void);
const char *[P]_name(void);
const char *[P]_version(void);
const char *[P]_target(void);

#ifdef __cplusplus
}
#endif

#endif
"""


def header_text(inputs: Sequence[ArraySpec], outputs: Sequence[ArraySpec], about: About) -> str:
    """Return the header of a library with these inputs and outputs."""
    upper = about.prefix.upper()
    errors = "\n".join(f"    {upper}_{name} = {i}, /* {text} */" for i, (name, text) in enumerate(ERRORS.items()))
    values = {
        "P": about.prefix,
        "U": upper,
        "ABI": ABI,
        "NAME": plain(about.name),
        "VERSION": plain(about.version),
        "TARGET": plain(about.target),
        "THREADS": about.threads,
        "ERRORS": errors,
        "INPUTS": _tensors(upper, "INPUT", inputs),
        "OUTPUTS": _tensors(upper, "OUTPUT", outputs),
    }
    text = _TEXT
    for name, value in values.items():
        text = text.replace(f"[{name}]", str(value))
    return text


def _tensors(upper: str, what: str, specs: Sequence[ArraySpec]) -> str:
    lines = [f"#define {upper}_{what}S {len(specs)}"]
    for i, spec in enumerate(specs):
        shape = "x".join(map(str, spec.shape)) or "scalar"
        comment = f"/* {plain(spec.name)}: {spec.dtype} {shape} */"
        lines.append(f"#define {upper}_{what}_{i}_BYTES {spec.nbytes} {comment}")
    return "\n".join(lines)


def plain(text: str) -> str:
    """Return a text that may stand in a comment of C, whatever it was."""
    return "".join(c if c.isascii() and c.isprintable() and c not in "*?\\[]" else "." for c in text)
