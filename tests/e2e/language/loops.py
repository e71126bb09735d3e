"""Loops over ranges, `ti.ndrange`, fields and arrays, and their `ti.loop_config`."""

# ruff: noqa: E741, F841, B007, B020, PERF
from harness import case, ti


def numbered(n):
    f = ti.field(ti.i32, n)
    f.fill(0)
    return f


# --- range


@case()
def ranges(show):
    f = numbered(8)

    @ti.kernel
    def k(a: ti.i32, b: ti.i32):
        for i in range(3):
            f[0] += 1 + i
        for i in range(2, 5):
            f[1] += i
        for i in range(-3, 2):
            f[2] += i
        for i in range(a):
            f[3] += 1
        for i in range(a, b):
            f[4] += i
        for i in range(b, a):
            f[5] += 1
        for i in range(0):
            f[6] += 1
        for i in range(ti.cast(a, ti.i64)):
            f[7] += 1

    k(2, 4)
    show(f)
    k(-2, 1)
    show(f)


@case()
def range_of_three(show):
    @ti.kernel
    def k():
        for i in range(0, 10, 2):
            pass

    show.error(k)


@case()
def range_without_arguments(show):
    @ti.kernel
    def k():
        for i in range():
            pass

    show.error(k)


@case()
def range_of_a_float(show):
    @ti.kernel
    def k(a: ti.f32) -> ti.i32:
        s = 0
        for i in range(a):
            s += 1
        return s

    show.error(k, 3.7)


@case()
def range_of_a_float_constant(show):
    @ti.kernel
    def k() -> ti.i32:
        s = 0
        for i in range(3.0):
            s += 1
        return s

    show.error(k)


@case(differs="mistakes let pass")
def range_of_a_vector(show):
    @ti.kernel
    def k():
        for i in range(ti.Vector([1, 2])):
            pass

    show.error(k)


@case()
def range_with_two_targets(show):
    @ti.kernel
    def k():
        for i, j in range(3):
            pass

    show.error(k)


@case()
def range_into_an_element(show):
    f = numbered(2)

    @ti.kernel
    def k():
        for f[0] in range(3):
            pass

    show.error(k)


@case()
def reversed_range(show):
    @ti.kernel
    def k():
        for i in reversed(range(3)):
            pass

    show.error(k)


@case()
def nested_ranges(show):
    f = ti.field(ti.i32, (3, 4))

    @ti.kernel
    def k():
        for i in range(3):
            for j in range(i, 4):
                f[i, j] = i * 10 + j

    k()
    show(f)


@case(differs="plain Python")
def loop_over_a_python_range_object(show):
    f = numbered(4)
    r = range(1, 3)

    @ti.kernel
    def k():
        for i in r:
            f[i] = i

    show.error(k)


@case(differs="plain Python")
def range_through_an_alias(show):
    f = numbered(4)
    myrange = range

    @ti.kernel
    def k():
        for i in myrange(1, 3):
            f[i] = i

    k()
    show(f)


# --- ndrange


@case()
def ndranges(show):
    f = ti.field(ti.i32, (3, 4))
    g = numbered(4)

    @ti.kernel
    def k(n: ti.i32):
        for i, j in ti.ndrange(3, 4):
            f[i, j] = i * 10 + j
        for i, j in ti.ndrange((1, 3), (2, n)):
            f[i, j] += 1000
        for i in ti.ndrange(4):
            g[i] += i
        for i, j, l in ti.ndrange(2, 2, (0, 3)):
            g[i] += 100
        for i, j in ti.ndrange(n, (n, n + 2)):
            g[0] += 1

    k(4)
    show(f, g)


@case()
def ndrange_of_negative_and_empty_ranges(show):
    g = numbered(4)

    @ti.kernel
    def k(a: ti.i32):
        for i, j in ti.ndrange((-2, 1), (-1, 1)):
            g[0] += i * 10 + j
        for i, j in ti.ndrange((3, 1), 2):
            g[1] += 1
        for i, j in ti.ndrange(a, 2):
            g[2] += 1
        for i, j in ti.ndrange((a, 0), (a, 0)):
            g[3] += 1

    k(-2)
    show(g)


@case()
def grouped_ndrange(show):
    f = ti.field(ti.i32, (3, 4))

    @ti.kernel
    def k():
        for I in ti.grouped(ti.ndrange(3, (1, 4))):
            f[I] = I[0] * 10 + I[1] + I.sum()

    k()
    show(f)


@case()
def ndrange_of_a_vector(show):
    f = ti.field(ti.i32, (3, 4))

    @ti.kernel
    def k(v: ti.types.vector(2, ti.i32)):
        for i, j in ti.ndrange(v[0], v[1]):
            f[i, j] = 1

    k(ti.Vector([2, 3]))
    show(f)


@case()
def ndrange_of_a_shape(show):
    f = ti.field(ti.i32, (3, 4))

    @ti.kernel
    def k():
        for i, j in ti.ndrange(*f.shape):
            f[i, j] = i + j

    k()
    show(f)


@case(differs="plain Python")
def ndrange_made_outside(show):
    f = ti.field(ti.i32, (3, 4))
    area = ti.ndrange((1, 3), (1, 3))

    @ti.kernel
    def k():
        for i, j in area:
            f[i, j] = i + j
        for I in ti.grouped(area):
            f[I] += 10

    k()
    show(f)


@case()
def ndrange_with_too_few_targets(show):
    @ti.kernel
    def k():
        for i in ti.ndrange(2, 3):
            pass

    show.error(k)


@case()
def ndrange_with_too_many_targets(show):
    @ti.kernel
    def k():
        for i, j, l in ti.ndrange(2, 3):
            pass

    show.error(k)


@case()
def grouped_ndrange_with_two_targets(show):
    @ti.kernel
    def k():
        for i, j in ti.grouped(ti.ndrange(2, 3)):
            pass

    show.error(k)


@case()
def ndrange_of_a_float(show):
    @ti.kernel
    def k():
        for i, j in ti.ndrange(2.5, 3):
            pass

    show.error(k)


@case()
def ndrange_of_a_float_value(show):
    @ti.kernel
    def k(a: ti.f32):
        for i, j in ti.ndrange(a, 3):
            pass

    show.error(k, 1.0)


@case()
def ndrange_of_a_triple(show):
    @ti.kernel
    def k():
        for i, j in ti.ndrange((0, 4, 2), 3):
            pass

    show.error(k)


@case()
def ndrange_of_a_text(show):
    @ti.kernel
    def k():
        for i, j in ti.ndrange("ab", 3):
            pass

    show.error(k)


@case()
def static_inside_ndrange(show):
    @ti.kernel
    def k():
        for i, j in ti.ndrange(ti.static(range(2)), 3):
            pass

    show.error(k)


@case()
def one_index_over_a_static_range_in_ndrange(show):
    @ti.kernel
    def k():
        for i in ti.ndrange(ti.static(range(2))):
            pass

    show.error(k)


@case()
def ndrange_of_nothing(show):
    @ti.kernel
    def k() -> ti.i32:
        n = 0
        for I in ti.grouped(ti.ndrange()):
            n += 1
        return n

    @ti.kernel
    def plain():
        for i in ti.ndrange():
            pass

    show(k())
    show.error(plain)


# --- fields and arrays


@case()
def struct_for_of_every_dimension(show):
    a = ti.field(ti.i32, ())
    b = ti.field(ti.i32, 3)
    c = ti.field(ti.i32, (2, 2))
    d = ti.field(ti.i32, (2, 1, 2))

    @ti.kernel
    def k():
        for i in b:
            b[i] = i + 1
        for i, j in c:
            c[i, j] = i * 10 + j
        for i, j, l in d:
            d[i, j, l] = i * 100 + l
        for I in ti.grouped(c):
            c[I] += 1000
        for I in ti.grouped(b):
            b[I] += I[0]

    k()
    show(b, c, d)


@case()
def struct_for_over_vectors_and_structs(show):
    v = ti.Vector.field(2, ti.f32, 3)
    s = ti.Struct.field({"a": ti.i32, "b": ti.f32}, shape=3)

    @ti.kernel
    def k():
        for i in v:
            v[i] = [i, 2 * i]
        for i in s:
            s[i].a = i
        for i in s.b:
            s.b[i] = i * 0.5

    k()
    show(v, s.a, s.b)


@case()
def struct_for_over_an_offset_field(show):
    f = ti.field(ti.i32, 3, offset=-1)

    @ti.kernel
    def k() -> ti.i32:
        s = 0
        for i in f:
            f[i] = i
            s += i * 10
        return s

    show(k(), f[-1], f[1])


@case()
def struct_for_over_an_array(show):
    import numpy as np

    @ti.kernel
    def k(a: ti.types.ndarray(), b: ti.types.ndarray(ndim=2)):
        for i in a:
            a[i] += i
        for i, j in b:
            b[i, j] += i * 10 + j
        for I in ti.grouped(b):
            b[I] += 100

    a, b = np.zeros(3, np.int32), ti.ndarray(ti.i32, (2, 2))
    k(a, b)
    show(a, b)


@case()
def struct_for_over_a_zero_dimensional_field(show):
    a = ti.field(ti.i32, ())

    @ti.kernel
    def k():
        for i in a:
            a[None] += 1

    show.error(k)


@case()
def grouped_zero_dimensional_field(show):
    a = ti.field(ti.i32, ())

    @ti.kernel
    def k():
        for I in ti.grouped(a):
            a[I] += 1

    k()
    show(a[None])


@case()
def struct_for_with_wrong_targets(show):
    a = ti.field(ti.i32, (2, 2))

    @ti.kernel
    def few():
        for i in a:
            pass

    @ti.kernel
    def many():
        for i, j, l in a:
            pass

    @ti.kernel
    def group():
        for i, j in ti.grouped(a):
            pass

    show.error(few)
    show.error(many)
    show.error(group)


@case(differs="mistakes without a message")
def struct_for_inside_a_loop(show):
    a = ti.field(ti.i32, 2)

    @ti.kernel
    def k():
        for i in range(2):
            for j in a:
                a[j] += 1

    show.error(k)


@case(differs="mistakes without a message")
def struct_for_inside_a_branch(show):
    a = ti.field(ti.i32, 2)

    @ti.kernel
    def k(n: ti.i32):
        if n > 0:
            for j in a:
                a[j] += 1

    show.error(k, 1)


@case()
def loop_over_a_list(show):
    @ti.kernel
    def k():
        for i in [1, 2]:
            pass

    show.error(k)


@case()
def loop_over_a_vector(show):
    @ti.kernel
    def k():
        v = ti.Vector([1, 2])
        for i in v:
            pass

    show.error(k)


@case()
def loop_over_a_number(show):
    @ti.kernel
    def k(n: ti.i32):
        for i in n:
            pass

    show.error(k, 1)


@case()
def loop_over_a_text(show):
    @ti.kernel
    def k():
        for i in "abc":
            pass

    show.error(k)


@case()
def loop_over_zip_without_static(show):
    @ti.kernel
    def k():
        for i, j in zip([1, 2], [3, 4]):
            pass

    show.error(k)


@case()
def loop_over_enumerate_without_static(show):
    @ti.kernel
    def k():
        for i, j in enumerate([1, 2]):
            pass

    show.error(k)


# --- loop_config


@case()
def loop_config_options(show):
    f = numbered(64)

    @ti.kernel
    def k():
        ti.loop_config(parallelize=2)
        for i in range(64):
            f[i] += 1
        ti.loop_config(block_dim=32)
        for i in range(64):
            f[i] += 10
        ti.loop_config(serialize=True)
        for i in range(1, 64):
            f[i] += f[i - 1] % 7
        ti.loop_config(block_dim_adaptive=False, parallelize=4)
        for i in f:
            f[i] += 1000
        ti.loop_config(name="last")
        for i in range(64):
            f[i] += 10000

    k()
    show(f)


@case()
def loop_config_with_an_unknown_option(show):
    @ti.kernel
    def k():
        ti.loop_config(serialise=True)
        for i in range(3):
            pass

    show.error(k)


@case(differs="mistakes without a message")
def loop_config_out_of_range(show):
    for options in ({"block_dim": -1}, {"block_dim": 2**31}, {"parallelize": -1}):

        @ti.kernel
        def k():
            ti.loop_config(**options)
            for i in range(3):
                pass

        show.error(k)


@case()
def loop_config_with_positional_options(show):
    @ti.kernel
    def k():
        ti.loop_config(True)
        for i in range(3):
            pass

    show.error(k)


@case(differs="mistakes without a message")
def loop_config_outside_of_a_kernel(show):
    show.error(ti.loop_config, serialize=True)


@case()
def loop_config_with_a_run_time_value(show):
    @ti.kernel
    def k(n: ti.i32):
        ti.loop_config(parallelize=n)
        for i in range(3):
            pass

    show.error(k, 2)


@case()
def loop_config_without_a_loop(show):
    @ti.kernel
    def k() -> ti.i32:
        ti.loop_config(serialize=True)
        return 1

    show(k())
