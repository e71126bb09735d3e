"""Debug mode on sparse data: bounds, and deactivation of cells that a loop visits."""

from harness import case, ti


def blocks(name="x"):
    x = ti.field(ti.i32, name=name)
    block = ti.root.pointer(ti.ij, (4, 2))
    block.dense(ti.ij, 2).place(x)
    return x, block


@case(debug=True, differs="debug mode on sparse data")
def reads_and_writes_out_of_bounds(show):
    x, block = blocks()

    @ti.kernel
    def read(i: ti.i32, j: ti.i32) -> ti.i32:
        return x[i, j]

    @ti.kernel
    def write(i: ti.i32, j: ti.i32):
        x[i, j] = 3

    show(read(7, 3))
    show.error(read, 8, 0)
    show.error(read, 0, 4)
    show.error(write, -1, 0)
    write(7, 3)
    show(read(7, 3))


@case(debug=True)
def bounds_of_other_kinds(show):
    y, z = ti.field(ti.i32, name="y"), ti.field(ti.f32, name="z")
    ti.root.bitmasked(ti.i, 5).place(y)
    ti.root.dense(ti.i, 2).dynamic(ti.j, 6, chunk_size=2).place(z)

    @ti.kernel
    def of_y(i: ti.i32):
        y[i] += 1

    @ti.kernel
    def of_z(i: ti.i32, j: ti.i32):
        z[i, j] = 2

    of_y(4)
    of_z(1, 5)
    show.error(of_y, 5)
    show.error(of_z, 1, 6)
    show.error(of_z, 2, 0)
    show(y[4], z[1, 5])


@case(debug=True, differs="debug mode on sparse data")
def bounds_with_offsets(show):
    x = ti.field(ti.i32, name="x")
    ti.root.pointer(ti.i, 4).dense(ti.i, 2).place(x, offset=(-3,))

    @ti.kernel
    def write(i: ti.i32):
        x[i] = 3

    write(-3)
    write(4)
    show.error(write, -4)
    show.error(write, 5)
    show(x[-3], x[4])


@case(debug=True)
def operations_out_of_bounds(show):
    x, block = blocks()
    y = ti.field(ti.i32, name="y")
    items = ti.root.dense(ti.i, 3).dynamic(ti.j, 4)
    items.place(y)

    @ti.kernel
    def activate(i: ti.i32, j: ti.i32):
        ti.activate(block, [i, j])

    @ti.kernel
    def deactivate(i: ti.i32, j: ti.i32):
        ti.deactivate(block, [i, j])

    @ti.kernel
    def is_active(i: ti.i32, j: ti.i32) -> ti.i32:
        return ti.is_active(block, [i, j])

    @ti.kernel
    def length(i: ti.i32) -> ti.i32:
        return ti.length(items, i)

    @ti.kernel
    def append(i: ti.i32):
        ti.append(items, i, 1)

    activate(3, 1)
    show.error(activate, 4, 0)
    show.error(deactivate, 0, -1)
    show.error(is_active, 0, 2)
    show.error(length, 3)
    show.error(append, -1)
    show(is_active(3, 1))


@case(debug=True, differs="debug mode on sparse data")
def loops_are_checked(show):
    x, block = blocks()
    x[0, 0] = 1

    @ti.kernel
    def k():
        for i, j in x:
            x[i + 7, j] = 1

    show.error(k)
    show(x[0, 0])


@case(debug=True)
def debug_mode_changes_no_results(show):
    x, block = blocks()
    y = ti.field(ti.i32)
    items = ti.root.dynamic(ti.i, 64, chunk_size=8)
    items.place(y)

    @ti.kernel
    def k() -> ti.i32:
        for i, j in ti.ndrange(8, 4):
            if (i + j) % 3 == 0:
                x[i, j] = i * j
        for i, j in x:
            if x[i, j] > 3:
                ti.append(items, [], x[i, j])
        s = 0
        for i in y:
            s += y[i]
        return s

    show(k(), x.to_numpy())
    block.deactivate_all()
    show(k())


@case(debug=True, differs="what a loop deactivates and reads")
def deactivated_under_a_loop(show):
    x, block = blocks()

    @ti.kernel
    def fill():
        for i, j in ti.ndrange(8, 4):
            x[i, j] = 1

    @ti.kernel
    def k():
        for i, j in x:
            if i == 0 and j == 0:
                for a in range(4):
                    for b in range(2):
                        ti.deactivate(block, [a, b])
            x[i, j] += 1

    fill()
    show.error(k)
    fill()
    show(x.to_numpy().sum() >= 32)


@case(check_out_of_bound=True, differs="`check_out_of_bound` alone")
def bounds_without_debug(show):
    x, block = blocks()

    @ti.kernel
    def k(i: ti.i32, j: ti.i32):
        x[i, j] = 1

    k(7, 3)
    show.error(k, 8, 3)


@case(differs="indices out of range on sparse data")
def out_of_bounds_in_release_mode(show):
    x, block = blocks()
    y = ti.field(ti.i32)
    ti.root.bitmasked(ti.i, 5).place(y)
    z = ti.field(ti.i32)
    ti.root.dynamic(ti.i, 5).place(z)

    @ti.kernel
    def k() -> ti.i32:
        s = 0
        for i in range(-40, 40):
            if i < 0 or i > 7:
                x[i, 0] = 5
                y[i] = 5
                z[i] = 5
                s += x[i, 0] + y[i] + z[i]
        return s

    show(k(), x.to_numpy().sum(), y.to_numpy().sum(), z.to_numpy().sum())


@case(debug=True, differs="`append` to a full list")
def append_to_a_full_list(show):
    x = ti.field(ti.i32, name="x")
    items = ti.root.dynamic(ti.i, 2)
    items.place(x)

    @ti.kernel
    def push(v: ti.i32) -> ti.i32:
        return ti.append(items, [], v)

    show(push(1), push(2))
    show.error(push, 3)
    show(x.to_numpy())
