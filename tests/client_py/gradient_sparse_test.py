"""Gradients of cells that are inactive: reads of them are constants, and nothing is kept there."""

N = 6


def test_a_loop_over_another_tree(ti):
    x, y = ti.field(ti.f64), ti.field(ti.f64)
    z, seen = ti.field(ti.f64, N, needs_grad=True), ti.field(ti.f64, N)
    ti.root.pointer(ti.i, 2).dense(ti.i, 3).place(x, x.grad)
    ti.root.pointer(ti.i, N).place(y)

    @ti.kernel
    def copy():
        for i in y:
            z[i] = x[i]

    @ti.kernel
    def look():
        for i in range(N):
            seen[i] = x.grad[i]

    for i in range(N):
        y[i] = 1.0
    x[4] = 1.0  # the block of 0, 1, 2 stays inactive
    copy()
    z.grad.fill(7)
    copy.grad()
    look()
    expected = [0, 0, 0, 7, 7, 7]
    assert [x.grad[i] for i in range(N)] == expected
    assert seen.to_numpy().tolist() == expected
    assert x.grad.to_numpy().tolist() == expected


def test_bitmasked_cells(ti):
    x = ti.field(ti.f32)
    ti.root.bitmasked(ti.i, 2).place(x, x.grad)
    loss = ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def k():
        loss[None] += 3 * x[0] + x[1]

    x[1] = 1.0
    for _ in range(2):
        with ti.ad.Tape(loss):
            k()
        assert (x.grad[0], x.grad[1]) == (0, 1)
    x[0] = 0.0  # activates the cell
    assert x.grad[0] == 0
    with ti.ad.Tape(loss):
        k()
    assert (x.grad[0], x.grad[1]) == (3, 1)
