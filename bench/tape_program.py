"""One run of bench/tape.py: prints seconds of recorded launches and of their gradients as JSON.

tape_program.py kiln|taichi
"""

import importlib
import json
import math
import sys
import time

ti = importlib.import_module(sys.argv[1])
ti.init(arch=ti.cpu, offline_cache=False, log_level=ti.ERROR, cpu_max_num_threads=2)

CALLS = 10_000
STEPS, KERNELS = 2_500, 4  # of the program: as many calls
MASSES, SPRINGS, DT = 16, 32, 0.002

new = {"needs_grad": True}
loss = ti.field(ti.f32, (), **new)
place = ti.Vector.field(2, ti.f32, (STEPS + 1, MASSES), **new)
speed = ti.Vector.field(2, ti.f32, (STEPS + 1, MASSES), **new)
force = ti.Vector.field(2, ti.f32, (STEPS, MASSES), **new)
length = ti.field(ti.f32, (STEPS, SPRINGS), **new)
rest = ti.field(ti.f32, SPRINGS, **new)


@ti.kernel
def empty():
    pass


@ti.kernel
def set_up():
    for i in range(MASSES):
        place[0, i] = [ti.cos(i * 2 * math.pi / MASSES), ti.sin(i * 2 * math.pi / MASSES)]
    for s in rest:
        rest[s] = 0.3 + 0.3 * (s // MASSES)


@ti.kernel
def contract(t: ti.i32):
    for s in range(SPRINGS):
        length[t, s] = rest[s] * (1 + 0.1 * ti.sin(0.02 * t + s))


@ti.kernel
def pull(t: ti.i32):
    for s in range(SPRINGS):
        a, b = s % MASSES, (s + 1 + s // MASSES) % MASSES
        apart = place[t, a] - place[t, b]
        distance = apart.norm() + 1e-4
        pulled = 30 * (length[t, s] / distance - 1) * apart
        force[t, a] += pulled
        force[t, b] += -pulled


@ti.kernel
def accelerate(t: ti.i32):
    for i in range(MASSES):
        speed[t + 1, i] = 0.995 * (speed[t, i] + DT * (force[t, i] + ti.Vector([0.0, -1.0])))


@ti.kernel
def move(t: ti.i32):
    for i in range(MASSES):
        place[t + 1, i] = place[t, i] + DT * speed[t + 1, i]


@ti.kernel
def measure():
    for i in range(MASSES):
        loss[None] += (place[STEPS, i][0] - 1) ** 2 / MASSES


def empty_calls():
    for _ in range(CALLS):
        empty()


def empty_gradients():
    gradient = empty.grad
    for _ in range(CALLS):
        gradient()


def springs():
    for t in range(STEPS):
        contract(t)
        pull(t)
        accelerate(t)
        move(t)
    measure()


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def taped(body):
    """Seconds of a body under a tape, and of the tape's end, which runs the gradients."""
    tape = ti.ad.Tape(loss)
    tape.__enter__()
    recorded = seconds(body)
    return recorded, seconds(lambda: tape.__exit__(None, None, None))


empty(), empty.grad(), taped(empty_calls)
rounds = range(7 if sys.argv[1] == "kiln" else 3)
plain = min(seconds(empty_calls) for _ in rounds)
gradient = min(seconds(empty_gradients) for _ in rounds)
recorded, replayed = (min(times) for times in zip(*(taped(empty_calls) for _ in rounds)))
figures = {
    "launch": plain / CALLS,
    "recorded launch": recorded / CALLS,
    "gradient": gradient / CALLS,
    "replayed gradient": replayed / CALLS,
}

set_up()
force.fill(0)
taped(springs)
steps = []
for _ in rounds:
    force.fill(0)
    steps.append(taped(springs))
figures["springs: forward"], figures["springs: gradients"] = (min(times) for times in zip(*steps))
figures["springs: loss"] = float(loss[None])
figures["springs: derivative"] = sum(float(rest.grad[s]) for s in range(SPRINGS))
print(json.dumps(figures))
