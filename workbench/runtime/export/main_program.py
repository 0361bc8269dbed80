"""A C program that runs an exported network on files and times it, for a machine that has no Python."""

from __future__ import annotations

from workbench.errors import ExportError
from workbench.runtime.export.header import plain
from workbench.runtime.export.library_tables import About

_TEXT = """/* Runs [NAME] on files of plain numbers, as NumPy's tofile writes them.
 *
 *     [PROGRAM] [-t THREADS] [-n RUNS] [INPUT... OUTPUT...]
 *
 * Inputs and outputs are in the order of the header. Without files, inputs are zero and nothing is written. It says how
 * many milliseconds the fastest of all runs took, and what the processor lacks where it cannot run.
 * To be compiled for the machine that it is to run on:
 *
 *     cc -std=c11 -O1 [PROGRAM].c ./[LIBRARY] -Wl,-rpath,'$ORIGIN' -o [PROGRAM]
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "[HEADER]"

enum { INPUTS = [U]_INPUTS, OUTPUTS = [U]_OUTPUTS };

static void fail(const char *what, const char *why) {
    fprintf(stderr, "[PROGRAM]: %s: %s\\n", what, why);
    exit(1);
}

/* Memory that begins where vectors are the fastest. */
static void *take(size_t bytes) {
    size_t whole = (bytes + 127) / 64 * 64;
    void *data = aligned_alloc(64, whole);
    if (!data)
        fail("memory", "there is not enough");
    return memset(data, 0, whole);
}

static void load(const char *path, void *data, size_t bytes) {
    FILE *file = fopen(path, "rb");
    if (!file || fread(data, 1, bytes, file) != bytes || fgetc(file) != EOF)
        fail(path, "it is not there, or has another size than the header says");
    fclose(file);
}

static void save(const char *path, const void *data, size_t bytes) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, bytes, file) != bytes || fclose(file))
        fail(path, "it cannot be written");
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

int main(int count, char **words) {
    int threads = 0, runs = 1, at = 1;
    for (; at + 1 < count && words[at][0] == '-'; at += 2) {
        int value = atoi(words[at + 1]);
        if (!strcmp(words[at], "-t"))
            threads = value;
        else if (!strcmp(words[at], "-n"))
            runs = value;
        else
            fail(words[at], "unknown; -t THREADS and -n RUNS are what there is");
        if (value < 1)
            fail(words[at], "give a number above 0");
    }
    int files = count > at;
    if (files && count - at != INPUTS + OUTPUTS)
        fail("files", "give one for each input, then one for each output");

    [P]_context *context;
    int error = [P]_create(threads, &context);
    if (error) {
        const char *lacks = [P]_missing_feature();
        fail([P]_error_text(error), lacks ? lacks : "");
    }
    const void *inputs[INPUTS + 1];
    void *outputs[OUTPUTS + 1];
    for (int i = 0; i < INPUTS; i++) {
        size_t bytes = (size_t)[P]_input(i)->bytes;
        void *data = take(bytes);
        if (files)
            load(words[at + i], data, bytes);
        inputs[i] = data;
    }
    for (int i = 0; i < OUTPUTS; i++)
        outputs[i] = take((size_t)[P]_output(i)->bytes);

    double least = 0;
    for (int run = 0; run < runs; run++) {
        double begin = now();
        if ((error = [P]_run(context, inputs, outputs)))
            fail("run", [P]_error_text(error));
        double took = now() - begin;
        least = run && least < took ? least : took;
    }
    for (int i = 0; files && i < OUTPUTS; i++)
        save(words[at + INPUTS + i], outputs[i], (size_t)[P]_output(i)->bytes);
    printf("%s: %.4g ms, %d threads\\n", [P]_name(), least, [P]_threads(context));
    [P]_destroy(context);
    return 0;
}
"""


def main_text(about: About, header: str, library: str) -> str:
    """Return the program.

    Parameters
    ----------
    about : About
        What the library says of itself.
    header, library : str
        Names of the files beside it.

    Raises
    ------
    ExportError
        ``export.name`` for a file name that C cannot include.
    """
    if plain(header) != header or '"' in header:
        hint = "give the library a name of ASCII letters, digits and dots, such as net.so"
        raise ExportError("export.name", f"A C program cannot include {header!r}", [header], hint)
    values = {
        "P": about.prefix,
        "U": about.prefix.upper(),
        "NAME": plain(about.name),
        "PROGRAM": header.removesuffix(".h") + "_main",
        "LIBRARY": library,
        "HEADER": header,
    }
    text = _TEXT
    for name, value in values.items():
        text = text.replace(f"[{name}]", value)
    return text
