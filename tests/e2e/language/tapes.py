"""`ti.ad.Tape` itself: losses, tapes in tapes, errors inside, memory, overwritten values."""

import os
import re
import warnings

import numpy as np
from harness import case, scalars, ti


def without_lines(error):
    """The text of an error that names lines of programs in its middle."""
    return re.sub(r"\S+\.py:\d+", "a line", str(error))


@case()
def gradients_are_cleared_or_kept(show):
    x, loss = scalars(2)

    @ti.kernel
    def k():
        loss[None] += x[None] * 3

    for clear in (True, False, False, True):
        with ti.ad.Tape(loss, clear_gradients=clear):
            k()
        show(x.grad[None])
    ti.ad.clear_all_gradients()
    show(x.grad[None], loss.grad[None])


def enter(*arguments, **keywords):
    with ti.ad.Tape(*arguments, **keywords):
        pass


@case()
def losses_that_are_none(show):
    show.error(enter, ti.field(ti.f32, 3, needs_grad=True))
    show.error(enter, ti.field(ti.f32, ()))
    show.error(enter, ti.ndarray(ti.f32, 3, needs_grad=True))
    show.error(enter, ti.ndarray(ti.f32, 1))


@case(differs="losses of other types")
def losses_of_other_types(show):
    show.error(enter, 3)


@case()
def tapes_used_twice(show):
    (loss,) = scalars(1)
    tape = ti.ad.Tape(loss)
    show.error(tape.grad)
    with tape:
        pass
    show.error(tape.grad)
    show.error(tape.__enter__)


@case()
def nested_tapes(show):
    (loss,) = scalars(1)

    def run():
        with ti.ad.Tape(loss), ti.ad.Tape(loss):
            pass

    show.error(run)


@case(differs="errors inside a tape")
def errors_inside_a_tape(show):
    x, loss = scalars(2)

    @ti.kernel
    def k():
        loss[None] += x[None] * 3

    def run():
        with ti.ad.Tape(loss):
            k()
            raise KeyError("mine")

    show.error(run)
    show(x.grad[None])


@case(differs="tapes without a loss")
def tape_without_a_loss(show):
    x, y = scalars(2)

    @ti.kernel
    def k():
        y[None] = x[None] * 3

    with ti.ad.Tape() as tape:
        k()
    y.grad[None] = 2
    tape.grad()
    show(x.grad[None])


@case()
def checks_that_are_refused(show):
    x, loss = scalars(2)
    show.error(enter, loss, grad_check=x)
    show.error(enter, loss, grad_check=[x])


@case(differs="tapes of loops")
def tape_without_room(show):
    x, loss = scalars(2)

    @ti.kernel
    def k(n: ti.i32):
        for _ in range(1):
            v = ti.Vector([1.0] * 32)
            for step in range(n):
                v = v * v * x[None]
            loss[None] += v.sum()

    x[None] = 0.5
    loss.grad[None] = 1
    show.error(k.grad, 2_000_000_000)
    k.grad(1)
    show(x.grad[None])


@case(differs="tapes of loops")
def limits_by_an_option(show):
    for limit in (-1.0, float("nan")):
        show.error(ti.init, ti.cpu, ad_tape_GB=limit)
    for limit in (2**-8, 2**-6, 0):
        ti.init(ti.cpu, ad_tape_GB=limit)
        x, loss = scalars(2)

        @ti.kernel
        def k():
            for _ in range(1):
                y = x[None]
                for step in range(1_500_000):
                    y = y * y * x[None]
                loss[None] += y

        x[None] = 1
        loss.grad[None] = 1
        if limit == 2**-8:
            show.error(k.grad)
        else:
            k.grad()


@case(differs="tapes of loops")
def limit_of_tapes(show):
    @ti.kernel
    def k():
        pass

    for text in ("many", "0", "-1", "1.5"):
        os.environ["KILN_TAPE_MB"] = text
        show.error(lambda: k.grad)
    os.environ["KILN_TAPE_MB"] = "64"
    k.grad()
    del os.environ["KILN_TAPE_MB"]


@case(differs="what a gradient needs is overwritten")
def overwritten_values(show):
    x, loss = scalars(2)
    y = ti.field(ti.f32, 4, needs_grad=True)

    @ti.kernel
    def in_place():
        for i in y:
            y[i] = ti.sin(y[i])

    @ti.kernel
    def later():
        for i in y:
            loss[None] += y[i] ** 2
        for i in y:
            y[i] = 0.0

    show.error(in_place.grad)
    show.error(later.grad)


@case(differs="a later kernel overwrites what a gradient needs")
def overwritten_by_later_kernels(show):
    x, loss = scalars(2)

    @ti.kernel
    def use():
        loss[None] += x[None] ** 2

    @ti.kernel
    def change():
        x[None] += 1

    def launch(access):
        with ti.ad.Tape(loss, access=access):
            use()
            change()
            change()

    try:
        launch("error")
    except RuntimeError as error:
        show(without_lines(error))
    show.error(launch, "save")
    launch("ignore")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        launch("warn")
    show([(type(one.message).__name__, str(one.message).partition(" at ")[0]) for one in caught])


@case(differs="second derivatives")
def second_derivatives_that_are_refused(show):
    both = {"needs_grad": True, "needs_dual": True}
    x, loss = ti.field(ti.f32, 2, **both), ti.field(ti.f32, (), **both)
    (without_dual,) = scalars(1, name="w")
    array = ti.ndarray(ti.f32, 2, needs_grad=True)

    @ti.kernel
    def through_another():
        loss[None] += x[0] * without_dual[None]

    @ti.kernel
    def of_an_array(a: ti.types.ndarray()):
        loss[None] += x[0] * a[0]

    @ti.ad.grad_replaced
    def replaced():
        pass

    v = np.zeros(2, np.float32)
    try:
        ti.ad.hvp(through_another, loss, x, v)
    except RuntimeError as error:
        show(without_lines(error))
    show.error(ti.ad.hvp, lambda: of_an_array(array), loss, x, v)
    show.error(ti.ad.hvp, replaced, loss, x, v)
    show.error(ti.ad.hvp, through_another, loss, array, v)
    show.error(ti.ad.hvp, through_another, x, x, v)
