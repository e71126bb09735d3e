"""Checks of gradients: `grad_check` of tapes, and `validation=True`."""

import warnings

import numpy as np
from harness import case, scalars, ti


@case()
def checked_gradients(show):
    x = ti.field(ti.f64, 3, needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def k():
        for i in x:
            loss[None] += ti.sin(x[i]) * x[i]

    x.from_numpy(np.array([1.0, 2.0, 3.0]))
    with ti.ad.Tape(loss, grad_check=[x]):
        k()
    show(x.grad, x, loss[None])


@case(differs="gradients that differ from finite differences")
def wrong_gradients(show):
    x = ti.field(ti.f64, (), needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def k():
        loss[None] += x[None] * 3

    @ti.ad.grad_replaced
    def forward():
        k()

    @ti.ad.grad_for(forward)
    def backward():
        x.grad[None] = 4

    def run():
        with ti.ad.Tape(loss, grad_check=[x]):
            forward()

    show.error(run)
    if hasattr(ti.ad, "check_grad"):
        show.error(ti.ad.check_grad, forward, loss, x)
        show.error(ti.ad.check_grad, forward, loss, ti.field(ti.f64, ()))


@case()
def validation_without_debug_mode(show):
    (loss,) = scalars(1)
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        ti.ad.Tape(loss, validation=True)
    show([(w.category.__name__, str(w.message)) for w in shown])


@case(debug=True, differs="checks of `Tape(validation=True)`")
def validation_in_debug_mode(show):
    x, loss = scalars(2)

    @ti.kernel
    def use():
        loss[None] += x[None] * 3

    @ti.kernel
    def change():
        x[None] += 1

    def overwritten():
        with ti.ad.Tape(loss, validation=True):
            use()
            change()

    show.error(overwritten)
    with ti.ad.Tape(loss, validation=True):
        change()
        use()
    show(x.grad[None])


@case(debug=True)
def validation_marks_kernels(show):
    x, loss = scalars(2)

    @ti.kernel
    def k():
        loss[None] += x[None] * 3

    modes = ti.lang.enums.AutodiffMode
    with ti.ad.Tape(loss, validation=True) as tape:
        k()
        show([call[0].autodiff_mode == modes.VALIDATION for call in tape.calls])
    show([call[0].autodiff_mode == modes.NONE for call in tape.calls], x.grad[None])
