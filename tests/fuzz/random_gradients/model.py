"""The derivatives that a program's text has, and a second opinion on them."""

import re

from .language import Cells, Language, Members
from .numbers import Run, Undecided, number
from .places import BLOCK, INPUTS, KERNELS, LOW, SHAPES, SPARSE, N, P, indices

_STEPS = (1e-6, 1e-8)  # of the differences, along the direction; one has to suit
_CLOSE = 1e-4
_STEEP = 1e4  # where rounding errors count


class Wrong(Exception):
    """The model contradicts itself."""


def expected(places, text, second=False):
    """{"value": the weighted sum of the results, "gradient": its derivatives by the inputs, "dual":
    the derivative along the direction}; None if they are undecided. second: adds "second", the
    derivatives of the gradient along x's direction."""
    try:
        return _expected(places, text, second)
    except (Undecided, OverflowError, ZeroDivisionError):
        return None


def _expected(places, text, second):
    code = compile(_with_assigned_extremes(text), "<model>", "exec")
    run = Run()
    inputs, results = _evaluate(places, code)
    value = _total(results)
    gradient = run.gradient(results, inputs)
    if not all(abs(number) <= _STEEP for number in (value, *gradient)):
        return None
    products = [g * d for g, d in zip(gradient, places.flat(places.direction))]
    wanted = {"value": value, "gradient": gradient, "dual": sum(products)}
    size = 1.0 + abs(value) + sum(map(abs, products))
    slopes = [_difference(places, code, run.decisions, step) for step in _STEPS]
    if not any(abs(slope - wanted["dual"]) <= _CLOSE * size for slope in slopes):
        if abs(slopes[0] - slopes[1]) > _CLOSE * size:
            return None  # the results are too steep for differences
        raise Wrong(f"differences {slopes} disagree with the model's dual {wanted['dual']}")
    if second:
        wanted["second"] = _second(places, code, run.decisions)
        return wanted["second"] and wanted
    return wanted


def _with_assigned_extremes(text):
    """Python's functions cannot change an element that they are given."""
    return re.sub(
        r"ti.atomic_(max|min)\((top\[.\]|u\d+), (.*)\)$", r"\2 = ti.\1(\2, \3)", text, flags=re.M
    )


def _difference(places, code, decisions, step):
    """The central difference of the weighted sum along the direction."""
    before, behind = (_run_again(places, code, decisions, shift) for shift in (-step, step))
    return (_total(behind[2]) - _total(before[2])) / (2 * step)


def _second(places, code, decisions):
    """The central difference of the gradient along x's direction; None if it depends much on the
    step."""
    found = []
    for step in (1e-5, 1e-6):
        ends = []
        for shift in (-step, step):
            run, inputs, results = _run_again(places, code, decisions, shift, of="x")
            ends.append(run.gradient(results, inputs))
        found.append([(b - a) / (2 * step) for a, b in zip(*ends)])
    size = 1.0 + max(map(abs, found[0]))
    are_close = all(abs(a - b) <= _CLOSE * size for a, b in zip(*found))
    return found[0] if are_close and size < _STEEP else None


def _run_again(places, code, decisions, shift, of=INPUTS):
    run = Run(decisions)
    return run, *_evaluate(places, code, shift, of)


def _total(results):
    return sum(number.value * weight for number, weight in results)


def _evaluate(places, code, shift=0.0, of=INPUTS):
    """Runs the program with some inputs shifted so far along the direction. Returns the inputs, and
    pairs of a result and its weight."""
    shifted = {n: places.values[n] + (n in of) * shift * places.direction[n] for n in INPUTS}
    inputs = [number(value) for value in places.flat(shifted)]
    data = _data(places, iter(inputs))
    members = Members({name: data[name] for name in "xy" if places.kinds[name] == "struct"})
    module = {"ti": Language, "s": members, **data}
    exec(code, module)
    for name in filter(module.get, KERNELS):
        module[name](number(P), N, *(data[name] for name in places.arrays()))
    return inputs, [
        (data[name][index], weight)
        for name, weights in places.weights.items()
        for index, weight in zip(indices(name), weights.ravel().tolist())
    ]


def _data(places, inputs):
    """The cells of all fields and arrays by name."""
    data = {}
    zero = number(0.0)
    for name in SHAPES:
        is_input = name in INPUTS
        data[name] = Cells({i: next(inputs) if is_input else zero for i in indices(name)})
    data["top"] = Cells(dict(enumerate(map(number, LOW))))
    if places.kinds["x"] in SPARSE:
        data["x"].active = set(places.active)
    if places.kinds["y"] in SPARSE:
        data["y"].active = set()
        data["y"].unit = {"blocks": BLOCK, "dynamic": 0}.get(places.kinds["y"], 1)
    return data
