"""Random loops under `ti.ad.checkpoint`: the gradient is that of finite differences, or an error
says that `state` is not complete."""

import linecache
import random

import numpy as np
import pytest

N = 3
NAMES = "abcd"
WEIGHTS = (1.0, 0.5, 0.3, 0.7)


def program(r):
    """The text of kernels, of `step(t)` that runs them, and of `total`."""
    kernels, steps = [], ["def step(t):"]
    for number in range(r.randint(2, 5)):
        target = r.choice(NAMES)
        one, other = (r.choice(NAMES.replace(target, "")) for _ in range(2))
        sometimes = "if t % 3 == 1: " if r.random() < 0.2 else ""
        kind = r.randrange(6)
        if kind == 5:
            call = r.choice([f"copy_from({one})", "fill(0.0)"])
            steps.append(f"    {sometimes}{target}.{call}")
            continue
        value = r.choice(
            [
                f"ti.sin({one}[i]) * {other}[(i + 1) % {N}]",
                f"0.5 * {one}[i] + 0.2 * {other}[i] ** 2",
                f"0.7 * ti.cos({one}[i] + 0.1 * t)",
            ]
        )
        assign = "=" if kind < 2 else "+= 0.3 *"
        kernels.append("@ti.kernel")
        kernels.append(f"def k{number}(t: ti.i32):")
        kernels.append(f"    for i in {target}:")
        kernels.append(f"        {target}[i] {assign} ({value})")
        steps.append(f"    {sometimes}k{number}(t)")
    total = " + ".join(f"{w} * {name}[i] ** 2" for w, name in zip(WEIGHTS, NAMES))
    end = ["@ti.kernel", "def total():", "    for i in a:", f"        loss[None] += {total}"]
    return "\n".join([*kernels, *steps, *end]) + "\n"


def is_right(ti, seed):
    """Whether the gradient and the fields after it are right; None if there is an error."""
    r = random.Random(seed)
    text = program(r)
    listed = [name for name in NAMES if r.random() < 0.7] or ["a"]
    steps, slots = r.randint(1, 9), r.randint(1, 4)
    ti.init(ti.cpu, default_fp=ti.f64)
    fields = {name: ti.field(ti.f64, N, needs_grad=True) for name in NAMES}
    loss = ti.field(ti.f64, (), needs_grad=True)
    file = f"<loop {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    module = {"ti": ti, "loss": loss, "__name__": file, **fields}
    exec(compile(text, file, "exec"), module)
    direction = np.array([[r.uniform(-1, 1) for _ in range(N)] for _ in NAMES])

    def start(distance=0.0):
        for number, field in enumerate(fields.values()):
            first = np.linspace(0.2, 0.9, N) * (number + 1) * 0.4
            field.from_numpy(first + distance * direction[number])

    def value(distance):
        start(distance)
        loss[None] = 0
        for t in range(steps):
            module["step"](t)
        module["total"]()
        return loss[None]

    start()
    try:
        with ti.ad.Tape(loss):
            state = [fields[name] for name in listed]
            ti.ad.checkpoint(module["step"], steps, state=state, slots=slots)
            module["total"]()
    except RuntimeError:
        assert len(listed) < len(NAMES), text
        return None
    gradient = np.array([field.grad.to_numpy() for field in fields.values()])
    after = np.array([field.to_numpy() for field in fields.values()])
    wanted = (value(1e-5) - value(-1e-5)) / 2e-5
    value(0.0)
    same = np.array_equal(after, [field.to_numpy() for field in fields.values()])
    return same and (gradient * direction).sum() == pytest.approx(wanted, rel=1e-6, abs=1e-6)


# Two of them once had wrong gradients: values that overflow, and state that soon stays the same.
@pytest.mark.parametrize("seeds", [(5548, 5656), range(60)])
def test_gradients_are_right_or_refused(ti, seeds):
    found = {seed: is_right(ti, seed) for seed in seeds}
    assert [seed for seed in found if found[seed] is False] == []
    assert len(found) < 10 or list(found.values()).count(True) > len(found) / 3
