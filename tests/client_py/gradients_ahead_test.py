"""Gradients that are compiled while a tape records, and the memory that clearing them touches."""

import resource

import pytest


@pytest.fixture
def fields(ti):
    return [ti.field(ti.f32, (), needs_grad=True) for _ in range(2)]


def _begun(kernel):
    return len(kernel.grad._compilations)


def test_a_first_call_begins_the_gradient(ti, fields):
    x, loss = fields

    @ti.kernel
    def k(power: ti.template()):
        loss[None] += x[None] ** power

    x[None] = 3.0
    with ti.ad.Tape(loss):
        k(2)
        k(2)
        assert _begun(k) == 1
        k(3)
        assert _begun(k) == 2
        assert k.grad.num_instances == 0
    assert (_begun(k), k.grad.num_instances) == (0, 2)
    assert x.grad[None] == 2 * 6 + 27


def test_missing_gradients_are_begun_together(ti, fields):
    x, loss = fields

    @ti.kernel
    def square():
        loss[None] += x[None] ** 2

    @ti.kernel
    def cube():
        loss[None] += x[None] ** 3

    square()
    cube()
    x[None] = 3.0
    with ti.ad.Tape(loss):
        square()
        cube()
        assert (_begun(square), _begun(cube)) == (0, 0)
        seen = []
        whole = cube.grad._make
        cube.grad._make = lambda args: (seen.append(_begun(square)), whole(args))
    assert seen == [1]
    assert x.grad[None] == 6 + 27


def test_calls_outside_of_tapes_begin_nothing(ti, fields):
    x, loss = fields

    @ti.kernel
    def k():
        loss[None] += x[None] ** 2

    k()
    assert _begun(k) == 0


def test_the_error_of_a_gradient_waits_for_its_call(ti, fields):
    x, loss = fields

    @ti.kernel
    def k():
        loss[None] += ti.random() * x[None]

    tape = ti.ad.Tape(loss)
    with pytest.raises(ti.TaichiCompilationError, match="random"):
        with tape:
            k()
            reached = True
    assert reached
    assert _begun(k) == 0


def test_an_error_in_the_body_drops_what_was_begun(ti, fields):
    x, loss = fields

    @ti.kernel
    def k():
        loss[None] += x[None] ** 2

    with pytest.raises(KeyError):
        with ti.ad.Tape(loss):
            k()
            raise KeyError
    x[None] = 3.0
    with ti.ad.Tape(loss):
        k()
    assert x.grad[None] == 6


def test_what_was_begun_before_reset_is_not_used(ti):
    def loss_of_square():
        x = ti.field(ti.f32, (), needs_grad=True)
        loss = ti.field(ti.f32, (), needs_grad=True)

        @ti.kernel
        def k():
            loss[None] += x[None] ** 2

        return x, loss, k

    x, loss, k = loss_of_square()
    tape = ti.ad.Tape()
    with tape:
        k()
        assert _begun(k) == 1
    ti.reset()
    ti.init(ti.cpu)
    k.grad._compilations[0].finish()
    assert k.grad.num_instances == 0
    x, loss, k = loss_of_square()
    x[None] = 3.0
    with ti.ad.Tape(loss):
        k()
    assert x.grad[None] == 6


def test_globals_are_those_of_the_first_call(ti, fields):
    # The front end of the gradient runs at the call, not at some time while the program goes on.
    x, loss = fields
    factor = 2.0

    @ti.kernel
    def k():
        loss[None] += factor * x[None]

    with ti.ad.Tape(loss):
        k()
        factor = 5.0
    assert x.grad[None] == 2


def test_a_program_may_end_while_gradients_are_compiled(run_python):
    assert "forward" in run_python(
        """
import kiln as ti
ti.init(ti.cpu)
x, loss = (ti.field(ti.f32, (), needs_grad=True) for _ in range(2))

@ti.kernel
def k():
    for i in range(100):
        loss[None] += ti.sin(x[None]) ** i

with ti.ad.Tape():
    k()
print("forward")
"""
    )


def test_clearing_touches_only_what_was_written(ti):
    count = 1 << 28  # 1 GiB
    x = ti.field(ti.f32, count, needs_grad=True)
    loss = ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def k(begin: ti.i32, end: ti.i32):
        for i in range(begin, end):
            loss[None] += x[i]

    before = _bytes_in_memory()
    begins = (0, count // 2, count - 1000)
    for begin in begins:
        with ti.ad.Tape(loss):
            k(begin, begin + 1000)
        for other in begins:
            assert x.grad[other] == x.grad[other + 999] == (other == begin)
    assert _bytes_in_memory() - before < 1 << 28


def _bytes_in_memory():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
