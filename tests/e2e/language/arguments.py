"""Calls of kernels and functions: parameters, keywords, defaults, several results."""

# ruff: noqa: F841
from typing import Tuple

from harness import case, ti

vec2 = ti.types.vector(2, ti.f32)


# ---- signatures


@case()
def parameters_of_kernels(show):
    def variable():
        @ti.kernel
        def k(*a):
            pass

    def keywords():
        @ti.kernel
        def k(**a):
            pass

    def keyword_only():
        @ti.kernel
        def k(*, a: ti.i32):
            pass

    def positional_only():
        @ti.kernel
        def k(a: ti.i32, /, b: ti.i32):
            pass

    def default():
        @ti.kernel
        def k(a: ti.i32 = 3):
            pass

    def unannotated():
        @ti.kernel
        def k(a):
            pass

    def bad():
        @ti.kernel
        def k(a: ti.i32, b: str):
            pass

    def ellipsis():
        @ti.kernel
        def k() -> Tuple[ti.i32, ...]:
            return 1, 2

    for make in (variable, keywords, keyword_only, positional_only):
        show.error(make)
    for make in (default, unannotated, bad, ellipsis):
        show.error(make)


@case()
def parameters_of_functions(show):
    def variable():
        @ti.func
        def f(*a):
            return a

    def keywords():
        @ti.func
        def f(**a):
            return a

    def keyword_only():
        @ti.func
        def f(*, a):
            return a

    def positional_only():
        @ti.func
        def f(a, /, b):
            return a

    def bad():
        @ti.func
        def f(a: str):
            return a

    def ellipsis():
        @ti.func
        def f() -> Tuple[ti.i32, ...]:
            return 1, 2

    for make in (variable, keywords, keyword_only, positional_only, bad, ellipsis):
        show.error(make)


@case()
def kernels_take_keywords(show):
    @ti.kernel
    def k(a: ti.i32, b: ti.f32) -> ti.f32:
        return a * 10 + b

    show(k(1, 2), k(1, b=2), k(b=2, a=1))
    show.error(k, 1)
    show.error(k, 1, 2, 3)
    show.error(k, 1, c=3)
    show.error(k, 1, 2, a=3)


@case()
def functions_take_keywords_and_defaults(show):
    @ti.func
    def f(a, b=2, c=0.5):
        return a * b + c

    @ti.kernel
    def k() -> ti.f32:
        return f(1) + f(1, c=0) * 10 + f(b=3, a=2) * 100

    @ti.kernel
    def twice(a: ti.i32) -> ti.f32:
        return f(a, 3, a=2)

    @ti.kernel
    def unknown(a: ti.i32) -> ti.f32:
        return f(a, d=2)

    @ti.kernel
    def missing() -> ti.f32:
        return f(b=1)

    @ti.kernel
    def many() -> ti.f32:
        return f(1, 2, 3, 4)

    show(k())
    show.error(twice, 1)
    show.error(unknown, 1)
    show.error(missing)
    show.error(many)


@case()
def recursion_of_inlined_functions(show):
    @ti.func
    def f(n):
        return g(n - 1)

    @ti.func
    def g(n):
        return f(n - 1)

    @ti.kernel
    def k() -> ti.i32:
        return f(3)

    show.error(k)


@case()
def functions_without_return(show):
    @ti.func
    def f(a) -> ti.i32:
        b = a

    @ti.kernel
    def k(a: ti.i32) -> ti.i32:
        return f(a)

    show.error(k, 3)


@case()
def statements_after_return(show):
    @ti.func
    def f(a):
        return a
        return a + 1

    @ti.kernel
    def k(a: ti.i32) -> ti.i32:
        return f(a)
        return 7

    show(k(3))


@case()
def returns_in_branches(show):
    x = ti.field(ti.i32, ())

    @ti.func
    def f(a):
        if a > 3:
            return 1
        return 2

    @ti.kernel
    def in_func(a: ti.i32) -> ti.i32:
        return f(a)

    @ti.kernel
    def in_kernel(a: ti.i32) -> ti.i32:
        if a > 3:
            return 1
        return 2

    @ti.kernel
    def bare(a: ti.i32):
        if a > 3:
            return
        x[None] = a

    @ti.kernel
    def in_loop():
        for i in range(3):
            return

    show.error(in_func, 3)
    show.error(in_kernel, 3)
    show.error(bare, 3)
    show.error(in_loop)


# ---- results


@case()
def several_results(show):
    @ti.kernel
    def typing() -> Tuple[ti.i32, ti.f32, vec2]:
        return 1, 2, vec2(1, 2)

    @ti.kernel
    def parenthesised() -> (ti.i32, ti.f32):
        return 1.5, 2

    @ti.kernel
    def listed() -> [ti.i32, ti.f32]:
        return 1, 2

    @ti.kernel
    def builtin() -> tuple[ti.i32, ti.f32]:
        return 1, 2

    a, b, c = typing()
    show(a, b, c.to_numpy(), list(parenthesised()), list(listed()), list(builtin()))
    show(type(builtin()))


@case()
def results_of_other_number(show):
    @ti.kernel
    def k() -> (ti.i32, ti.f32):
        return 1, 2, 3

    show.error(k)


# ---- limits


def of_scalars(n):
    """A kernel of n parameters that adds them."""
    import linecache

    names = [f"a{i}" for i in range(n)]
    text = (
        f"@ti.kernel\ndef k({', '.join(f'{name}: ti.i32' for name in names)}) -> ti.i32:\n"
        f"    return {' + '.join(names)}\n"
    )
    file = f"/tmp/kernel_of_{n}.py"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {"ti": ti}
    exec(compile(text, file, "exec"), scope)
    return scope["k"]


@case()
def many_arguments(show):
    vec5 = ti.types.vector(5, ti.f32)
    wide = ti.types.struct(**{f"m{i}": ti.i32 for i in range(100)})
    mat10 = ti.types.matrix(10, 10, ti.f32)

    @ti.kernel
    def member(s: wide) -> ti.i32:
        return s.m99

    @ti.kernel
    def matrix(s: mat10, t: mat10) -> mat10:
        return s * 2 + t

    ones = mat10(*range(100))
    show(of_scalars(64)(*range(64)), member(wide(**{f"m{i}": i for i in range(100)})))
    show(float(matrix(ones, ones).to_numpy().sum()))
    show.error(of_scalars(65), *range(65))


@case()
def structs_by_value(show):
    inner = ti.types.struct(x=ti.f64, m=ti.math.mat2)
    outer = ti.types.struct(a=ti.i32, v=ti.math.vec3, inner=inner)

    @ti.kernel
    def k(s: outer) -> outer:
        t = s
        t.a += 1
        t.inner.m[1, 1] = 7
        t.inner.x = 0.1
        return t

    @ti.kernel
    def both() -> (inner, ti.i32):
        return inner(x=3), 4

    show(k(outer(a=1, v=ti.math.vec3(1, 2, 3))).to_dict())
    r = both()
    show(r[0].to_dict(), r[1])


@case()
def members_of_parameters_are_the_kernels_own(show):
    inner = ti.types.struct(x=ti.f64, m=ti.math.mat2)

    @ti.dataclass
    class outer:
        a: ti.i32
        v: ti.math.vec3
        part: inner

        @ti.func
        def grow(self, by):
            self.a += by
            self.v[0] -= by

    @ti.kernel
    def k(s: outer, same: outer, i: ti.i32) -> outer:
        s.a = 4.7
        s.a += same.a
        s.v.xy = s.v.yx * 10
        s.v[2] = 9
        s.part.m[i, 0] = 50
        s.part.m[1, :] = [60, 70]
        s.part.x, same.part.x = same.part.x + 5, s.part.x
        if s.a > 0:
            s.grow(same.part.x)
        return s

    @ti.kernel
    def whole_members(s: outer) -> outer:
        before = s
        s.part = inner(3, ti.math.mat2(before.a))
        s.v = before.v + 1
        s.v += 1
        s.a = s.v.sum() + before.v.sum() * 100
        return s

    s = outer(1, ti.math.vec3(1, 2, 3), inner(2, ti.math.mat2(4)))
    show(k(s, s, 0).to_dict())
    show(whole_members(s).to_dict())
    show(s.to_dict())


@case()
def members_of_parameters_in_functions_and_loops(show):
    pair = ti.types.struct(n=ti.i32, v=ti.math.vec3)
    f = ti.field(ti.f32, 5)

    @ti.func
    def member(x: ti.template()):
        x = 8

    @ti.func
    def whole(p: ti.template()):
        p = pair(p.n + 1, p.v * 2)
        p.v.z = 7

    @ti.func
    def value(p: pair):
        p.n = 100
        return p.n

    @ti.real_func
    def real(x: ti.ref(ti.i32)):
        x += 30

    @ti.kernel
    def functions(p: pair) -> pair:
        member(p.n)
        whole(p)
        real(p.n)
        ti.atomic_add(p.v[1], value(p))
        return p

    @ti.kernel
    def loops(p: pair, count: ti.i32) -> ti.i32:
        p.v[0] += 1
        for i in f:
            f[i] = p.v[0] + i
        for i in range(count):
            p.n += 1
        return p.n

    show(functions(pair(1, ti.math.vec3(1, 2, 3))).to_dict())
    show(loops(pair(5, ti.math.vec3(1)), 100), [f[i] for i in range(5)])


@case()
def whole_parameters_are_immutable(show):
    pair = ti.types.struct(n=ti.i32, v=ti.math.vec3)
    some_pair, some_vector = pair(1, ti.math.vec3(1)), ti.math.vec3(1)

    @ti.kernel
    def assigned(p: pair):
        p = pair(2, ti.math.vec3(2))

    @ti.kernel
    def augmented(v: ti.math.vec3):
        v += 1

    @ti.kernel
    def in_a_tuple(x: ti.i32):
        x, y = 1, 2

    @ti.kernel
    def array(x: ti.types.ndarray()):
        x = 3

    @ti.kernel
    def unknown(p: pair):
        p.z = 3

    @ti.func
    def by_reference(x: ti.template()):
        x = 3

    @ti.kernel
    def in_a_function(x: ti.i32):
        by_reference(x)

    show.error(assigned, some_pair)
    show.error(augmented, some_vector)
    show.error(in_a_tuple, 3)
    show.error(array, ti.ndarray(ti.i32, 3))
    show.error(unknown, some_pair)
    show.error(in_a_function, 3)


# ---- argument packs


@case()
def packs_of_scalars(show):
    params = ti.types.argpack(a=ti.i32, b=ti.f32)

    @ti.kernel
    def k(p: params) -> ti.f32:
        return p.a * 10 + p.b

    @ti.kernel
    def two(p: params, x: ti.i32, q: params) -> ti.f32:
        return p.a * 100 + x * 10 + q["a"]

    p = params(a=1, b=2.5)
    show(k(p))
    p.a = 5
    p["b"] = 0.5
    show(k(p), k(p=params(3, 4)), two(p, 2, params(3, 4)))
    show(p.a, p["b"], p.keys, list(p.items), len(p), str(p), p.to_dict())
    show(str(params), isinstance(p, params), isinstance(p, ti.ArgPack), isinstance(3, params))
    show(isinstance(p, ti.types.argpack(a=ti.i32)), hasattr(p, "z"))


@case()
def packs_of_matrices_and_packs(show):
    inner = ti.types.argpack(x=ti.i32, v=ti.math.vec3)
    outer = ti.types.argpack(q=inner, m=ti.math.mat2, b=ti.f32)

    @ti.kernel
    def k(p: outer) -> ti.f32:
        return p.q.x + p.q.v[1] + p.b + p.m[0, 1]

    p = outer(q=inner(x=1, v=ti.math.vec3(1, 2, 3)), m=[[1, 2], [3, 4]], b=0.5)
    show(k(p))
    p.q.x = 10
    show(k(p))
    p.q = inner(x=100, v=[0, 0, 0])
    show(k(p), p.to_dict())


@case(differs="argument packs")
def packs_of_structs(show):
    pair = ti.types.struct(x=ti.i32, v=ti.math.vec3)
    params = ti.types.argpack(s=pair, v=ti.math.vec3)

    @ti.kernel
    def k(p: params) -> ti.f32:
        return p.s.x + p.s.v[2] + p.v[0]

    p = params(s=pair(x=3, v=[1, 2, 3]), v=[1, 1, 1])
    show(k(p))
    p.v[0] = 100
    show(k(p), k(params(s={"x": 1, "v": [0, 0, 0]}, v=[1, 1, 1])))


@case()
def members_of_structs_in_packs_are_assigned(show):
    pair = ti.types.struct(x=ti.i32, y=ti.f32)
    inner = ti.types.argpack(s=pair)
    params = ti.types.argpack(p=inner, s=pair, n=ti.i32)

    @ti.kernel
    def k(p: params) -> ti.f32:
        p.p.s.x = 10 + p.n
        p.s.y += p.p.s.x
        return p.s.y * 100 + p.p.s.x + p.s.x

    p = params(p=inner(s=pair(1, 2)), s=pair(3, 4), n=5)
    show(k(p), k(p), p.s.y)


@case()
def packs_of_arrays(show):
    import numpy as np

    inner = ti.types.argpack(x=ti.i32, a=ti.types.ndarray())
    outer = ti.types.argpack(q=inner, b=ti.types.ndarray(dtype=ti.i32, ndim=1))

    @ti.kernel
    def k(p: outer):
        for i in p.b:
            p.b[i] = p.q.a[i] * p.q.x + p.b.shape[0]

    a, b, c = ti.ndarray(ti.i32, 4), ti.ndarray(ti.i32, 4), np.zeros(4, np.int32)
    a.fill(3)
    k(outer(q=inner(x=2, a=a), b=b))
    k(outer(q=inner(x=3, a=b), b=c))
    show(b.to_numpy(), c)


@case()
def packs_make_instances_by_their_members(show):
    params = ti.types.argpack(a=ti.types.ndarray())

    @ti.kernel
    def k(p: params):
        for i in ti.grouped(p.a):
            p.a[i] += 1

    a, b = ti.ndarray(ti.f32, 3), ti.ndarray(ti.i32, (2, 2))
    for x in (a, b, a):
        k(params(a=x))
    show(a.to_numpy(), b.to_numpy())


@case()
def packs_in_methods_functions_and_templates(show):
    params = ti.types.argpack(a=ti.i32, v=ti.math.vec3)

    @ti.func
    def f(p: ti.template()):
        return p.a + p.v[1]

    @ti.data_oriented
    class Thing:
        @ti.kernel
        def k(self, p: params) -> ti.f32:
            return f(p)

    @ti.kernel
    def of_template(p: ti.template()) -> ti.i32:
        return p.a

    p = params(a=2, v=ti.math.vec3(1, 2, 3))
    show(Thing().k(p), of_template(p))


@case()
def packs_of_default_types(show):
    params = ti.types.argpack(a=int, b=float, c=ti.u8, d=ti.i64)

    @ti.kernel
    def k(p: params) -> ti.f64:
        return p.a + p.b + p.c + p.d

    show(k(params(a=4, b=2, c=200, d=2**40)))


@case(differs="argument packs")
def what_packs_refuse(show):
    params = ti.types.argpack(a=ti.i32)
    several = ti.types.argpack(alpha=ti.i32, beta=ti.types.struct(x=ti.i32))
    nested = ti.types.argpack(p=params)

    @ti.kernel
    def k(p: params) -> ti.i32:
        return p.a

    @ti.kernel
    def unknown(p: several) -> ti.i32:
        return p.alhpa

    @ti.kernel
    def assigned(p: params):
        p.a = 3

    show.error(k, 3)
    show.error(k, ti.types.argpack(b=ti.i32)(b=1))
    show.error(k, ti.types.argpack(a=ti.f32)(a=1))
    show.error(params, a="x")
    show.error(params, a=2.5)
    show.error(params)
    show.error(params, 1, 2)
    show.error(params, 1, a=2)
    show.error(params, b=2)
    show.error(several, alpha=1, beta=3)
    show.error(nested, p=3)
    show.error(assigned, params(a=1))
    show.error(ti.types.argpack)
    show.error(ti.types.argpack, a=str)
    show.error(ti.ArgPack, {"a": ti.i32}, None, a=3)
    show.error(setattr, params(a=1), "z", 3)
    show.error(unknown, several(alpha=1, beta=dict(x=1)))


@case()
def arrays_of_packs_are_checked(show):
    params = ti.types.argpack(a=ti.types.ndarray(dtype=ti.f32, ndim=2))
    wide = ti.types.argpack(**{f"m{i}": ti.i32 for i in range(65)})

    @ti.kernel
    def k(p: params):
        p.a[0, 0] = 1

    @ti.kernel
    def w(p: wide) -> ti.i32:
        return p.m64

    show.error(k, params(a=ti.ndarray(ti.f32, 3)))
    show.error(k, params(a=ti.ndarray(ti.i32, (3, 3))))
    show.error(w, wide(**{f"m{i}": i for i in range(65)}))
