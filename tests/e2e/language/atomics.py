"""Atomic operations on fields, arrays, elements of matrices and locals, and their results."""

import numpy as np
from harness import case, ti

OPERATIONS = ("add", "sub", "mul", "min", "max", "and", "or", "xor")
BITWISE = ("and", "or", "xor")


def _function(name):
    return getattr(ti, f"atomic_{name}")


NO_CODE = "operations without code on some types"


def _each(name, body, crashes=()):
    """A case for each operation (and type): the reference dies on some of them."""

    def register(key, *arguments):
        def one(show):
            body(show, *arguments)

        one.__name__ = f"{name}_{key}"
        case(differs=NO_CODE if key in crashes else None)(one)

    return register


def _old_value(show, name):
    x = ti.field(ti.i32, ())
    atomic = _function(name)

    @ti.kernel
    def k() -> ti.i32:
        return atomic(x[None], 6)

    x[None] = 12
    show(k(), x[None])


for _name in OPERATIONS:
    _each("old_value_of", _old_value, ("mul",))(_name, _name)


def _on_field(show, name, dtype):
    x = ti.field(dtype, ())
    atomic = _function(name)

    @ti.kernel
    def k():
        for i in range(16):
            atomic(x[None], i)

    x[None] = 100 if name == "sub" else 5
    k()
    show(x[None])


_CRASHES = ("min_i8", "max_i8", "min_u8", "max_u8")
for _type in ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"):
    for _name in ("add", "sub", "min", "max", *(() if _type[0] == "f" else BITWISE)):
        _each("in_a_loop", _on_field, _CRASHES)(f"{_name}_{_type}", _name, getattr(ti, _type, None))


@case()
def halves(show):
    x = ti.field(ti.f16, ())

    @ti.kernel
    def k() -> ti.f32:
        for i in range(16):
            ti.atomic_add(x[None], 0.5)
        return ti.atomic_max(x[None], 100.0)

    show(k(), x[None])


@case()
def multiplication(show):
    for dtype in (ti.i32, ti.i64, ti.f32, ti.f64, ti.u32):
        x = ti.field(dtype, ())

        @ti.kernel
        def k():
            for i in range(5):
                ti.atomic_mul(x[None], i + 1)

        x[None] = 1
        k()
        show(f"{dtype} {x[None]}")


@case()
def parallel_sums(show):
    x = ti.field(ti.i32, ())
    y = ti.field(ti.f64, ())

    @ti.kernel
    def k():
        for i in range(10000):
            x[None] += i
            y[None] += 0.5
            x[None] -= 1

    k()
    show(x[None], y[None])


@case()
def places_of_a_list(show):
    count = ti.field(ti.i32, ())
    taken = ti.field(ti.i32, 1000)

    @ti.kernel
    def k():
        for i in range(1000):
            taken[ti.atomic_add(count[None], 1)] += 1

    k()
    show(count[None], int(taken.to_numpy().min()), int(taken.to_numpy().max()))


@case()
def arrays(show):
    a = np.array([10, 20, 30], dtype=np.int32)
    b = np.array([1.5, 2.5], dtype=np.float32)

    @ti.kernel
    def k(a: ti.types.ndarray(), b: ti.types.ndarray()) -> ti.f32:
        old = ti.atomic_sub(a[0], 3)
        a[1] |= 7
        a[2] ^= 3
        b[0] += 0.25
        return old + ti.atomic_max(b[1], 9.5)

    show(k(a, b), a, b)


@case(differs=NO_CODE)
def elements_of_vectors_and_matrices(show):
    v = ti.Vector.field(2, ti.i32, 3)
    m = ti.Matrix.field(2, 2, ti.f32, ())

    @ti.kernel
    def k() -> ti.i32:
        for i in range(100):
            v[i % 3][i % 2] += 1
            m[None][1, i % 2] += 0.5
        return v[0][1]

    show(k(), v, m)


@case()
def old_value_of_an_element(show):
    v = ti.Vector.field(2, ti.i32, 3)

    @ti.kernel
    def k() -> ti.i32:
        return ti.atomic_add(v[0][1], 100)

    show(k(), v)


@case()
def whole_vectors(show):
    v = ti.Vector.field(2, ti.f32, ())
    w = ti.Vector.field(3, ti.i32, ())

    @ti.kernel
    def k():
        for i in range(100):
            v[None] += ti.Vector([0.5, 1.0])
            w[None] -= 1
            ti.atomic_max(w[None], ti.Vector([-50, -1000, i]))

    k()
    show(v[None].to_list(), w[None][1] <= -1)


@case()
def old_vectors_are_returned(show):
    v = ti.Vector.field(2, ti.f32, ())

    @ti.kernel
    def k() -> ti.math.vec2:
        return ti.atomic_add(v[None], ti.Vector([0.5, 1.0]))

    v[None] = [1, 2]
    show(k(), v[None].to_list())


@case()
def local_variables(show):
    @ti.kernel
    def k() -> ti.i32:
        a = 10
        b = ti.atomic_add(a, 5)
        c = ti.atomic_xor(a, 1)
        d = ti.atomic_min(a, 3)
        v = ti.Vector([1, 2])
        e = ti.atomic_add(v[1], 40)
        print(a, b, c, d, v, e)
        return a

    show(k())


@case()
def members_of_structs(show):
    particle = ti.types.struct(pos=ti.math.vec2, count=ti.i32)
    x = particle.field(shape=4)

    @ti.kernel
    def k() -> ti.i32:
        for i in range(100):
            x[i % 4].count += 1
            x[i % 4].pos += ti.Vector([1.0, 0.5])
        return x[1].count

    show(k(), x[0].count, x[0].pos.to_list(), x[1].count)


@case()
def operands_are_converted_to_the_target(show):
    x = ti.field(ti.i32, ())
    y = ti.field(ti.u8, ())

    @ti.kernel
    def k():
        x[None] += 2.9
        y[None] += 300
        ti.atomic_max(x[None], 7.9)

    k()
    show(x[None], y[None])


@case()
def old_values_have_the_type_of_the_target(show):
    from harness import type_of

    x = ti.field(ti.i64, ())
    y = ti.field(ti.f32, ())
    seen = []

    def note(value):
        seen.append(type_of(value))

    @ti.kernel
    def k():
        a = ti.atomic_add(x[None], 1)
        b = ti.atomic_add(y[None], 1)
        ti.static(note(a), note(b))

    k()
    show(seen)


@case(differs=NO_CODE)
def bit_operations_on_floats(show):
    x = ti.field(ti.f32, ())
    for name in BITWISE:
        atomic = _function(name)

        @ti.kernel
        def k():
            atomic(x[None], 1)

        show.error(k)


@case()
def targets_that_cannot_be_written(show):
    @ti.kernel
    def constant():
        ti.atomic_add(1, 2)

    @ti.kernel
    def argument(a: ti.i32):
        ti.atomic_add(a, 2)

    @ti.kernel
    def value(a: ti.i32):
        ti.atomic_add(a + 1, 2)

    show.error(constant)
    show.error(argument, 1)
    show.error(value, 1)


@case(differs=NO_CODE)
def operands_of_another_shape(show):
    x = ti.Vector.field(2, ti.f32, ())

    @ti.kernel
    def k():
        x[None] += ti.Vector([1.0, 2.0, 3.0])

    show.error(k)


@case()
def wrong_numbers_of_arguments(show):
    x = ti.field(ti.f32, ())

    @ti.kernel
    def one():
        ti.atomic_add(x[None])

    @ti.kernel
    def three():
        ti.atomic_add(x[None], 1, 2)

    show.error(one)
    show.error(three)


@case()
def in_python_scope(show):
    show.error(lambda: ti.atomic_add(1, 2))


@case()
def minima_and_maxima_with_negative_values(show):
    for dtype in (ti.f32, ti.f64, ti.i32, ti.i64):
        low, high = ti.field(dtype, ()), ti.field(dtype, ())

        @ti.kernel
        def k():
            for i in range(1000):
                ti.atomic_min(low[None], i - 500)
                ti.atomic_max(high[None], -i - 3)

        low[None], high[None] = 10, -5000
        k()
        show(f"{dtype} {low[None]} {high[None]}")


@case()
def reductions_of_locals_in_parallel_loops(show):
    x = ti.field(ti.i32, 1000)

    @ti.kernel
    def k() -> ti.i32:
        total = 0
        least = 1 << 30
        for i in x:
            x[i] = i
            total += i
            ti.atomic_min(least, 500 - i)
        return total + least

    show(k())


@case()
def greatest_of_square_roots(show):
    x = ti.field(ti.f32, 1000)
    greatest, least, first = (ti.field(ti.f32, ()) for _ in range(3))

    @ti.kernel
    def k(of_squares: ti.f32):
        for i in x:
            ti.atomic_max(greatest[None], ti.sqrt(x[i] * of_squares))
            ti.atomic_min(least[None], ti.sqrt(x[i] * of_squares))
        for i in x:
            root = ti.sqrt(x[i])
            if i < 10:
                ti.atomic_max(first[None], root)

    x.from_numpy(np.arange(1000, dtype=np.float32) + 2)
    greatest[None], least[None] = 3, 100
    k(1)
    show(greatest[None], least[None], first[None])
    greatest[None] = 3
    k(-1)  # no root is a number
    show(greatest[None], least[None])


@case()
def guarded_sums_in_cells_that_do_not_exist(show):
    # No iteration passes the guard: nothing is added, not even zero.
    cells, array = ti.field(ti.i32, 8), ti.ndarray(ti.f32, 8)

    @ti.kernel
    def run(a: ti.types.ndarray(), k: ti.i32):
        for i in range(1000):
            if 0 <= k < 8:
                cells[k] += i
        for i in range(1000):
            if k < 0 or k >= a.shape[0]:
                continue
            a[k] += 0.5
        for i in range(1000):
            if i % 2 == 0 and k < 8 and k > -8:
                ti.atomic_max(cells[k + 1], i)

    for k in (3, 2**28, -(2**28)):
        run(array, k)
    show(cells.to_numpy().tolist(), array.to_numpy().tolist())
