"""The numbers that decide how code is generated, by concern: each with its unit, its origin and what follows from it.

Where nothing else is said, a number was chosen, not measured. What describes a machine is not here: vector registers,
masks and the length of a cache line come from the `Target` and its `Architecture`. What the measured ones gained, and
on which kernels, is in ``docs/notes/codegen.md``.
"""

from __future__ import annotations


class Tasks:
    """Into how many tasks a parallel nest is cut. More of them even out threads that come late; each costs a call."""

    #: Tasks for each thread, at most.
    PER_THREAD = 8
    #: Tasks of all threads. They draw them from one word, and a draw costs about a tenth of a microsecond once they are
    #: many: up to this many tasks it is nothing, beyond it a thread gets three, so that one may still come late.
    MANY = 64
    #: Operations of a task of a runtime kernel, about, at least: to begin a region takes as long as some thousands.
    LEAST_WORK = 20_000


class Storage:
    """Where temporaries live. A larger one on the stack of its function is nearer; a thread's stack has megabytes."""

    #: Bytes of a temporary inside a loop that lives on the stack, at most.
    STACK_BYTES = 16 << 10
    #: The same where the scope "local" asks for it.
    LOCAL_STACK_BYTES = 64 << 10
    #: Bytes that the address of a temporary is a multiple of: the widest register, and a line of most caches.
    ALIGN = 64


class Unrolling:
    """How much code a loop becomes. More of it has fewer branches and counters per operation, and compiles longer."""

    #: Vectors of a vector loop: one with more becomes a loop over vectors.
    VECTORS = 8
    #: Vectors that such a loop handles at a time.
    VECTORS_AT_ONCE = 4
    #: Runs of vectors under the same conditions, at most, of which each becomes a loop: more are one loop, which asks
    #: the conditions.
    RUNS = 16
    #: Instances of blocks in the body of an innermost loop, about: its own integer operations take slots of the ports
    #: that multiply and add. Measured: 6 to 12 % for tiles of 8 to 24 accumulators.
    INNER_BODY = 64
    #: Iterations of an innermost loop that become one, at most.
    INNER_FACTOR = 4
    #: Calls of an intrinsic in the body of the innermost loop around them, about.
    CALLS = 8
    #: Instances of blocks of one nest, at most, so that it cannot ask for an endless compile.
    INSTANCES = 20_000
    #: Pieces of a vector loop that ends in a narrower one: an inner loop around as many is not unrolled. Measured: two
    #: iterations of 4 x (4 vectors and a narrower one) keep no accumulator in a register, at 0.6 of the speed of one.
    RAGGED_PIECES = 5
    #: Counters of an innermost loop beside its own, at most: each takes a register.
    COUNTERS = 4


class Registers:
    """What is kept in registers while a reduction runs."""

    #: Accumulators of a block, at most; twice the registers of AVX-512. More of them are spilled on every iteration.
    ACCUMULATORS = 64


class Padding:
    """What a load reads whose condition fails. More of it serves longer runs and takes memory of every kernel."""

    #: Bytes of zeros; longer runs are masked or select the value.
    ZERO_BYTES = 1 << 16
    #: Bytes of a page of another constant; longer runs are masked.
    PAGE_BYTES = 1 << 12
    #: Bytes that the load of one vector reaches beyond its address, at most.
    VECTOR_BYTES = 256


class Prefetching:
    """What is asked for ahead of time, and in which cache."""

    #: Bytes: what is this far away is not wanted soon, and would drive what is out of the first cache.
    FAR_BYTES = 1 << 16
    #: Terms of a reduction: a longer one asks for the lines that its results will be stored to. Measured at 1024: 2 to
    #: 3 %; the bound is chosen.
    TERMS = 128
    #: Bytes: a smaller temporary is in the first cache anyway.
    LARGE_BYTES = 1 << 16
    #: Bytes of a first cache (32 to 48 KiB): an operand of which a loop reads more before it begins again is read past
    #: it. Measured at 512: a tenth faster.
    PASSING_BYTES = 32 << 10


class CText:
    """What the C backend leaves to the compiler."""

    #: Copies of a loop's body that are asked for, at most: compilers take long over more.
    COPIES = 256
    #: Bytes of accumulators in local variables, at most: all registers of the largest machine, twice.
    KEPT_BYTES = 4096
    #: Seconds for the compiler.
    TIMEOUT_S = 300


class Device:
    """What a GPU has, besides what the target says."""

    #: Blocks of the grid along y and z, at most.
    BLOCKS = 65535
    #: Bytes of a temporary without a scope that lies in registers, at most: 64 of the 255 of a thread.
    LOCAL_BYTES = 256
    #: Bytes of a temporary of one thread, at most: what does not fit its registers lies in memory, slowly.
    THREAD_BYTES = 64 << 10
    #: Bytes that the address of a temporary is a multiple of: what a warp loads of a tile at once, and more than the
    #: widest load of a thread.
    ALIGN = 32
    #: Bytes of the widest load of a thread.
    VECTOR_BYTES = 16
