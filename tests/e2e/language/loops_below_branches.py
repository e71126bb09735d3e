"""Loops below an `if` on a Python value: in order, as below any other."""

# ruff: noqa: E741, F841, B007, B020, PERF
from harness import case, ti


def numbered(n):
    f = ti.field(ti.i32, n)
    f.fill(0)
    return f


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
