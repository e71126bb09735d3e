"""Statements and expressions of Python that kernels have, and those they have not."""

# ruff: noqa: E741, F821, F841
from harness import case, ti


@case()
def is_operator(show):
    b = 3

    @ti.kernel
    def k(a: ti.i32):
        c = a is b

    show.error(k, 1)


@case()
def membership(show):
    @ti.kernel
    def k():
        c = 1 in [1, 2]

    show.error(k)


@case()
def unsupported_statement(show):
    @ti.kernel
    def k():
        try:
            pass
        except ValueError:
            pass

    show.error(k)
