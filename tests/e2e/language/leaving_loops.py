"""`break` and `continue`."""

# ruff: noqa: E741, F841, B007, B020, PERF
from harness import case, ti


def numbered(n):
    f = ti.field(ti.i32, n)
    f.fill(0)
    return f


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
