"""The front end's time for some kernels. Prints JSON: kernel -> visits, seconds of each repetition.

argv: implementation, repetitions. Measures the processor time of this thread, which transforms
alone.
"""

import json
import sys
import time

from mpm88 import make as make_mpm88

IMPLEMENTATION, REPETITIONS = sys.argv[1], int(sys.argv[2])
if IMPLEMENTATION == "kiln":
    import kiln as ti
    from kiln.frontend import build, transformer
else:
    import taichi as ti

samples = []  # seconds, one per kernel
depth = 0  # of nested calls: Taichi transforms called functions by the same function


def timed(function):
    def call(*args, **kwargs):
        global depth
        begin = time.thread_time()
        depth += 1
        try:
            return function(*args, **kwargs)
        finally:
            depth -= 1
            if not depth:
                samples.append(time.thread_time() - begin)

    return call


def install():
    """Times each transformation from now on."""
    if IMPLEMENTATION == "kiln":
        build.build_kernel = timed(build.build_kernel)
    else:
        from taichi.lang import kernel_impl

        kernel_impl.transform_tree = timed(kernel_impl.transform_tree)


visits = 0


def counted(function):
    def call(*args, **kwargs):
        global visits
        visits += 1
        return function(*args, **kwargs)

    return call


def count():
    """Counts the nodes that are visited from now on."""
    if IMPLEMENTATION == "kiln":
        for table in (transformer.HANDLERS, transformer.ADDRESS_HANDLERS):
            table.update({kind: counted(handler) for kind, handler in table.items()})
    else:
        from taichi.lang.ast.ast_transformer import ASTTransformer

        ASTTransformer.__call__ = counted(ASTTransformer.__call__)


def start():
    quiet = {"offline_cache": False, "log_level": ti.ERROR}
    ti.init(arch=ti.cpu, **quiet)


def mpm88():
    return make_mpm88(ti, 64)[2]


def mandelbrot():
    pixels = ti.field(ti.f32, (64, 32))

    @ti.func
    def square(z):
        return ti.Vector([z[0] ** 2 - z[1] ** 2, z[1] * z[0] * 2])

    @ti.kernel
    def paint():
        for i, j in pixels:
            c = ti.Vector([-0.8, ti.cos(0.1) * 0.2])
            z = ti.Vector([i / 32 - 1, j / 32 - 0.5]) * 2
            count = 0
            while z.norm() < 20 and count < 50:
                z = square(z) + c
                count += 1
            pixels[i, j] = 1 - count * 0.02

    return paint


def nbody():
    n = 64
    pos = ti.Vector.field(3, ti.f32, n)
    vel = ti.Vector.field(3, ti.f32, n)

    @ti.func
    def attract(d, mass):
        r2 = d.dot(d) + 1e-3
        inverse = 1.0 / ti.sqrt(r2)
        return d * (mass * inverse * inverse * inverse)

    @ti.kernel
    def advance():
        for i in range(n):
            force = ti.Vector([0.0, 0.0, 0.0])
            for j in range(n):
                if i != j:
                    force += attract(pos[j] - pos[i], 1.0)
            vel[i] += 0.01 * force
        for i in range(n):
            pos[i] += 0.01 * vel[i]

    return advance


def scalars():
    """Long straight code of scalars."""
    x = ti.field(ti.f32, 64)

    @ti.kernel
    def compute():
        for i in x:
            a = x[i]
            b = a * 2.0 + 1.0
            for k in ti.static(range(60)):
                a = a * b + k
                if a > 10.0:
                    b = b - 0.5 * (a - 10.0)
                else:
                    b = ti.max(b, a) + ti.sqrt(ti.abs(a))
            x[i] = a + b

    return compute


def measure(make):
    """Seconds of each transformation."""
    del samples[:]
    for _ in range(REPETITIONS):
        start()
        kernel = make()
        if IMPLEMENTATION == "kiln":
            kernel.source.tree  # noqa: B018  (parsed before; Taichi's is timed without parsing, too)
        kernel()
    return samples[:]


KERNELS = (mpm88, mandelbrot, nbody, scalars)
install()
figures = {make.__name__: {"samples": measure(make)} for make in KERNELS}
count()
for make in KERNELS:
    visits = 0
    start()
    make()()
    figures[make.__name__]["visits"] = visits
print(json.dumps(figures))
