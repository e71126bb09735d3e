"""Statements and expressions of Python that kernels do not have."""

# ruff: noqa: B018, B028, C400, C401, C402, C416, E711, E712, E731, E741, F401, F632, F811, F841, F842
from harness import case, ti

x = ti.types  # a global that kernels may read


def refused(kernel):
    """A case of one kernel, called without arguments, that must not compile."""

    def body(show):
        show.error(ti.kernel(kernel))

    body.__name__ = kernel.__name__
    body.__code__ = body.__code__.replace(co_firstlineno=kernel.__code__.co_firstlineno)
    return case()(body)


# --- statements that kernels do not have


@refused
def try_except():
    try:
        pass
    except ValueError:
        pass


@refused
def raise_statement():
    raise ValueError("no")


@refused
def with_statement():
    with open("/dev/null") as f:
        pass


@refused
def class_definition():
    class A:
        pass


@refused
def import_statement():
    import math


@refused
def import_from_statement():
    from math import sin


@refused
def global_statement():
    global x
    x = 1


@case()
def nonlocal_statement(show):
    a = 1

    @ti.kernel
    def k():
        nonlocal a
        a = 2

    show.error(k)


@refused
def del_statement():
    a = 1
    del a


@refused
def function_definition():
    def f():
        pass


@refused
def lambda_expression():
    f = lambda a: a
    b = f(1)


@refused
def async_function():
    async def f():
        pass


@case()
def generator_kernel(show):
    @ti.kernel
    def k():
        yield 1

    show.error(k)


@case()
def yield_from_kernel(show):
    @ti.kernel
    def k():
        yield from [1]

    show.error(k)


@case()
def async_kernel(show):
    @ti.kernel
    async def k():
        pass

    show.error(k)


# --- expressions that kernels do not have


@refused
def set_display():
    a = {1, 2}


@refused
def set_comprehension():
    a = {i for i in range(3)}


@case(differs="plain Python")
def generator_expression(show):
    @ti.kernel
    def k():
        a = sum(i for i in range(3))

    show.error(k)


@refused
def ellipsis_constant():
    a = ...


@refused
def bytes_constant():
    a = b"abc"


@refused
def none_constant():
    a = None


@refused
def complex_constant():
    a = 1j


@refused
def is_not_operator():
    a = 1
    b = a is not None


@refused
def is_operator():
    a = 1
    b = a is 1


@refused
def in_operator():
    a = 1 in [1, 2]


@refused
def not_in_operator():
    a = 1 not in [1, 2]


@refused
def starred_assignment():
    a, *b = 1, 2, 3


@case()
def subscript_of_a_number(show):
    @ti.kernel
    def k():
        a = 1
        a[0] = 2

    show.error(k)


@case()
def attribute_of_a_number(show):
    @ti.kernel
    def k():
        a = 1
        b = a.real_part

    show.error(k)


@case()
def call_of_a_number(show):
    @ti.kernel
    def k():
        a = 1
        b = a(2)

    show.error(k)


@refused
def len_of_a_number():
    a = 1
    b = len(a)


@refused
def iterating_a_number():
    a = 1
    for i in ti.static(a):
        pass


@refused
def annotation_without_a_value():
    a: ti.i32


@case(differs="mistakes without a message")
def assignment_to_an_attribute_of_a_number(show):
    @ti.kernel
    def k():
        a = 1
        a.b = 2

    show.error(k)


@case()
def assignment_to_a_call(show):
    @ti.kernel
    def k():
        a = ti.Vector([1, 2])
        a.sum()[0] = 2

    show.error(k)


@refused
def unary_minus_of_a_string():
    a = -"abc"


@refused
def arithmetic_with_a_string():
    a = 1
    b = a + "x"


@refused
def arithmetic_with_none():
    a = 1
    b = a * None
