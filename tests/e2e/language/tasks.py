"""Values shared by the serial parts and parallel loops of a kernel."""

# ruff: noqa: E741, F821, F841
from harness import case, numbers, ti


@case()
def serial_values_in_parallel_loops(show):
    v = ti.Vector.field(2, ti.f32, 3)

    @ti.kernel
    def k(a: ti.f32):
        b = a * 2.0
        w = ti.Vector([1.0, b + 1.0])
        for i in v:
            v[i] = w * (i + 1)

    k(1.0)
    show(numbers(v))


@case()
def serial_variable_between_loops(show):
    x = ti.field(ti.i32, 3)

    @ti.kernel
    def k():
        s = 0
        for i in range(5):
            s += i
        x[0] = s
        s += 100
        for i in range(2, 3):
            x[1] = s
        n = 0
        while n * n < 30:
            n += 1
        for i in range(1):
            x[2] = n

    k()
    show(numbers(x))


@case()
def reductions_over_serial_variables(show):
    x = ti.field(ti.i32, 6)

    @ti.kernel
    def k() -> ti.types.vector(3, ti.i32):
        lo = 1000
        hi = -1000
        both = 1
        for i in x:
            ti.atomic_min(lo, x[i])
            ti.atomic_max(hi, x[i])
            both &= x[i]
        return ti.Vector([lo, hi, both])

    for i, value in enumerate((5, 3, 9, 7, 3, 5)):
        x[i] = value
    show(list(k()))


@case()
def serial_choice_used_in_loop(show):
    x = ti.field(ti.f32, 4)

    @ti.kernel
    def k(a: ti.i32):
        b = x[0] if a > 0 else 2.0
        c = a if a > 3 else 0
        for i in x:
            if i == 2:
                x[i] = 2.0
                continue
            x[i] = b + c

    x[0] = 7
    k(1)
    show(numbers(x))
