"""`random` and `randn` of all types: distributions and seeds, since the numbers differ."""

import numpy as np
from harness import case, ti, type_of

N = 20000


def _sample(dtype, function=None):
    function = function or ti.random
    x = ti.field(dtype, N)

    @ti.kernel
    def k():
        for i in x:
            x[i] = function(dtype)

    k()
    return x.to_numpy()


@case()
def floats_lie_between_0_and_1(show):
    for dtype in (ti.f32, ti.f64):
        a = _sample(dtype)
        show(f"{dtype}", bool(a.min() >= 0), bool(a.max() < 1), bool(abs(a.mean() - 0.5) < 0.02))
        show(bool(abs(a.std() - 0.2887) < 0.02), bool(len(np.unique(a)) > N * 0.95))


@case()
def integers_take_all_values(show):
    for dtype in (ti.i32, ti.i64, ti.u32, ti.u64):
        a = _sample(dtype).astype(np.float64)
        width = 2.0 ** (32 if dtype in (ti.i32, ti.u32) else 64)
        low = 0 if dtype in (ti.u32, ti.u64) else -width / 2
        share = (a - low) / width
        show(f"{dtype}", bool(share.min() >= 0), bool(share.max() <= 1))
        show(bool(abs(share.mean() - 0.5) < 0.02), bool(abs(share.std() - 0.2887) < 0.02))


@case()
def normal_numbers(show):
    for dtype in (ti.f32, ti.f64):
        a = _sample(dtype, ti.randn)
        show(f"{dtype}", bool(abs(a.mean()) < 0.05), bool(abs(a.std() - 1) < 0.05))
        show(bool(np.isfinite(a).all()), bool(0.6 < (abs(a) < 1).mean() < 0.76))


@case()
def default_types(show):
    seen = []

    def note(x):
        seen.append(type_of(x))

    @ti.kernel
    def k():
        ti.static(note(ti.random()), note(ti.random(float)), note(ti.random(int)), note(ti.randn()))
        ti.static(note(ti.random(ti.u32)), note(ti.randn(ti.f64)), note(ti.random(dtype=ti.f64)))

    k()
    show(seen)


@case(default_fp=ti.f64 if ti else None, default_ip=ti.i64 if ti else None)
def other_default_types(show):
    seen = []

    def note(x):
        seen.append(type_of(x))

    @ti.kernel
    def k():
        ti.static(note(ti.random()), note(ti.random(int)), note(ti.randn()))

    k()
    show(seen)


def _first(**options):
    ti.init(arch=ti.cpu, cpu_max_num_threads=1, **options)
    x = ti.field(ti.f32, 8)

    @ti.kernel
    def k():
        for i in x:
            x[i] = ti.random()

    k()
    return x.to_numpy().tolist()


@case()
def the_same_seed_gives_the_same_numbers(show):
    a, b, c, d = _first(random_seed=1), _first(random_seed=1), _first(random_seed=2), _first()
    show(a == b, a == c, a == d, d == _first())


@case()
def numbers_go_on_from_launch_to_launch(show):
    x = ti.field(ti.f32, ())

    @ti.kernel
    def k():
        x[None] = ti.random()

    values = set()
    for _ in range(10):
        k()
        values.add(x[None])
    show(len(values))


@case()
def two_calls_are_two_numbers(show):
    @ti.kernel
    def k() -> ti.i32:
        a = ti.random()
        b = ti.random()
        v = ti.Vector([ti.random() for _ in range(3)])
        return (a != b) + 10 * (v[0] != v[1]) + 100 * (v[1] != v[2])

    show(k())


@case()
def types_without_random_numbers(show):
    for dtype in (ti.i8, ti.u8, ti.i16, ti.f16):

        @ti.kernel
        def k() -> ti.f32:
            return ti.abs(ti.cast(ti.random(dtype), ti.f32) * 0)  # zero of either sign

        show(str(dtype))
        show.error(k)


@case()
def not_in_python_scope(show):
    show.error(ti.randn)
