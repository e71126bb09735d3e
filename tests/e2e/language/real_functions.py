"""Real functions: ti.real_func, by value and by reference, recursion, returns, misuse."""

# ruff: noqa: F841
from typing import Tuple

from harness import case, numbers, ti

vec2 = ti.types.vector(2, ti.f32)
vec3 = ti.types.vector(3, ti.f32)


# --- values


@case()
def scalars_by_value(show):
    @ti.real_func
    def add(a: ti.i32, b: ti.i32) -> ti.i32:
        return a + b

    @ti.real_func
    def mixed(a: ti.i64, b: ti.f64, c: ti.u8, d: ti.u1) -> ti.f64:
        r = a + b + c
        if d:
            r += 0.5
        return r

    @ti.kernel
    def k(a: ti.i32, b: ti.i32) -> ti.i32:
        return add(a, b) * 2 + add(1, 2)

    @ti.kernel
    def m() -> ti.f64:
        return mixed(ti.i64(2) ** 40, 0.25, ti.u8(255), True)

    show(k(3, 4), m())


@case()
def arguments_and_results_are_cast(show):
    @ti.real_func
    def whole(a: ti.i32) -> ti.i32:
        return a * 1.5

    @ti.real_func
    def default(i: int, x: float) -> float:
        return i + x

    @ti.real_func
    def truth(i: ti.i32) -> bool:
        return i > 2

    @ti.kernel
    def k() -> ti.i32:
        return whole(3.9)

    @ti.kernel
    def d() -> ti.f32:
        return default(1, 2)

    @ti.kernel
    def t() -> ti.i32:
        r = 0
        if truth(3):
            r = 1
        return r

    show(k(), d(), t())


@case()
def vectors_and_matrices(show):
    mat2 = ti.types.matrix(2, 2, ti.f32)

    @ti.real_func
    def f(a: vec3, m: mat2) -> vec3:
        b = a
        for i in range(3):
            b[i] += i * m[1, 0]
        return b * m[0, 1]

    @ti.real_func
    def total(a: vec3) -> ti.f32:
        return a.sum()

    x = ti.Vector.field(3, ti.f32, 2)

    @ti.kernel
    def k() -> vec3:
        return f(vec3(1, 2, 3), mat2([[1, 2], [3, 4]]))

    @ti.kernel
    def of_field() -> ti.f32:
        x[1] = ti.Vector([1.0, 2.0, 3.0])
        return total(x[1])

    show(k().to_numpy(), of_field())


@case()
def structs(show):
    inner = ti.types.struct(x=ti.i64, y=ti.f32)
    outer = ti.types.struct(a=inner, b=vec2)

    @ti.real_func
    def f(s: outer) -> outer:
        t = s
        t.a.x += 1
        return outer(a=t.a, b=t.b * 2)

    @ti.kernel
    def k() -> outer:
        return f(f(outer(a=inner(x=1, y=2), b=ti.Vector([1.0, 2.0]))))

    show(k().to_dict())


@case()
def methods_of_structs(show):
    @ti.dataclass
    class Ray:
        o: vec2
        d: vec2

        @ti.func
        def at(self, t):
            return self.o + t * self.d

    @ti.real_func
    def f(r: Ray, t: ti.f32) -> vec2:
        return r.at(t)

    @ti.real_func
    def make(t: ti.f32) -> Ray:
        return Ray(o=vec2(t, 0), d=vec2(1, 2))

    @ti.kernel
    def k() -> vec2:
        return f(make(3.0), 0.5) + make(1.0).at(2.0)

    show(k().to_numpy())


@case()
def several_results(show):
    @ti.real_func
    def both(a: ti.i32) -> Tuple[ti.i32, ti.f32]:
        return a + 1, a * 0.5

    @ti.real_func
    def mixed(a: ti.i32) -> (vec2, ti.i32):
        return vec2(a, a + 1), a

    @ti.kernel
    def k() -> ti.f32:
        x, y = both(3)
        r = mixed(3)
        return x + y + r[0][1] * 100 + r[1] * 1000

    show(k())


@case()
def defaults_keywords_and_spread(show):
    @ti.real_func
    def f(a: ti.i32, b: ti.i32 = 7) -> ti.i32:
        return a * 10 + b

    @ti.kernel
    def k() -> ti.types.vector(4, ti.i32):
        t = ti.static((5, 3))
        return ti.Vector([f(1), f(b=1, a=2), f(2, b=3), f(*t)])

    show(k().to_numpy())


@case()
def large_matrices(show):
    large = ti.types.matrix(8, 8, ti.f32)
    holder = ti.types.struct(m=large, k=ti.i32)

    @ti.real_func
    def scale(m: large, k: ti.i32) -> large:
        if k == 0:
            return m
        r = scale(m, k - 1)
        return r * 2.0

    @ti.real_func
    def several(s: holder) -> (ti.i32, large, holder):
        t = s
        t.m[1, 2] = 77
        t.k += 1
        return s.k, s.m + 1.0, t

    x = ti.Matrix.field(8, 8, ti.f32, 4)

    @ti.kernel
    def k(m: large) -> ti.types.vector(5, ti.f32):
        a = scale(m, 3)
        n, b, t = several(holder(m=m, k=5))
        for i in x:
            x[i] = scale(large(i), 2)
        return ti.Vector([a[1, 1], n * 1.0, b[2, 3], t.m[1, 2], t.k * 1.0])

    show(k(large([[8 * i + j for j in range(8)] for i in range(8)])).to_numpy())
    show(x.to_numpy()[:, 7, 7])


# --- recursion and returns


@case()
def direct_recursion(show):
    @ti.real_func
    def fib(n: ti.i32) -> ti.i32:
        if n < 2:
            return n
        return fib(n - 1) + fib(n - 2)

    @ti.real_func
    def ackermann(m: ti.i32, n: ti.i32) -> ti.i32:
        if m == 0:
            return n + 1
        if n == 0:
            return ackermann(m - 1, 1)
        return ackermann(m - 1, ackermann(m, n - 1))

    @ti.kernel
    def k(n: ti.i32) -> ti.i32:
        return fib(n)

    @ti.kernel
    def a(m: ti.i32, n: ti.i32) -> ti.i32:
        return ackermann(m, n)

    show(k(20), a(2, 3))


@case()
def mutual_recursion(show):
    @ti.real_func
    def even(n: ti.i32) -> ti.i32:
        if n == 0:
            return 1
        return odd(n - 1)

    @ti.real_func
    def odd(n: ti.i32) -> ti.i32:
        if n == 0:
            return 0
        return even(n - 1)

    @ti.kernel
    def k(n: ti.i32) -> ti.i32:
        return even(n) * 10 + odd(n)

    show(k(7), k(8))


@case()
def recursion_with_structs(show):
    pair = ti.types.struct(a=ti.i32, b=ti.i64)

    @ti.real_func
    def f(n: ti.i32) -> pair:
        if n == 0:
            return pair(a=0, b=1)
        r = f(n - 1)
        return pair(a=r.a + n, b=r.b * 2)

    @ti.kernel
    def k() -> pair:
        return f(40)

    show(k().to_dict())


@case()
def early_returns(show):
    @ti.real_func
    def in_for(n: ti.i32) -> ti.i32:
        s = 0
        for i in range(100):
            s += i
            if i == n:
                return s
        return -1

    @ti.real_func
    def in_while(n: ti.i32) -> ti.i32:
        i = 0
        while True:
            i += 1
            if i * i > n:
                return i
        return -1

    @ti.real_func
    def in_nested(n: ti.i32) -> ti.i32:
        for i in range(10):
            for j in range(10):
                if i * 10 + j == n:
                    if j % 2 == 0:
                        return i
                    else:
                        return -i
        return 99

    @ti.kernel
    def k(n: ti.i32) -> ti.types.vector(3, ti.i32):
        return ti.Vector([in_for(n), in_while(n), in_nested(n)])

    show(k(5).to_numpy(), k(42).to_numpy(), k(200).to_numpy())


@case()
def loops_are_serial_and_break(show):
    @ti.real_func
    def f(n: ti.i32) -> ti.i32:
        s = 0
        for i in range(100):
            if i == n:
                break
            if i % 2 == 0:
                continue
            s = s * 3 % 1000 + i
        for i, j in ti.ndrange(n, n):
            if j > i:
                continue
            s += 1
        return s

    @ti.kernel
    def k(n: ti.i32) -> ti.i32:
        return f(n)

    show(k(5), k(13))


@case()
def static_branches_return(show):
    @ti.real_func
    def f(a: ti.i32, positive: ti.template()) -> ti.i32:
        if ti.static(positive):
            return a
        else:
            return -a

    @ti.kernel
    def k() -> ti.i32:
        return f(1, True) * 10 + f(2, False)

    show(k())


@case(differs="`return` without a value in a real function")
def bare_return(show):
    x = ti.field(ti.i32, ())

    @ti.real_func
    def f(i: ti.i32):
        if i > 3:
            return
        x[None] += i

    @ti.kernel
    def k():
        for i in range(10):
            f(i)

    k()
    show(x[None])


@case(differs="`return` without a value in a real function")
def bare_return_of_a_function_with_result(show):
    @ti.real_func
    def f(i: ti.i32) -> ti.i32:
        if i > 3:
            return
        return i

    @ti.kernel
    def k() -> ti.i32:
        return f(2)

    show.error(k)


@case(differs="a real function whose end is reached")
def end_reached_without_return(show):
    @ti.real_func
    def f(a: ti.i32) -> ti.i32:
        if a > 100:
            return 1

    @ti.kernel
    def k(a: ti.i32) -> ti.i32:
        return f(a)

    show(k(2), k(200))


# --- references


@case()
def references_to_variables(show):
    @ti.real_func
    def inc(a: ti.ref(ti.i32), by: ti.i32):
        a += by

    @ti.real_func
    def twice(a: ti.ref(ti.i32)):
        inc(a, 5)
        inc(a, 5)

    @ti.real_func
    def both(a: ti.ref(ti.i32), b: ti.ref(ti.i32)):
        a += 1
        b += a

    @ti.kernel
    def k() -> ti.types.vector(3, ti.i32):
        x, y, z = 3, 1, 1
        inc(x, 7)
        twice(y)
        both(z, z)
        return ti.Vector([x, y, z])

    show(k().to_numpy())


@case()
def references_to_elements_and_members(show):
    pair = ti.types.struct(a=ti.i32, b=ti.f32)

    @ti.real_func
    def f(a: ti.ref(ti.f32)):
        a = a * 2 + 1

    @ti.real_func
    def i(a: ti.ref(ti.i32)):
        a -= 4

    @ti.kernel
    def k() -> vec2:
        x = vec2(1, 2)
        f(x[0])
        return x

    @ti.kernel
    def m() -> ti.i32:
        s = pair(1, 2)
        i(s.a)
        return s.a

    @ti.kernel
    def dynamic(n: ti.i32) -> vec3:
        x = vec3(1, 2, 3)
        for j in range(n):
            f(x[j])
        return x

    show(k().to_numpy(), m(), dynamic(2).to_numpy())


@case(differs="references (`ti.ref`)")
def references_through_recursion(show):
    @ti.real_func
    def count(n: ti.i32, leaves: ti.ref(ti.i32), depth: ti.ref(ti.i32), now: ti.i32):
        depth = ti.max(depth, now)
        if n <= 1:
            leaves += 1
            return
        count(n // 2, leaves, depth, now + 1)
        count(n - n // 2, leaves, depth, now + 1)

    @ti.kernel
    def k(n: ti.i32) -> ti.types.vector(2, ti.i32):
        leaves = 0
        depth = 0
        count(n, leaves, depth, 0)
        return ti.Vector([leaves, depth])

    show(k(13).to_numpy())


@case(differs="references (`ti.ref`)")
def references_to_fields_and_arrays(show):
    x = ti.field(ti.i32, ())
    f = ti.field(ti.f32, 3)
    v = ti.Vector.field(2, ti.f32, 3)
    a = ti.ndarray(ti.f32, 3)

    @ti.real_func
    def add(at: ti.ref(ti.i32), i: ti.i32):
        at += i

    @ti.real_func
    def put(at: ti.ref(ti.f32), value: ti.f32):
        at = value

    @ti.kernel
    def total():
        for i in range(1000):
            add(x[None], i)

    @ti.kernel
    def fill(b: ti.types.ndarray(ti.f32, 1)):
        for i in f:
            put(f[i], i)
            put(v[i][1], 10 + i)
            put(b[i], 20 + i)

    total()
    fill(a)
    show(x[None], numbers(f), numbers(v), numbers(a))


@case()
def references_to_variables_around_a_parallel_loop(show):
    @ti.real_func
    def add(at: ti.ref(ti.i32), i: ti.i32):
        at += i

    @ti.kernel
    def k() -> ti.i32:
        s = 0
        for i in range(1000):
            add(s, i)
        return s

    show(k())


@case()
def members_of_a_parameter_are_the_functions_own(show):
    ray = ti.types.struct(origin=vec3, n=ti.i32)

    @ti.real_func
    def move(r: ray, count: ti.i32) -> ray:
        for i in range(count):
            if i == 2:
                r.origin = vec3(0)
                break
            r.origin += 1.0
            r.n += i
        return r

    @ti.kernel
    def k() -> ray:
        start = ray(vec3(1), 5)
        moved = move(start, 2)
        return ray(moved.origin * 100 + start.origin, moved.n * 100 + start.n)

    show(k())
