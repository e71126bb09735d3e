"""Loops that are unrolled: what they run over, and the ways to leave them."""

# ruff: noqa: E741, F841, B007, B020, PERF
from harness import case, ti


def numbered(n):
    f = ti.field(ti.i32, n)
    f.fill(0)
    return f


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
