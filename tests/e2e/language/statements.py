"""Statements and expressions of Python that kernels have."""

# ruff: noqa: B018, B028, C400, C401, C402, C416, E711, E712, E731, E741, F401, F632, F811, F841, F842
from harness import case, ti


@case()
def docstring_pass_and_bare_expressions(show):
    @ti.kernel
    def k() -> ti.i32:
        """A docstring."""
        pass
        1
        "a text by itself"
        a = 3
        a + 1
        return a

    show(k(), k.__doc__)


@case()
def string_and_ellipsis_as_statements(show):
    @ti.kernel
    def k() -> ti.i32:
        a = 2
        ...
        return a

    show.error(k)


@case()
def conditional_expression_forms(show):
    @ti.kernel
    def k(a: ti.i32) -> ti.types.vector(4, ti.f32):
        b = 1 if a > 0 else 2.5
        c = 1 if True else 2
        d = (1 if a > 1 else 2) if a > 0 else 3
        e = ti.Vector([1.0, 2.0])[1] if a > 0 else 0.5
        return ti.Vector([b, c, d, e])

    show(k(1), k(2), k(-1))


@case()
def boolean_operators(show):
    @ti.kernel
    def k(a: ti.i32, b: ti.i32) -> ti.types.vector(5, ti.i32):
        return ti.Vector(
            [a and b, a or b, not a, a > 0 and b > 0 and a > b, a > 5 or b > 5 or a == b]
        )

    for a, b in ((0, 0), (1, 2), (7, 0), (3, 3), (9, 1)):
        show(k(a, b))


@case()
def chained_compares(show):
    @ti.kernel
    def k(a: ti.i32) -> ti.types.vector(4, ti.i32):
        return ti.Vector([0 < a < 5, 0 < a <= 5 < 9, 1 == a != 2, 3 > a > 1 > 0])

    for a in (0, 1, 2, 5):
        show(k(a))


@case()
def strings_in_static_conditions(show):
    mode = "fast"

    @ti.kernel
    def k() -> ti.i32:
        r = 0
        if ti.static(mode == "fast"):
            r += 1
        if ti.static(mode in ["slow", "fast"]):
            r += 4
        if ti.static("x" not in mode):
            r += 16
        return r

    show(k())


@case()
def walrus_forms(show):
    @ti.kernel
    def k(n: ti.i32) -> ti.types.vector(3, ti.i32):
        r = 0
        if (m := n * 2) > 5:
            r = m
        b = (c := 3) + c
        return ti.Vector([r, b, m])

    show(k(2), k(3))


@case()
def walrus_in_while(show):
    @ti.kernel
    def k(n: ti.i32) -> ti.i32:
        a = n
        s = 0
        while (b := a - 1) > 0:
            s += b
            a = b
        return s

    show(k(5))


@case()
def lists_tuples_and_dicts(show):
    @ti.kernel
    def k(p: ti.i32) -> ti.types.vector(5, ti.i32):
        a = [p, 2, 3]
        b = (p + 1, 4)
        d = {"one": p, "two": 2}
        a[1] = 7
        return ti.Vector([a[0], a[1], b[0] + b[1], d["one"] + d["two"], len(a) + len(b)])

    show(k(1))


@case()
def dict_comprehension(show):
    @ti.kernel
    def k(p: ti.i32) -> ti.i32:
        d = {i: i * p for i in ti.static(range(4)) if i > 1}
        return d[2] + d[3]

    show(k(10))


@case()
def list_comprehensions(show):
    @ti.kernel
    def k(p: ti.i32) -> ti.types.vector(4, ti.i32):
        a = [i + p for i in range(2)]
        b = [i * j for i in range(2) for j in range(3) if i > 0 if j > 0]
        return ti.Vector(a + b)

    show(k(10))


@case()
def nested_list_comprehension(show):
    @ti.kernel
    def k(p: ti.i32) -> ti.types.matrix(2, 2, ti.i32):
        return ti.Matrix([[i * 2 + j + p for j in range(2)] for i in range(2)])

    show(k(10))


@case()
def comprehension_over_a_vector(show):
    @ti.kernel
    def k(p: ti.i32) -> ti.types.vector(2, ti.i32):
        v = ti.Vector([p, p + 1])
        return ti.Vector([e * 2 for e in v])

    show(k(10))


@case()
def comprehension_over_zip_and_enumerate(show):
    @ti.kernel
    def k(p: ti.i32) -> ti.types.vector(4, ti.i32):
        a = [i + j * p for i, j in zip([1, 2], [3, 4])]
        b = [i * j + p for i, j in enumerate([3, 4])]
        return ti.Vector(a + b)

    show(k(10))


@case(differs="mistakes let pass")
def comprehension_with_a_run_time_condition(show):
    @ti.kernel
    def k(p: ti.i32) -> ti.i32:
        a = [i for i in range(2) if p > 0]
        return a[0]

    show.error(k, 1)


@case()
def comprehension_over_a_run_time_range(show):
    @ti.kernel
    def k(p: ti.i32) -> ti.i32:
        a = [i for i in range(p)]
        return a[0]

    show.error(k, 1)


@case(differs="plain Python")
def f_strings_and_formats_known_at_compile_time(show):
    n = 3

    @ti.kernel
    def k():
        ti.static_print(f"n = {n} {n:04d} {n!r}")

    k()


@case(differs="plain Python")
def starred_in_calls_and_displays(show):
    values = (1, 2)

    @ti.func
    def add(a, b):
        return a + b

    @ti.kernel
    def k(p: ti.i32) -> ti.types.vector(3, ti.i32):
        a = [*values, p]
        b = add(*values)
        return ti.Vector([a[0] + a[2], b, add(*[p, 1])])

    show(k(5))


@case()
def keyword_spread_in_calls(show):
    options = {"b": 2}

    @ti.func
    def add(a, b):
        return a * 10 + b

    @ti.kernel
    def k(p: ti.i32) -> ti.i32:
        return add(p, **options)

    show(k(5))


@case()
def assertion(show):
    @ti.kernel
    def k(a: ti.i32) -> ti.i32:
        assert a > 0
        assert a > 0, "positive"
        assert a > 0, f"positive, not {a}"
        return a

    show(k(1))


@case()
def assertion_with_a_value_for_text(show):
    @ti.kernel
    def k(a: ti.i32):
        assert a > 0, 3

    show.error(k, 1)


@case()
def assertion_with_a_variable_for_text(show):
    @ti.kernel
    def k(a: ti.i32):
        assert a > 0, a

    show.error(k, 1)


@case()
def augmented_assignment_of_every_kind(show):
    @ti.kernel
    def ints(a: ti.i32, b: ti.i32) -> ti.types.vector(11, ti.i32):
        add = a
        add += b
        sub = a
        sub -= b
        mul = a
        mul *= b
        floor = a
        floor //= b
        mod = a
        mod %= b
        left = a
        left <<= b
        right = a
        right >>= b
        bit_and = a
        bit_and &= b
        bit_or = a
        bit_or |= b
        xor = a
        xor ^= b
        power = a
        power **= b
        return ti.Vector([add, sub, mul, floor, mod, left, right, bit_and, bit_or, xor, power])

    @ti.kernel
    def floats(a: ti.f32, b: ti.f32) -> ti.types.vector(7, ti.f32):
        add = a
        add += b
        sub = a
        sub -= b
        mul = a
        mul *= b
        div = a
        div /= b
        floor = a
        floor //= b
        mod = a
        mod %= b
        power = a
        power **= b
        return ti.Vector([add, sub, mul, div, floor, mod, power])

    show(ints(13, 3), ints(-13, 3))
    show(floats(7.5, 2.0), floats(-7.5, 2.0))


@case()
def augmented_true_division_of_an_integer(show):
    @ti.kernel
    def k(a: ti.i32) -> ti.i32:
        b = a
        b /= 2
        return b

    show.error(k, 7)


@case(differs="plain Python")
def augmented_matrix_product(show):
    @ti.kernel
    def k() -> ti.types.matrix(2, 2, ti.i32):
        a = ti.Matrix([[1, 2], [3, 4]])
        a @= ti.Matrix([[0, 1], [1, 0]])
        return a

    show.error(k)


@case()
def augmented_assignment_to_elements(show):
    f = ti.field(ti.i32, 4)
    v = ti.Vector.field(2, ti.i32, ())

    @ti.kernel
    def k():
        f[0] += 5
        f[1] -= 5
        f[2] |= 6
        f[2] &= 3
        f[3] ^= 9
        f[0] *= 3
        f[1] //= 2
        v[None] += 1
        v[None].x += 10
        v[None][1] *= 7

    k()
    show(f, v)


@case(differs="plain Python")
def annotated_assignments(show):
    @ti.kernel
    def k() -> ti.types.vector(3, ti.f32):
        a: ti.i32 = 2.7
        b: ti.f32 = 2
        c: float = 1
        return ti.Vector([a, b, c])

    show(k())


@case(differs="plain Python")
def annotated_assignment_of_a_vector_type(show):
    @ti.kernel
    def k() -> ti.types.vector(2, ti.f32):
        a: ti.math.vec2 = [1, 2]
        return a

    show.error(k)


@case()
def chained_assignment(show):
    @ti.kernel
    def k() -> ti.types.vector(3, ti.i32):
        a = b = c = 4
        a += 1
        b += 2
        return ti.Vector([a, b, c])

    show(k())


@case(differs="plain Python")
def tuple_unpacking_of_every_source(show):
    @ti.func
    def pair():
        return 1, 2

    @ti.kernel
    def k() -> ti.types.vector(8, ti.i32):
        a, b = 3, 4
        c, d = pair()
        e, f = ti.Vector([5, 6])
        [g, h] = [7, 8]
        return ti.Vector([a, b, c, d, e, f, g, h])

    show(k())


@case()
def swaps(show):
    f = ti.field(ti.i32, 2)

    @ti.kernel
    def k() -> ti.types.vector(2, ti.i32):
        a, b = 1, 2
        a, b = b, a
        f[0] = 3
        f[1] = 4
        f[0], f[1] = f[1], f[0]
        return ti.Vector([a, b])

    show(k(), f)


@case()
def unpacking_too_few(show):
    @ti.kernel
    def k():
        a, b, c = ti.Vector([1, 2])

    show.error(k)


@case()
def unpacking_a_matrix(show):
    @ti.kernel
    def k():
        a, b = ti.Matrix([[1, 2], [3, 4]])

    show.error(k)


@case()
def unpacking_a_number(show):
    @ti.kernel
    def k():
        a, b = 1

    show.error(k)


@case(differs="plain Python")
def nested_unpacking(show):
    @ti.kernel
    def k() -> ti.i32:
        (a, b), c = (1, 2), 3
        return a + b + c

    show.error(k)


@case()
def attributes_of_globals(show):
    class Settings:
        n = 4
        scale = 0.5

    @ti.kernel
    def k() -> ti.f32:
        return Settings.n * Settings.scale

    show(k())


@case()
def python_functions_of_python_values(show):
    import math

    @ti.kernel
    def k(a: ti.f32) -> ti.f32:
        return a * math.sqrt(16.0) + int(math.pi)

    show(k(2.0))


@case()
def python_function_of_a_kernel_value(show):
    import math

    @ti.kernel
    def k(a: ti.f32) -> ti.f32:
        return math.sqrt(a)

    show.error(k, 4.0)


@case(differs="plain Python")
def string_annotations(show):
    @ti.kernel
    def k(a: "ti.i32") -> "ti.i32":
        return a + 1

    show.error(k, 1)
