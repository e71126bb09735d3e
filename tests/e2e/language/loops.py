"""All forms of loops, their ranges, and the ways to leave them."""

# ruff: noqa: E741, F841, B007, B020, PERF
import numpy as np
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


# --- static loops


@case(differs="plain Python")
def static_loops_of_every_source(show):
    table = {"a": 1, "b": 2}
    pairs = [(1, 2), (3, 4)]

    @ti.kernel
    def k() -> ti.types.vector(9, ti.i32):
        r = ti.Vector([0] * 9)
        for i in ti.static(range(3)):
            r[0] += i
        for i in ti.static(range(4, 0, -2)):
            r[1] = r[1] * 10 + i
        for i in ti.static([5, 7]):
            r[2] = r[2] * 10 + i
        for name in ti.static(table):
            r[3] = r[3] * 10 + table[name]
        for i, j in ti.static(pairs):
            r[4] += i * j
        for i, pair in ti.static(enumerate(pairs)):
            r[5] += i + pair[0]
        for i, j in ti.static(zip([1, 2], (3, 4))):
            r[6] += i * j
        for i, j in ti.static(ti.ndrange(2, (1, 3))):
            r[7] = r[7] * 10 + i + j
        for I in ti.static(ti.grouped(ti.ndrange(2, 2))):
            r[8] = r[8] * 10 + I[0] + 2 * I[1]
        return r

    show(k())


@case(differs="plain Python")
def static_loop_over_items_of_a_dict(show):
    table = {"a": 1, "b": 2}

    @ti.kernel
    def k() -> ti.i32:
        s = 0
        for name, value in ti.static(table.items()):
            if ti.static(name == "b"):
                s += value * 10
            else:
                s += value
        return s

    show(k())


@case()
def static_loop_over_fields(show):
    fields = [ti.field(ti.i32, ()) for _ in range(3)]

    @ti.kernel
    def k():
        for f in ti.static(fields):
            f[None] = 1
        for i, f in ti.static(enumerate(fields)):
            f[None] += i * 10

    k()
    show([f[None] for f in fields])


@case(differs="plain Python")
def static_loop_over_reversed_and_sorted(show):
    @ti.kernel
    def k() -> ti.types.vector(2, ti.i32):
        a = 0
        b = 0
        for i in ti.static(reversed(range(4))):
            a = a * 10 + i
        for i in ti.static(sorted([3, 1, 2])):
            b = b * 10 + i
        return ti.Vector([a, b])

    show(k())


@case()
def static_loop_over_a_vector_value(show):
    @ti.kernel
    def k() -> ti.i32:
        v = ti.Vector([3, 4])
        s = 0
        for e in ti.static(v):
            s += e
        return s

    show.error(k)


@case()
def static_loop_over_a_run_time_range(show):
    @ti.kernel
    def k(n: ti.i32):
        for i in ti.static(range(n)):
            pass

    show.error(k, 2)


@case()
def static_loop_over_a_run_time_ndrange(show):
    @ti.kernel
    def k(n: ti.i32):
        for i, j in ti.static(ti.ndrange(n, 2)):
            pass

    show.error(k, 2)


@case(differs="mistakes let pass")
def static_loop_with_wrong_targets(show):
    @ti.kernel
    def k():
        for i, j in ti.static([(1, 2, 3)]):
            pass

    show.error(k)


@case(differs="mistakes let pass")
def static_loop_with_two_targets_over_numbers(show):
    @ti.kernel
    def k():
        for i, j in ti.static(range(3)):
            pass

    show.error(k)


@case()
def static_of_static(show):
    @ti.kernel
    def k():
        for i in ti.static(ti.static(range(2))):
            pass

    show.error(k)


@case()
def grouped_of_grouped(show):
    a = ti.field(ti.i32, (2, 2))

    @ti.kernel
    def k():
        for I in ti.grouped(ti.grouped(a)):
            pass

    show.error(k)


@case()
def grouped_of_static(show):
    a = ti.field(ti.i32, (2, 2))

    @ti.kernel
    def k():
        for I in ti.grouped(ti.static(a)):
            pass

    show.error(k)


@case()
def grouped_of_a_range(show):
    @ti.kernel
    def k():
        for I in ti.grouped(range(3)):
            pass

    show.error(k)


@case()
def static_loop_variable_assigned(show):
    @ti.kernel
    def k() -> ti.i32:
        s = 0
        for i in ti.static(range(3)):
            i += 1
            s += i
        return s

    show.error(k)


@case()
def static_loop_over_a_set_of_names(show):
    @ti.kernel
    def k() -> ti.i32:
        s = 0
        for name in ti.static(("one", "two")):
            if ti.static(name == "two"):
                s += 2
        return s

    show(k())


# --- while


@case()
def while_loops(show):
    @ti.kernel
    def k(n: ti.i32) -> ti.types.vector(4, ti.i32):
        a = n
        while a > 1:
            a //= 2
        b = 0
        while True:
            b += 1
            if b > n:
                break
        c = 0
        d = 0
        while c < n and d < 100:
            c += 1
            if c % 2:
                continue
            d += c
        while False:
            d = -1
        return ti.Vector([a, b, c, d])

    show(k(9), k(0))


@case()
def while_one(show):
    @ti.kernel
    def k() -> ti.i32:
        a = 0
        while 1:
            a += 1
            if a == 4:
                break
        return a

    show(k())


@case()
def nested_whiles(show):
    @ti.kernel
    def k(n: ti.i32) -> ti.i32:
        s = 0
        i = 0
        while i < n:
            j = 0
            while True:
                if j > i:
                    break
                s += 1
                j += 1
            i += 1
        return s

    show(k(4))


@case()
def while_with_a_vector(show):
    @ti.kernel
    def k():
        v = ti.Vector([1, 2])
        while v:
            v -= 1

    show.error(k)


@case()
def while_with_a_float(show):
    @ti.kernel
    def k(a: ti.f32) -> ti.i32:
        n = 0
        b = a
        while b:
            b -= 1.0
            n += 1
        return n

    show(k(3.0))


@case()
def while_else(show):
    @ti.kernel
    def k():
        a = 1
        while a > 0:
            a -= 1
        else:
            a = 3

    show.error(k)


@case()
def for_else(show):
    @ti.kernel
    def k():
        for i in range(3):
            pass
        else:
            a = 3

    show.error(k)


@case()
def static_for_else(show):
    @ti.kernel
    def k():
        for i in ti.static(range(3)):
            pass
        else:
            a = 3

    show.error(k)


@case()
def while_static(show):
    @ti.kernel
    def k() -> ti.i32:
        a = 0
        while ti.static(False):
            a = 1
        return a

    show(k())


# --- break and continue


@case()
def break_in_the_outermost_loop(show):
    @ti.kernel
    def k():
        for i in range(10):
            break

    show.error(k)


@case()
def break_in_a_branch_of_the_outermost_loop(show):
    @ti.kernel
    def k():
        for i in range(10):
            if i > 3:
                break

    show.error(k)


@case()
def break_in_a_struct_for(show):
    a = ti.field(ti.i32, 3)

    @ti.kernel
    def k():
        for i in a:
            break

    show.error(k)


@case()
def break_in_a_serialized_struct_for(show):
    a = ti.field(ti.i32, 3)

    @ti.kernel
    def k():
        ti.loop_config(serialize=True)
        for i in a:
            break

    show.error(k)


@case()
def break_in_an_ndrange(show):
    @ti.kernel
    def k():
        for i, j in ti.ndrange(2, 2):
            break

    show.error(k)


@case()
def break_in_a_serialized_range(show):
    @ti.kernel
    def k() -> ti.i32:
        s = 0
        ti.loop_config(serialize=True)
        for i in range(10):
            if i == 4:
                break
            s += i
        return s

    show(k())


@case()
def break_in_a_serialized_ndrange(show):
    @ti.kernel
    def k() -> ti.i32:
        s = 0
        ti.loop_config(serialize=True)
        for i, j in ti.ndrange(4, 4):
            if i * j > 3:
                break
            s += 1
        return s

    show.error(k)


@case()
def break_in_an_inner_ndrange(show):
    @ti.kernel
    def k() -> ti.i32:
        s = 0
        for _ in range(1):
            for i, j in ti.ndrange(4, 4):
                if i * j > 3:
                    break
                s += 1
        return s

    show.error(k)


@case()
def break_in_an_inner_grouped_ndrange(show):
    @ti.kernel
    def k() -> ti.i32:
        s = 0
        for _ in range(1):
            for I in ti.grouped(ti.ndrange(4, 4)):
                if I[0] * I[1] > 3:
                    break
                s += 1
        return s

    show.error(k)


@case()
def break_and_continue_in_inner_loops(show):
    f = numbered(4)

    @ti.kernel
    def k():
        for i in range(4):
            for j in range(10):
                if j == i:
                    continue
                if j > 5:
                    break
                f[i] += j

    k()
    show(f)


@case()
def continue_in_every_loop(show):
    f = numbered(4)
    a = ti.field(ti.i32, 4)

    @ti.kernel
    def k():
        for i in range(4):
            if i == 1:
                continue
            f[0] += i
        for i in a:
            if i == 2:
                continue
            f[1] += i
        for i, j in ti.ndrange(2, 2):
            if i == j:
                continue
            f[2] += 1
        n = 0
        while n < 5:
            n += 1
            if n == 3:
                continue
            f[3] += n

    k()
    show(f)


@case()
def break_outside_of_a_loop(show):
    source = "@ti.kernel\ndef k():\n    break\n"
    try:
        exec(compile(source, "made up", "exec"), {"ti": ti})
    except SyntaxError as error:
        show(type(error).__name__)


@case()
def break_in_a_function_called_at_the_top(show):
    f = numbered(1)

    @ti.func
    def search(n):
        for i in range(n):
            if i == 2:
                break
            f[0] += 1

    @ti.kernel
    def top():
        search(5)

    @ti.kernel
    def inside():
        for _ in range(1):
            search(5)

    show.error(top)
    inside()
    show(f)


@case()
def break_of_a_static_loop(show):
    @ti.kernel
    def k() -> ti.i32:
        s = 0
        for i in ti.static(range(10)):
            if ti.static(i == 2):
                continue
            if ti.static(i == 5):
                break
            s += i
        return s

    show(k())


@case()
def break_of_a_static_loop_at_run_time(show):
    @ti.kernel
    def k(n: ti.i32):
        for i in ti.static(range(10)):
            if i == n:
                break

    show.error(k, 2)


@case()
def continue_of_a_static_loop_at_run_time(show):
    @ti.kernel
    def k(n: ti.i32):
        for i in ti.static(range(10)):
            if i == n:
                continue

    show.error(k, 2)


@case()
def break_of_a_static_loop_inside_a_parallel_loop(show):
    f = numbered(3)

    @ti.kernel
    def k():
        for i in range(3):
            for j in ti.static(range(5)):
                if ti.static(j == 3):
                    break
                f[i] += j

    k()
    show(f)


@case()
def static_loop_inside_while_with_break(show):
    @ti.kernel
    def k(n: ti.i32) -> ti.i32:
        s = 0
        a = n
        while a > 0:
            for j in ti.static(range(2)):
                s += j + 1
            a -= 1
            if s > 6:
                break
        return s

    show(k(2), k(9))


@case()
def code_after_break_and_continue(show):
    @ti.kernel
    def k() -> ti.i32:
        s = 0
        for _ in range(1):
            for i in range(5):
                if i == 3:
                    break
                    s += 100
                s += 1
                continue
                s += 1000
        return s

    show(k())


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


@case()
def one_index_over_a_static_range_in_ndrange(show):
    @ti.kernel
    def k():
        for i in ti.ndrange(ti.static(range(2))):
            pass

    show.error(k)


# --- below an `if` on a Python value: in order, as below any other

MANY = 1_000_000


def _counted(x):
    """A loop that is right only if it runs in order."""

    @ti.func
    def count():
        for i in range(1, MANY):
            x[i] = x[i - 1] + 1

    return count


def _in_order(show, of_kernel):
    x = ti.field(ti.i32, MANY)
    of_kernel(x)()
    show(x[MANY - 1] == MANY - 1)


@case(advanced_optimization=False)
def below_a_branch_that_python_selects(show):
    yes, no = True, False

    def by_if(x):
        @ti.kernel
        def k():
            if yes:
                for i in range(1, MANY):
                    x[i] = x[i - 1] + 1

        return k

    def by_else(x):
        @ti.kernel
        def k():
            if no:
                pass
            elif 1 == 2:
                pass
            else:
                ti.loop_config(block_dim=8)
                for i in range(1, MANY):
                    x[i] = x[i - 1] + 1

        return k

    def by_a_static_loop(x):
        @ti.kernel
        def k():
            for turn in ti.static(range(3)):
                if turn == 1:
                    for i, _ in ti.ndrange(MANY - 1, 1):
                        x[i + 1] = x[i] + 1

        return k

    def in_a_function(x):
        count = _counted(x)

        @ti.kernel
        def k():
            if "one" == "one":
                count()

        return k

    def in_a_functions_template(x):
        count = _counted(x)

        @ti.func
        def maybe(flag: ti.template()):
            if flag:
                count()

        @ti.kernel
        def k():
            maybe(yes)

        return k

    def above_static(x):
        count = _counted(x)

        @ti.kernel
        def k():
            if yes:
                if ti.static(yes):
                    count()

        return k

    def partly_static(x):
        count = _counted(x)

        @ti.kernel
        def k():
            if ti.static(yes) and yes:
                count()

        return k

    for form in (
        by_if,
        by_else,
        by_a_static_loop,
        in_a_function,
        in_a_functions_template,
        above_static,
        partly_static,
    ):
        _in_order(show, form)


@case()
def break_below_a_branch_that_python_selects(show):
    f = numbered(10)
    yes = True

    @ti.kernel
    def k(flag: ti.template()):
        if flag:
            for i in range(10):
                if i == 5:
                    break
                f[i] = i
        for i in f:
            f[i] += 100

    @ti.kernel
    def below_static():
        if ti.static(yes):
            for i in range(10):
                break

    k(True)
    show(f.to_numpy())
    k(0)
    show(f.to_numpy())
    show.error(below_static)


@case()
def fields_below_a_branch_that_python_selects(show):
    yes = True
    dense = numbered(6)
    sparse = ti.field(ti.i32)
    ti.root.pointer(ti.i, 4).dense(ti.i, 4).place(sparse)
    sparse[5] = 1

    @ti.kernel
    def k():
        if yes:
            for i in dense:
                dense[i] = i
            for i in sparse:
                sparse[i] = i
            for I in ti.grouped(dense):
                dense[I] += I[0]

    k()
    show(dense.to_numpy(), [sparse[i] for i in range(16)])


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


@case()
def cells_that_inner_loops_update_in_branches(show):
    n = 40
    x = ti.field(ti.f32, n)
    sums, counts = ti.field(ti.f32, n), ti.field(ti.i32, n)
    short = ti.field(ti.f16, n // 2)
    shifted = ti.field(ti.i64, (n, 4), offset=(-7, 2))
    after = ti.field(ti.i32, n)
    last = ti.Vector.field(2, ti.i32, n)

    @ti.kernel
    def k(a: ti.types.ndarray(), m: ti.i32):
        for i in range(n):
            counts[i] = -1
            for j in range(m):
                if i != j:
                    sums[i] += x[j]
                    counts[i] += 1
                if j > i + 20:
                    break
            after[i] = counts[i]
        for i in range(n + 30):  # more than there are cells
            for j in range(m):
                if i < n // 2 and j % 3 == 0:
                    short[i] += 0.25
                if i < n and j % 7 == i % 7:
                    if j > 30:
                        continue
                    a[i] -= j
        for i, c in ti.ndrange((-7, n - 7), (2, 6)):
            j = m
            while j > 0:
                j -= 1
                for b in range(j % 4):
                    if b != c - 2:
                        shifted[i, c] += b + 1
                    else:
                        shifted[i, c] = ti.max(shifted[i, c], j)
        for i in range(n):
            for j in range(m):
                if j % 5 == i % 5:
                    last[i] = [j, 0]
                    if j >= i % 4:
                        break  # mostly in the first iteration that stores
                    last[i][1] = -j
        for i in range(n):
            for j in range(m):
                if j % 2 == 0:
                    x[(i + 1) % n] += 0.5  # of several iterations: an atomic

    a = np.arange(n, dtype=np.float32)
    x.from_numpy(np.arange(n, dtype=np.float32))
    for m in (n, 0, 13):
        k(a, m)
        show(sums.to_numpy().tolist(), counts.to_numpy().tolist(), after.to_numpy().tolist())
        show(last.to_numpy().tolist())
        show(short.to_numpy().tolist(), a.tolist(), x.to_numpy().tolist())
        show(shifted.to_numpy().sum(axis=0).tolist(), shifted.to_numpy()[::9].tolist())
