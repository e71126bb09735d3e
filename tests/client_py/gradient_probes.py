"""The probes of gradient_probes_test.py: small kernels that other compilers differentiate wrongly.

Each probe fills `y` or adds to `loss[None]` from `x`, all f64. The loss of a probe that fills `y`
is the sum of (j + 1) * y[j].
"""

import math

import numpy as np

N = 5
START = (0.5, 0.8, 1.1, 1.3, 1.7)
PROBES = {}


class Data:
    """What a probe computes with."""

    def __init__(self, ti, shape=N):
        self.ti = ti
        both = {"needs_grad": True, "needs_dual": True}
        self.x = ti.field(ti.f64, shape, **both)
        self.y = ti.field(ti.f64, N, **both)
        self.loss = ti.field(ti.f64, (), **both)
        self.start = np.array(START)


def probe(function):
    """Registers a probe: function(data) returns (kernel, the same in Python). The latter takes a
    list, and returns the loss or the list `y`."""
    PROBES[function.__name__] = function
    return function


# --- values from before an inner loop


@probe
def product_added_in_range_for(d):
    ti, x, loss = d.ti, d.x, d.loss

    @ti.kernel
    def k():
        for i in range(N):
            t = x[i] * x[i]
            for j in range(N):
                loss[None] += t

    return k, lambda x: sum(N * v * v for v in x)


@probe
def product_added_in_struct_for(d):
    ti, x, loss = d.ti, d.x, d.loss

    @ti.kernel
    def k():
        for i in x:
            t = x[i] * x[i]
            for j in range(N):
                loss[None] += t

    return k, lambda x: sum(N * v * v for v in x)


@probe
def product_added_to_another_field(d):
    ti, x, y = d.ti, d.x, d.y

    @ti.kernel
    def k():
        for i in x:
            t = x[i] * x[i]
            for j in range(N):
                y[j] += t

    return k, lambda x: [sum(v * v for v in x)] * N


@probe
def product_with_a_read_in_the_loop(d):
    ti, x, loss = d.ti, d.x, d.loss

    @ti.kernel
    def k():
        for i in x:
            t = x[i] * x[i]
            for j in range(N):
                loss[None] += t * x[(i + j) % N]

    return k, lambda x: sum(a * a * b for a in x for b in x)


@probe
def product_with_a_read_in_range_for(d):
    ti, x, loss = d.ti, d.x, d.loss

    @ti.kernel
    def k():
        for i in range(N):
            t = x[i] * x[i]
            for j in range(N):
                loss[None] += t * x[(i + j) % N]

    return k, lambda x: sum(a * a * b for a in x for b in x)


# --- powers by an inner loop


def power_in_python(x):
    return [v**3 for v in x]


@probe
def power_in_struct_for(d):
    ti, x, y = d.ti, d.x, d.y

    @ti.kernel
    def k():
        for i in x:
            a = x[i]
            r = ti.cast(1.0, ti.f64)
            for j in range(3):
                r *= a
            y[i] = r

    return k, power_in_python


@probe
def power_in_range_for(d):
    ti, x, y = d.ti, d.x, d.y

    @ti.kernel
    def k():
        for i in range(N):
            a = x[i]
            r = ti.cast(1.0, ti.f64)
            for j in range(3):
                r *= a
            y[i] = r

    return k, power_in_python


@probe
def power_in_a_function(d):
    ti, x, y = d.ti, d.x, d.y

    @ti.func
    def power(a):
        r = ti.cast(1.0, ti.f64)
        for j in range(3):
            r *= a
        return r

    @ti.kernel
    def k():
        for i in x:
            y[i] = power(x[i])

    return k, power_in_python


@probe
def power_of_a_sum(d):
    ti, x, y = d.ti, d.x, d.y

    @ti.kernel
    def k():
        for i in x:
            a = x[i] + 0
            r = ti.cast(1.0, ti.f64)
            for j in range(3):
                r *= a
            y[i] = r

    return k, power_in_python


@probe
def power_from_the_value_itself(d):
    ti, x, y = d.ti, d.x, d.y

    @ti.kernel
    def k():
        for i in x:
            a = x[i]
            r = a
            for j in range(2):
                r *= a
            y[i] = r

    return k, power_in_python


@probe
def forces_of_all_on_all(d):
    ti, x, loss = d.ti, d.x, d.loss

    @ti.kernel
    def k():
        for i in x:
            p = x[i]
            for j in range(N):
                loss[None] += 1 / ti.sqrt((p - x[j]) ** 2 + 0.1)

    return k, lambda x: sum(1 / math.sqrt((a - b) ** 2 + 0.1) for a in x for b in x)


# --- operands of every iteration


@probe
def rsqrt_in_a_loop(d):
    ti, x, y = d.ti, d.x, d.y

    @ti.kernel
    def k():
        for i in x:
            s = ti.cast(0.0, ti.f64)
            for j in range(4):
                t = x[i] * (j + 1)
                s += ti.rsqrt(t)
            y[i] = s

    return k, lambda x: [sum(1 / math.sqrt(v * (j + 1)) for j in range(4)) for v in x]


@probe
def max_in_a_loop(d):
    ti, x, y = d.ti, d.x, d.y

    @ti.kernel
    def k():
        for i in x:
            s = ti.cast(0.0, ti.f64)
            for j in range(4):
                s += ti.max(x[i] * (j + 1), 1.51)
            y[i] = s

    return k, lambda x: [sum(max(v * (j + 1), 1.51) for j in range(4)) for v in x]


def iterated_sines(count):
    def make(d):
        ti, x, y = d.ti, d.x, d.y

        @ti.kernel
        def k():
            for i in x:
                t = x[i]
                for j in range(count):
                    t = ti.sin(t) + 0.1
                y[i] = t

        def same(x):
            found = list(x)
            for _ in range(count):
                found = [math.sin(v) + 0.1 for v in found]
            return found

        return k, same

    return make


for _count in (33, 40, 100):
    PROBES[f"sines_{_count}_times"] = iterated_sines(_count)


# --- atomics


@probe
def atomic_max(d):
    ti, x, loss = d.ti, d.x, d.loss

    @ti.kernel
    def k():
        for i in x:
            ti.atomic_max(loss[None], x[i] * x[i])

    return k, lambda x: max(0.0, *(v * v for v in x))


@probe
def atomic_min(d):
    ti, x, loss = d.ti, d.x, d.loss

    @ti.kernel
    def k():
        for i in x:
            ti.atomic_min(loss[None], -x[i] * x[i])

    return k, lambda x: min(0.0, *(-v * v for v in x))


@probe
def maximum_in_a_variable(d):
    ti, x, loss = d.ti, d.x, d.loss

    @ti.kernel
    def k():
        m = 0.0
        for i in x:
            ti.atomic_max(m, x[i] * x[i])
        loss[None] = m * m

    return k, lambda x: max(v * v for v in x) ** 2


@probe
def maximum_in_a_variable_that_changes_later(d):
    ti, x, y, loss = d.ti, d.x, d.y, d.loss

    @ti.kernel
    def k():
        m = 0.0
        for i in x:
            ti.atomic_max(m, x[i] * x[i])
        for i in x:
            y[i] = x[i] / m
        m = 7.0
        for i in x:
            loss[None] += y[i] * m

    return k, lambda x: 7 * sum(x) / max(v * v for v in x)


@probe
def maxima_in_a_vector(d):
    ti, x, loss = d.ti, d.x, d.loss

    @ti.kernel
    def k():
        m = ti.Vector([0.0, 0.0, 0.0])
        for i in x:
            ti.atomic_max(m[i % 3], x[i] * x[i])
        loss[None] = m[0] * m[1] + m[2]

    def largest(x, k):
        return max(v * v for v in x[k::3])

    return k, lambda x: largest(x, 0) * largest(x, 1) + largest(x, 2)


@probe
def variable_array_read_by_a_branch_and_changed_later(d):
    ti, x, loss = d.ti, d.x, d.loss

    @ti.kernel
    def k():
        for i in x:
            v = ti.Vector([x[i], 1.0, 2.0])
            r = 0.0
            if i % 2 == 0:
                r = v[i % 3] * v[(i + 1) % 3] * x[i]
            for j in range(3):
                v[j] *= 5.0
            loss[None] += r + v[i % 3]

    def formula(x):
        total = 0.0
        for i, value in enumerate(x):
            v = [value, 1.0, 2.0]
            total += v[i % 3] * v[(i + 1) % 3] * value if i % 2 == 0 else 0.0
            total += 5 * v[i % 3]
        return total

    return k, formula


@probe
def old_value_of_an_add_to_its_own_element(d):
    ti, x, y = d.ti, d.x, d.y

    @ti.kernel
    def k():
        for i in x:
            y[i] = x[i] * 3
            old = ti.atomic_add(y[i], x[i] * x[i])
            y[i] += old * x[i]

    return k, lambda x: [3 * v + v * v + 3 * v * v for v in x]


# --- elements that are read and overwritten


@probe
def square_in_place(d):
    ti, x, y = d.ti, d.x, d.y

    @ti.kernel
    def k():
        for i in x:
            y[i] = x[i]
            y[i] = y[i] * y[i]

    return k, lambda x: [v * v for v in x]


@probe
def product_in_place(d):
    ti, x, y = d.ti, d.x, d.y

    @ti.kernel
    def k():
        for i in x:
            y[i] = 1.0
            for j in range(3):
                y[i] *= x[i]

    return k, power_in_python


@probe
def two_stores_of_one_element(d):
    ti, x, y = d.ti, d.x, d.y

    @ti.kernel
    def k():
        for i in x:
            y[i] = x[i] * x[i]
            y[i] = ti.sin(x[i])

    return k, lambda x: [math.sin(v) for v in x]


@probe
def recurrence_in_a_serial_loop(d):
    ti, x, y = d.ti, d.x, d.y

    @ti.kernel
    def k():
        ti.loop_config(serialize=True)
        for i in range(N - 1):
            y[i + 1] = 0.5 * y[i] + x[i]

    def same(x):
        y = [0.0] * N
        for i in range(N - 1):
            y[i + 1] = 0.5 * y[i] + x[i]
        return y

    return k, same


# --- locals by an index


@probe
def vector_written_by_an_index(d):
    ti, x, y = d.ti, d.x, d.y

    @ti.kernel
    def k():
        for i in x:
            v = ti.Vector([0.0, 0.0, 0.0], dt=ti.f64)
            for j in range(3):
                v[j] = x[i] ** (j + 1)
            y[i] = v[0] * v[1] + v[2]

    return k, lambda x: [v**3 + v**3 for v in x]


@probe
def vector_added_to_by_an_index(d):
    ti, x, y = d.ti, d.x, d.y

    @ti.kernel
    def k():
        for i in x:
            v = ti.Vector([0.0, 0.0, 0.0], dt=ti.f64)
            for j in range(7):
                v[j % 3] += x[i] * (j + 1)
            y[i] = v[0] * v[1] * v[2]

    return k, lambda x: [12 * v * 7 * v * 9 * v for v in x]


# --- branches and exits


@probe
def root_that_a_select_hides(d):
    ti, x, y = d.ti, d.x, d.y
    d.start = np.array((0.5, 0.79, 1.1, 1.3, 1.7))

    @ti.kernel
    def k():
        for i in x:
            y[i] = ti.select(x[i] > 0.8, ti.sqrt(x[i] - 0.8), 0.0)

    return k, lambda x: [math.sqrt(v - 0.8) if v > 0.8 else 0.0 for v in x]


@probe
def while_loop(d):
    ti, x, y = d.ti, d.x, d.y

    @ti.kernel
    def k():
        for i in x:
            t = x[i]
            while t < 10.03:
                t = t * t + 1
            y[i] = t

    def same(x):
        found = []
        for v in x:
            while v < 10.03:
                v = v * v + 1
            found.append(v)
        return found

    return k, same


@probe
def break_before_use(d):
    ti, x, y = d.ti, d.x, d.y

    @ti.kernel
    def k():
        for i in x:
            t = x[i]
            for j in range(20):
                if t > 9.01:
                    break
                t = t * 1.5 + x[i]
            y[i] = t

    def same(x):
        found = []
        for v in x:
            t = v
            for _ in range(20):
                if t > 9.01:
                    break
                t = t * 1.5 + v
            found.append(t)
        return found

    return k, same


@probe
def continue_in_a_loop(d):
    ti, x, y = d.ti, d.x, d.y

    @ti.kernel
    def k():
        for i in x:
            t = x[i]
            for j in range(6):
                if j % 2 == 1:
                    continue
                t = t * x[i]
            y[i] = t

    return k, lambda x: [v**4 for v in x]


@probe
def tangent(d):
    ti, x, y = d.ti, d.x, d.y

    @ti.kernel
    def k():
        for i in x:
            y[i] = ti.tan(x[i] * 0.5)

    return k, lambda x: [math.tan(v * 0.5) for v in x]


@probe
def statements_and_loops(d):
    ti, x, y, loss = d.ti, d.x, d.y, d.loss

    @ti.kernel
    def k():
        scale = x[0] * x[1]
        for i in x:
            y[i] = x[i] * scale
        for i in x:
            loss[None] += y[i] * y[i]

    return k, lambda x: sum((v * x[0] * x[1]) ** 2 for v in x)


@probe
def real_function(d):
    ti, x, y = d.ti, d.x, d.y

    @ti.real_func
    def f(a: ti.f64, n: ti.i32) -> ti.f64:
        r = a
        for j in range(n):
            r = ti.sin(r) * a
        return r

    @ti.kernel
    def k():
        for i in x:
            y[i] = f(x[i], 3)

    def same(x):
        found = []
        for v in x:
            r = v
            for _ in range(3):
                r = math.sin(r) * v
            found.append(r)
        return found

    return k, same


@probe
def singular_values(d):
    ti, x, loss = d.ti, d.x, d.loss

    @ti.kernel
    def k():
        m = ti.Matrix([[x[0], x[1]], [x[2], x[3]]])
        u, s, v = ti.svd(m, ti.f64)
        loss[None] += s[0, 0] + 2 * s[1, 1]

    def same(x):
        s = np.linalg.svd(np.array([[x[0], x[1]], [x[2], x[3]]]), compute_uv=False)
        return s[0] + 2 * s[1]

    return k, same


@probe
def power_of_two_fields(d):
    ti, x, y = d.ti, d.x, d.y

    @ti.kernel
    def k():
        for i in range(N - 1):
            y[i] = x[i] ** x[i + 1]

    return k, lambda x: [x[i] ** x[i + 1] for i in range(N - 1)] + [0.0]


@probe
def carried_through_two_loops(d):
    ti, x, y = d.ti, d.x, d.y

    @ti.kernel
    def k():
        for i in x:
            t = x[i]
            for a in range(3):
                for b in range(2):
                    t = ti.sin(t) * x[i]
            y[i] = t

    def same(x):
        found = []
        for v in x:
            t = v
            for _ in range(6):
                t = math.sin(t) * v
            found.append(t)
        return found

    return k, same


@probe
def branch_on_a_carried_value(d):
    ti, x, y = d.ti, d.x, d.y

    @ti.kernel
    def k():
        for i in x:
            t = x[i]
            for j in range(5):
                if t > 1.4:
                    t = t * 0.5
                else:
                    t = t * t + 0.3
            y[i] = t

    def same(x):
        found = []
        for t in x:
            for _ in range(5):
                t = t * 0.5 if t > 1.4 else t * t + 0.3
            found.append(t)
        return found

    return k, same


@probe
def recurrence_of_constants(d):
    ti, x, y = d.ti, d.x, d.y

    @ti.kernel
    def k():
        for i in x:
            p, q = x[i], x[i] * x[i]
            for j in range(10):
                p, q = q, p * 0.3 + q * 0.2
            y[i] = q

    def same(x):
        found = []
        for v in x:
            p, q = v, v * v
            for _ in range(10):
                p, q = q, p * 0.3 + q * 0.2
            found.append(q)
        return found

    return k, same


@probe
def forty_static_steps(d):
    ti, x, y = d.ti, d.x, d.y

    @ti.kernel
    def k():
        for i in x:
            t = x[i]
            for _ in ti.static(range(40)):
                t = ti.sin(t) + 0.1
            y[i] = t

    return k, iterated_sines(40)(d)[1]


@probe
def remainder(d):
    ti, x, y = d.ti, d.x, d.y

    @ti.kernel
    def k():
        for i in x:
            y[i] = (x[i] * x[i] * 3) % 1.03

    return k, lambda x: [(v * v * 3) % 1.03 for v in x]


@probe
def casts(d):
    ti, x, y = d.ti, d.x, d.y

    @ti.kernel
    def k():
        for i in x:
            whole = ti.cast(x[i] * 3, ti.i32)
            y[i] = ti.cast(whole, ti.f64) * x[i] * ti.cast(x[i], ti.f64)

    return k, lambda x: [int(v * 3) * v * v for v in x]


@probe
def integers_carried_as_indices(d):
    ti, x, y = d.ti, d.x, d.y

    @ti.kernel
    def k():
        for i in x:
            at = i
            s = ti.cast(1.0, ti.f64)
            for j in range(4):
                s = s * x[at]
                at = (at * 2 + 1) % N
            y[i] = s

    def same(x):
        found = []
        for i in range(N):
            at, s = i, 1.0
            for _ in range(4):
                s, at = s * x[at], (at * 2 + 1) % N
            found.append(s)
        return found

    return k, same


# --- other data


class SparseData(Data):
    def __init__(self, ti):
        super().__init__(ti)
        self.x = ti.field(ti.f64)
        block = ti.root.pointer(ti.i, N)
        block.place(self.x)
        block.place(self.x.grad)
        block.place(self.x.dual)


def _sparse(d):
    ti, x, loss = d.ti, d.x, d.loss

    @ti.kernel
    def k():
        for i in x:
            loss[None] += x[i] * x[i]

    return k, lambda x: sum(v * v for v in x)


_sparse.data = SparseData
PROBES["elements_of_a_pointer_snode"] = _sparse


class StructData(Data):
    def __init__(self, ti):
        super().__init__(ti)
        made = ti.Struct.field(
            {"a": ti.f64, "b": ti.f64}, shape=N, needs_grad=True, needs_dual=True
        )
        self.made, self.x = made, made.b


def _struct(d):
    ti, made, loss = d.ti, d.made, d.loss

    @ti.kernel
    def k():
        for i in made:
            made[i].a = made[i].b * made[i].b
            loss[None] += made[i].a * made[i].b

    return k, lambda x: sum(v**3 for v in x)


_struct.data = StructData
PROBES["member_of_a_struct_field"] = _struct
