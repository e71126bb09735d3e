# ruff: noqa: E741, F841
"""Small programs and what they answer. Each case is a function that runs kernels
and gives plain numbers, lists or text; EXPECTED holds the reference's answers.

`ti` is Kiln, or the reference itself with KILN_TEST_REFERENCE=1: then the table
is checked, not Kiln.
"""

import os

if os.environ.get("KILN_TEST_REFERENCE"):
    import taichi as ti
else:
    import kiln as ti

CASES = []


def case(expected):
    def register(function):
        CASES.append((function, expected))
        return function

    return register


def numbers(array):
    return array.to_numpy().tolist()


@case([1, 2, 3, 4])
def first_assignment_types_the_variable():
    x = ti.field(ti.i32, 4)

    @ti.kernel
    def k():
        a = 1
        x[0] = a
        a = 2.9
        x[1] = a
        b = 3.7
        b = 3
        x[2] = b
        c: ti.i32 = 4.9
        x[3] = c

    k()
    return numbers(x)


@case([0, 1, 3, 6, 10])
def locals_are_mutable_in_loops():
    x = ti.field(ti.i32, 5)

    @ti.kernel
    def k():
        for _ in range(1):
            s = 0
            for i in range(5):
                s += i
                x[i] = s

    k()
    return numbers(x)


@case(45)
def sum_over_parallel_loop():
    @ti.kernel
    def k() -> ti.i32:
        s = 0
        for i in range(10):
            s += i
        return s

    return k()


@case([2, 1, 3])
def unpacking_and_swap():
    @ti.kernel
    def k() -> ti.types.vector(3, ti.i32):
        a, b = 1, 2
        a, b = b, a
        v = ti.Vector([3, 4])
        c, _ = v
        return ti.Vector([a, b, c])

    return list(k())


@case([1, 5, 9])
def augmented_operators():
    @ti.kernel
    def k() -> ti.types.vector(3, ti.i32):
        a = 7
        a //= 2
        a **= 2
        a %= 8
        b = 1
        b <<= 3
        b >>= 1
        b |= 1
        c = 13
        c &= 11
        c ^= 0
        return ti.Vector([a, b, c])

    return list(k())


@case([3, 2])
def augmented_value_is_cast_first():
    @ti.kernel
    def k() -> ti.types.vector(2, ti.i32):
        a = 3
        a += 0.7
        b = 3
        b *= 0.9
        return ti.Vector([a, b])

    return list(k())


@case([[0, 1, 2], [10, 11, 12]])
def ndrange_and_grouped():
    x = ti.field(ti.i32, (2, 3))

    @ti.kernel
    def k():
        for i, j in ti.ndrange(2, (0, 3)):
            x[i, j] = i * 10
        for I in ti.grouped(ti.ndrange(2, 3)):
            x[I] += I[1]

    k()
    return numbers(x)


@case([[3, 4], [4, 5]])
def struct_for():
    x = ti.field(ti.i32, (2, 2))

    @ti.kernel
    def k():
        for i, j in x:
            x[i, j] = i + j
        for I in ti.grouped(x):
            x[I] += 3

    k()
    return numbers(x)


@case(30)
def static_loops_and_branches():
    flag = True

    @ti.kernel
    def k() -> ti.i32:
        s = 0
        for i in ti.static(range(10)):
            if ti.static(i == 2):
                continue
            if ti.static(i == 6):
                break
            s += i
        for i, j in ti.static(ti.ndrange(2, 3)):
            s += i * j
        if ti.static(flag):
            s += 14
        else:
            s += 1000
        return s

    return k()


@case([5, 1, 15])
def break_and_continue():
    @ti.kernel
    def k() -> ti.types.vector(3, ti.i32):
        n = 0
        while True:
            n += 1
            if n == 5:
                break
        m = 0
        s = 0
        for _ in range(1):
            for i in range(10):
                if i % 2 == 0:
                    continue
                if i > 6:
                    break
                s += i
            m += 1
        t = 0
        ti.loop_config(serialize=True)
        for i in range(100):
            if i == 6:
                break
            t += i
        return ti.Vector([n, m, t + s - s])

    return list(k())


@case([1, 0, 1, 0])
def chained_comparison():
    x = ti.field(ti.i32, 4)

    @ti.kernel
    def k():
        for i in range(4):
            x[i] = 0
        a = 3
        if 1 < a < 5:
            x[0] = 1
        if 1 < a < 3:
            x[1] = 1
        if 3 <= a <= 3 != 4:
            x[2] = 1
        if not (a == 3):
            x[3] = 1

    k()
    return numbers(x)


@case([6, 4, 0, 3])
def and_or_give_operands():
    @ti.kernel
    def k(a: ti.i32, b: ti.i32, z: ti.i32) -> ti.types.vector(4, ti.i32):
        return ti.Vector([a and b, a or b, z and b, z or 3])

    return list(k(4, 6, 0))


@case([7, -1, -1])
def guarded_element():
    x = ti.field(ti.i32, 3)
    y = ti.field(ti.i32, 3)

    @ti.kernel
    def k():
        for i in range(3):
            y[i] = x[i] if i < 1 else -1
        if y[0] > 0 and x[0] == 7:
            y[0] = 7

    x[0] = 7
    k()
    return numbers(y)


@case([12, 5])
def walrus():
    @ti.kernel
    def k() -> ti.types.vector(2, ti.i32):
        b = 2 + (a := 5)
        b += a
        return ti.Vector([b, a])

    return list(k())


@case([3, 10, 1])
def inlined_functions():
    @ti.func
    def add(a, b):
        a = a + b
        return a

    @ti.func
    def bump(a: ti.template(), by: ti.i32 = 9):
        a += by

    @ti.func
    def two():
        return 1, 2

    @ti.kernel
    def k() -> ti.types.vector(3, ti.i32):
        x = 1
        y = add(x, 2)
        z = x
        bump(z)
        p, q = two()
        return ti.Vector([y, z, x * p])

    return list(k())


@case([2, 4, 6])
def comprehension_and_lists():
    @ti.kernel
    def k(p: ti.i32) -> ti.types.vector(3, ti.i32):
        a = [i * p for i in range(4) if i > 0]
        return ti.Vector(a)

    return list(k(2))


@case([[19, 22], [43, 50]])
def matrix_product():
    @ti.kernel
    def k() -> ti.types.matrix(2, 2, ti.i32):
        a = ti.Matrix([[1, 2], [3, 4]])
        b = ti.Matrix([[5, 6], [7, 8]])
        return a @ b

    return k().to_list()


@case([5.0, 11.0, 3.0, 4.0, -2.0, 1.0])
def matrix_methods():
    @ti.kernel
    def k() -> ti.types.vector(6, ti.f32):
        v = ti.Vector([3.0, 4.0])
        a = ti.Matrix([[1.0, 2.0], [3.0, 4.0]])
        w = a @ ti.Vector([1.0, 1.0]) + a.transpose() @ ti.Vector([0.0, 0.0])
        i = a @ a.inverse()
        return ti.Vector(
            [v.norm(), v.dot(ti.Vector([1.0, 2.0])), w[0], v.max(), a.determinant(), i[0, 0]]
        )

    return [round(x, 4) for x in k()]


@case([[0.0, 0.0, 1.0], [4.0, 5.0, 8.0, 10.0], 4.0, [0.6, 0.8]])
def vector_products():
    r = ti.Vector.field(3, ti.f32, ())
    o = ti.Matrix.field(2, 2, ti.f32, ())
    t = ti.field(ti.f32, ())
    n = ti.Vector.field(2, ti.f32, ())

    @ti.kernel
    def k():
        r[None] = ti.Vector([1.0, 0.0, 0.0]).cross(ti.Vector([0.0, 1.0, 0.0]))
        o[None] = ti.Vector([1.0, 2.0]).outer_product(ti.Vector([4.0, 5.0]))
        t[None] = ti.Matrix([[1.0, 2.0], [0.0, 3.0]]).trace()
        n[None] = ti.Vector([3.0, 4.0]).normalized()

    k()
    n0 = [round(float(x), 5) for x in n[None]]
    return [numbers(r), [x for row in numbers(o) for x in row], t[None], n0]


@case([[3, 2, 1], [1, 9, 8], [11, 2, 13]])
def swizzles():
    v = ti.Vector.field(3, ti.i32, 3)

    @ti.kernel
    def k():
        a = ti.Vector([1, 2, 3])
        v[0] = a.zyx
        a.zy = ti.Vector([8, 9])
        v[1] = a
        v[2] = ti.Vector([1, 2, 3])
        v[2].xz += 10

    k()
    return numbers(v)


@case([4, 8, 20])
def dynamic_matrix_index():
    x = ti.field(ti.i32, 3)

    @ti.kernel
    def k():
        v = ti.Vector([4, 8, 15])
        for i in range(3):
            w = ti.Vector([4, 8, 15])
            w[2] = 20
            x[i] = w[i]
        x[0] = v[0]

    k()
    return numbers(x)


@case([[1, 2], [4, 5], [2, 5]])
def slices():
    r = ti.Vector.field(2, ti.i32, 3)

    @ti.kernel
    def k():
        a = ti.Matrix([[1, 2, 3], [4, 5, 6]])
        r[0] = a[0, 0:2]
        r[1] = a[1, :2]
        r[2] = a[:, 1]

    k()
    return numbers(r)


@case([True, True, 6, 1, 3])
def reductions():
    @ti.kernel
    def k() -> ti.types.vector(5, ti.i32):
        v = ti.Vector([1, 2, 3])
        return ti.Vector([(v > 0).all(), (v == 2).any(), v.sum(), v.min(), max(v[0], v[1], v[2])])

    return list(k())


@case([10, 3, 5, 7])
def atomics_return_the_old_value():
    x = ti.field(ti.i32, 4)

    @ti.kernel
    def k():
        x[0] = 10
        x[1] = 3
        old = ti.atomic_add(x[0], 5)
        x[2] = ti.atomic_max(x[1], 7) + 2
        x[3] = x[1]
        x[0] = old
        x[1] = 3

    k()
    return numbers(x)


@case([[2.0, 3.0], [4.0, 6.0]])
def list_operands():
    v = ti.Vector.field(2, ti.f32, 2)

    @ti.kernel
    def k():
        v[0] = [1, 2]
        v[0] += 1
        v[1] = v[0] * [2, 2]

    k()
    return numbers(v)


@case([-4, 2, -3, -1])
def integer_division():
    @ti.kernel
    def k(a: ti.i32, b: ti.i32) -> ti.types.vector(4, ti.i32):
        return ti.Vector([a // b, a % b, ti.raw_div(a, b), ti.raw_mod(a, b)])

    return list(k(-10, 3))


@case([2.5, 2.0, 8.0, 0.5])
def float_results():
    @ti.kernel
    def k(a: ti.i32, x: ti.f32) -> ti.types.vector(4, ti.f32):
        return ti.Vector([a / 2, x // 2, x**1.5 - x**1.5 + 2**3, ti.sqrt(0.25)])

    return list(k(5, 4.5))


@case([3, 255, -1, 1])
def casts():
    @ti.kernel
    def k(x: ti.f32) -> ti.types.vector(4, ti.i32):
        return ti.Vector([int(x), ti.u8(255), ti.cast(-1.5, ti.i32), ti.i32(bool(int(x)))])

    return list(k(3.7))


@case([1065353216, 1.0])
def bit_cast():
    @ti.kernel
    def a() -> ti.i32:
        return ti.bit_cast(1.0, ti.i32)

    @ti.kernel
    def b() -> ti.f32:
        return ti.bit_cast(1065353216, ti.f32)

    return [a(), b()]


@case([[0.5, 1.5], [0.0, 1.0], [1.0, 0.0], 0.25, 0.5])
def math_module():
    v = ti.Vector.field(2, ti.f32, 3)
    s = ti.field(ti.f32, 2)

    @ti.kernel
    def k():
        a = ti.math.vec2(0.0, 1.0)
        b = ti.math.vec2(1.0, 2.0)
        v[0] = ti.math.mix(a, b, 0.5)
        v[1] = ti.math.clamp(ti.math.vec2(-3, 5), 0.0, 1.0)
        v[2] = ti.math.step(a, 0.5)
        s[0] = ti.math.fract(3.25)
        s[1] = ti.math.smoothstep(0.0, 1.0, 0.5)

    k()
    return [*numbers(v), *numbers(s)]


@case([[-5.0, 10.0], [1.0, 1.0], [2.0, 1.0], [0.0, 1.0]])
def complex_numbers():
    v = ti.Vector.field(2, ti.f32, 4)

    @ti.kernel
    def k():
        a = ti.math.vec2(1.0, 2.0)
        b = ti.math.vec2(3.0, 4.0)
        v[0] = ti.math.cmul(a, b)
        v[1] = ti.math.cdiv(a, a) + ti.math.vec2(0.0, 1.0)
        v[2] = ti.math.csqrt(ti.math.vec2(3.0, 4.0))
        v[3] = ti.math.cexp(ti.math.vec2(0.0, ti.math.pi / 2))

    k()
    return [[round(x, 4) + 0.0 for x in row] for row in numbers(v)]


@case([1.0, 2.0, 3.0, 1.0])
def vector_types():
    @ti.kernel
    def k() -> ti.types.vector(4, ti.f32):
        a = ti.math.vec2(1, 2)
        return ti.math.vec4(a, 3, a.x)

    return list(k())


@case([1, 4, 9])
def python_values_stay_python():
    table = [1, 4, 9]
    x = ti.field(ti.i32, 3)

    @ti.kernel
    def k():
        for i in ti.static(range(len(table))):
            x[i] = table[i]

    k()
    return numbers(x)


@case([6, 24])
def template_recursion():
    @ti.func
    def product(n: ti.template()):
        result = 1
        if ti.static(n > 1):
            result = n * product(n - 1)
        return result

    @ti.kernel
    def k() -> ti.types.vector(2, ti.i32):
        return ti.Vector([product(3), product(4)])

    return list(k())


@case([3, 6])
def methods_of_objects():
    @ti.data_oriented
    class Thing:
        def __init__(self, n):
            self.n = n
            self.x = ti.field(ti.i32, ())

        @ti.func
        def twice(self, a):
            return a * 2

        @ti.kernel
        def run(self):
            self.x[None] = self.twice(self.n) // 2

    a, b = Thing(3), Thing(6)
    a.run()
    b.run()
    return [a.x[None], b.x[None]]


@case([1.0, -1.0, 3.5])
def ternary_promotes():
    @ti.kernel
    def k(a: ti.i32) -> ti.types.vector(3, ti.f32):
        x = 1.0 if a > 0 else -1
        y = 1 if a < 0 else -1.0
        z = ti.select(a > 0, 3.5, 2)
        return ti.Vector([x, y, z])

    return list(k(1))


@case([3, 4, 5])
def array_argument():
    import numpy as np

    @ti.kernel
    def k(a: ti.types.ndarray(), n: ti.i32):
        for i in range(a.shape[0]):
            a[i] += n
        for i in a:
            a[i] += i

    a = np.zeros(3, dtype=np.int32)
    k(a, 3)
    return a.tolist()


@case([7, 9])
def loop_variable_names_return():
    x = ti.field(ti.i32, 2)

    @ti.kernel
    def k():
        for i in range(2):
            v = 1
            x[i] = v + i
        for i in range(2):
            v = 6
            x[i] += v + i - i
        if x[0] == 7:
            i = 1
            x[i] += i

    k()
    return numbers(x)


@case([5, 25, 2])
def builtins_in_kernels():
    @ti.kernel
    def k(a: ti.i32) -> ti.types.vector(3, ti.i32):
        return ti.Vector([abs(a), pow(a, 2), len(ti.Vector([1, 2]))])

    return list(k(-5))


@case([3, 1, 2])
def global_tables_and_enumerate():
    @ti.kernel
    def k() -> ti.types.vector(3, ti.i32):
        v = ti.Vector([0, 0, 0])
        for i, c in ti.static(enumerate([3, 1, 2])):
            v[i] = c
        return v

    return list(k())


@case([11, 22])
def matrix_local_aug_assign():
    @ti.kernel
    def k() -> ti.types.vector(2, ti.i32):
        v = ti.Vector([1, 2])
        for _ in range(1):
            w = ti.Vector([0, 0])
            for i in range(2):
                w[i] += 10 * (i + 1)
            v += w
        return v

    return list(k())


@case([2, 3])
def while_with_condition():
    @ti.kernel
    def k(n: ti.i32) -> ti.types.vector(2, ti.i32):
        i = n
        steps = 0
        while i > 2 and steps < 100:
            i -= 1
            steps += 1
        return ti.Vector([i, steps])

    return list(k(5))


@case([4, 2, 1])
def min_max_of_many():
    @ti.kernel
    def k(a: ti.i32, b: ti.i32) -> ti.types.vector(3, ti.i32):
        return ti.Vector([ti.max(a, b, 3), min(a, b), ti.min(a, b, 1)])

    return list(k(4, 2))


@case([[1, 0], [0, 1]])
def identity_in_a_kernel():
    @ti.kernel
    def k() -> ti.types.matrix(2, 2, ti.i32):
        return ti.Matrix.identity(ti.i32, 2)

    return k().to_list()


# --- values that outlive a task: serial parts and parallel loops share them


@case([[1.0, 3.0], [2.0, 6.0], [3.0, 9.0]])
def serial_values_in_parallel_loops():
    v = ti.Vector.field(2, ti.f32, 3)

    @ti.kernel
    def k(a: ti.f32):
        b = a * 2.0
        w = ti.Vector([1.0, b + 1.0])
        for i in v:
            v[i] = w * (i + 1)

    k(1.0)
    return numbers(v)


@case([10, 110, 6])
def serial_variable_between_loops():
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
    return numbers(x)


@case([3, 9, 1])
def reductions_over_serial_variables():
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
    return list(k())


@case([7.0, 7.0, 2.0, 7.0])
def serial_choice_used_in_loop():
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
    return numbers(x)


@case([3, 3, 0, 0])
def function_with_a_loop_at_kernel_top():
    x = ti.field(ti.i32, 4)

    @ti.func
    def fill(n, value):
        for i in range(n):
            x[i] = value

    @ti.kernel
    def k(n: ti.i32):
        fill(n, 3)

    k(2)
    return numbers(x)


@case([0, 0, 6])
def empty_and_negative_ranges():
    n = ti.field(ti.i32, 3)

    @ti.kernel
    def k(a: ti.i32, b: ti.i32):
        for i, j in ti.ndrange((0, a), (0, b)):
            n[0] += 1
        for i in range(5, a):
            n[1] += 1
        for i, j in ti.ndrange((a, a + 2), (b, 0)):
            n[2] += 1

    k(-2, -3)
    return numbers(n)


@case([[[0, 10], [0, 11]], [[0, 0], [100, 5]]])
def matrix_field_elements():
    m = ti.Matrix.field(2, 2, ti.i32, 2)

    @ti.kernel
    def k():
        for i in range(2):
            for j in range(2):
                if i == 0:
                    m[i][j, 1] = 10 + j
                else:
                    m[i][1, j] += 100
        m[1][1, 1] = 5

    k()
    return numbers(m)


@case([44, -56, 4294967295, 1099511627776])
def narrow_and_wide_integers():
    x = ti.field(ti.i64, 4)

    @ti.kernel
    def k(a: ti.u8, b: ti.i8, c: ti.u32):
        x[0] = a + ti.u8(100)
        x[1] = b + ti.i8(100)
        x[2] = c - 2
        x[3] = ti.i64(1) << 40

    k(200, 100, 1)
    return numbers(x)


@case([[6.0, 12.0]])
def vector_atomics_in_parallel():
    v = ti.Vector.field(2, ti.f32, 1)

    @ti.kernel
    def k():
        for i in range(6):
            v[0] += ti.Vector([1.0, 2.0])

    k()
    return numbers(v)


@case([28, 8])
def large_local_matrix():
    @ti.kernel
    def k() -> ti.types.vector(2, ti.i32):
        a = ti.Matrix([[0 for _ in range(8)] for _ in range(8)])
        s = 0
        t = 0
        for _ in range(1):
            for i in range(8):
                for j in range(8):
                    a[i, j] = i * (i == j)
            b = a + ti.Matrix.identity(ti.i32, 8)
            for i in range(8):
                s += a[i, i]
                t += b[i, i] - a[i, i]
        return ti.Vector([s, t])

    return list(k())


@case([1, 2])
def fields_in_a_python_list():
    fields = [ti.field(ti.i32, ()) for _ in range(2)]

    @ti.kernel
    def k():
        for n in ti.static(range(2)):
            fields[n][None] = n + 1

    k()
    return [f[None] for f in fields]


@case([4.0, 0.25])
def double_precision():
    @ti.kernel
    def k(a: ti.f64) -> ti.types.vector(2, ti.f64):
        b = a * ti.f64(0.1) * 10
        return ti.Vector([b * b, 1 / (b * b)])

    return [round(x, 12) for x in k(2.0)]


@case([5, 1])
def static_if_returns():
    @ti.func
    def f(a, flag: ti.template()):
        if ti.static(flag):
            return a + 1
        else:
            return a - 3

    @ti.kernel
    def k() -> ti.types.vector(2, ti.i32):
        return ti.Vector([f(4, True), f(4, False)])

    return list(k())


@case([0, 1, 0, 3, 0, 5])
def nested_functions_with_branches():
    x = ti.field(ti.i32, 6)

    @ti.func
    def odd(i):
        r = 0
        if i % 2 == 1:
            r = i
        return r

    @ti.func
    def twice_removed(i):
        a = odd(i)
        a = odd(a)
        return a

    @ti.kernel
    def k():
        for i in x:
            x[i] = twice_removed(i)

    k()
    return numbers(x)


@case([21, 3])
def while_in_parallel_loop():
    x = ti.field(ti.i32, 2)

    @ti.kernel
    def k():
        for i in range(1, 7):
            n = i
            while n > 0:
                n -= 1
                x[0] += 1
                if n == 2:
                    x[1] += 1
                    continue
                if n > 100:
                    break

    k()
    return [x[0], x[1] - 1]


@case([[2.0, 1.0, 2.0], 6.5, [3, 12], [3.0, 4.0, 0.0], [7.0, 1.0, 9.0]])
def fields_of_structs():
    vec3 = ti.types.vector(3, ti.f32)

    @ti.dataclass
    class Ball:
        pos: vec3
        r: ti.f32

        @ti.func
        def area(self):
            return 4 * self.r * self.r

        @ti.func
        def grow(self, k):
            self.r += k

    pair = ti.types.struct(ball=Ball, n=ti.i32)
    f = Ball.field(shape=4)
    g = pair.field(shape=(2, 2))
    h = ti.Struct.field({"v": vec3}, shape=1)

    @ti.kernel
    def k():
        for i in f:
            f[i].pos = [i, 1, 2]
            f[i].pos.x += 1
            f[i].r = i
            f[i].grow(0.5)
            if i == 3:
                f[i].r = f[i].area()
        for i, j in g:
            g[i, j].ball = f[i]
            g[i, j].n = i * 2 + j
            b = g[i, j].ball
            b.grow(5)
            g[i, j].ball.r = b.r
        h[0].v.xy = [3, 4]

    k()
    answers = [list(f[1].pos), g[1, 1].ball.r, [g[1, 1].n, int(f[3].r) // 4], list(h[0].v)]
    f[2] = Ball(pos=[7, 8, 9], r=5)
    f[2].pos.y = 1
    return [*answers, list(f[2].pos)]


@case([9.0, 5.0, 8.0])
def struct_locals_and_arguments():
    pair = ti.types.struct(a=ti.f32, v=ti.types.vector(2, ti.f32))

    @ti.func
    def swapped(s):
        s.v = s.v.yx
        return s

    @ti.kernel
    def k() -> ti.types.vector(3, ti.f32):
        s = pair(a=4, v=[8, 1])
        t = s
        t.a += 5
        u = swapped(t)
        return ti.Vector([u.a, s.a + u.v.x, t.v.x])

    return list(k())
