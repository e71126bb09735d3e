"""Fields in kernels: shapes, indices, and what is for Python alone."""

import numpy as np
from harness import case, ti


@case()
def equal_fields_in_kernels(show):
    x = ti.field(ti.i32, shape=4)
    y = ti.field(ti.i32, shape=4)

    @ti.kernel
    def copy_to(a: ti.template(), b: ti.template()):
        for i in a:
            b[i] = a[i] + 1

    copy_to(x, y)
    copy_to(y, x)
    copy_to(x, x)
    show(x.to_numpy(), y.to_numpy())


@case()
def what_is_for_python_only(show):
    x = ti.field(ti.i32, shape=3)
    v = ti.Vector.field(2, ti.i32, shape=3)

    def read():
        return x[0]

    def write():
        v[0] = [1, 2]

    @ti.kernel
    def reads() -> ti.i32:
        return read()

    @ti.kernel
    def writes():
        write()

    @ti.kernel
    def copies():
        x.to_numpy()

    @ti.kernel
    def makes():
        y = ti.field(ti.i32, shape=3)  # noqa: F841

    @ti.kernel
    def makes_arrays():
        y = ti.ndarray(ti.i32, 3)  # noqa: F841

    for k in (reads, writes, copies, makes, makes_arrays):
        show.error(k)
    show(x[0], v[0].to_numpy())


@case()
def printing_a_field_in_a_kernel(show):
    x = ti.field(ti.i32, shape=3)

    @ti.kernel
    def k():
        print(x)

    show.error(k)


@case()
def shapes_in_kernels(show):
    x = ti.field(ti.i32, shape=(3, 5))
    v = ti.Vector.field(4, ti.i32, shape=7)

    @ti.kernel
    def k() -> ti.i32:
        return x.shape[0] * 1000 + x.shape[1] * 100 + v.shape[0] * 10 + v.n

    show(k())


@case()
def extents_in_arrays(show):
    pair = ti.types.struct(a=ti.i32)
    several = [np.array([2, 3]), np.array([2, 3], np.uint8), ti.Vector([2, 3]), range(2, 4), [2, 3]]
    for shape in (*several, np.array([4]), np.int64(4), (2, np.int32(3))):
        field = ti.field(ti.i32, shape=shape)
        vectors = ti.Vector.field(2, ti.f32, shape=shape)
        arrays = ti.ndarray(ti.i32, shape), ti.Vector.ndarray(2, ti.i32, shape=shape)
        show(field.shape, vectors.shape, pair.field(shape=shape).shape)
        show([[int(extent) for extent in array.shape] for array in arrays])
    for shape in several:
        dense, pointer = ti.root.dense(ti.ij, shape), ti.root.pointer(ti.ij, shape)
        x, y = ti.field(ti.i32), ti.field(ti.i32)
        dense.place(x, offset=np.array([1, -1]))
        pointer.place(y)
        x[1, -1] = y[1, 2] = 7
        show(dense.shape, pointer.shape, x[1, -1], y[1, 2])
    shifted = ti.field(ti.i32, shape=np.array([2, 3]), offset=np.array([-1, 5]))
    shifted[-1, 7] = 3
    show(shifted.to_numpy())


@case()
def extents_in_arrays_of_floats(show):
    show.error(lambda: ti.field(ti.i32, shape=np.array([2.0, 3.0])))
    show.error(lambda: ti.root.dense(ti.ij, np.array([2.0, 3.0])))


@case(differs="`from_numpy` of another shape")
def rows_for_columns(show):
    numbers = np.arange(12, dtype=np.float32)
    for field in (
        ti.Vector.field(3, ti.f32, (2, 2)),
        ti.Matrix.field(3, 1, ti.f32, (2, 2)),
        ti.Matrix.field(1, 3, ti.f32, (2, 2)),
    ):
        for element in ((3,), (3, 1), (1, 3)):
            field.fill(0)
            field.from_numpy(numbers.reshape(2, 2, *element))
            show(field.to_numpy(keep_dims=True).ravel())
        show.error(field.from_numpy, numbers.reshape(2, 2, 3, 1, 1))
        show.error(field.from_numpy, numbers.reshape(4, 3))


@case()
def indices_of_narrow_integers_wrap(show):
    signed = ti.field(ti.i32, 256, offset=-128)
    unsigned, long = ti.field(ti.i32, 256), ti.field(ti.i32, 70000, offset=-35000)

    @ti.kernel
    def fill(n: ti.i32):
        for i in range(300):
            signed[ti.cast(i, ti.i8)] += i
            unsigned[ti.cast(i, ti.u8)] += i
        for i in range(n):
            signed[ti.cast(i, ti.i8) + ti.cast(5, ti.i8)] += 1000 * i
            long[ti.cast(i * 200, ti.i16) + ti.cast(500, ti.i16)] += i
        for i in long:
            if i > 34000:
                long[ti.cast(i, ti.i16)] -= 1

    fill(300)
    for field in signed, unsigned, long:
        show(field.to_numpy().sum(), (field.to_numpy() * np.arange(field.shape[0])).sum())
    show(signed[-128], signed[127], unsigned[43], long[-31036])


@case()
def sums_of_indices_with_large_numbers(show):
    x = ti.field(ti.i32, 100)

    @ti.kernel
    def fill():
        for i in range(-(2**31), -(2**31) + 100):
            x[(i + 2147483647) + 1] = i % 7

    fill()
    show(x.to_numpy().sum(), x[0], x[99])


@case()
def each_of_many_fields_has_its_own_elements(show):
    # Loads and stores of more memories than one list of alias scopes names, in an order that shows
    # a load that moved over a store to the same field, or a store that moved over a load.
    count, steps = 150, 300
    fields = [ti.field(ti.i32, 5) for _ in range(count)]
    expected = np.arange(count * 5, dtype=np.int32).reshape(count, 5)
    for f, row in zip(fields, expected):
        f.from_numpy(row)

    @ti.kernel
    def mix():
        ti.loop_config(serialize=True)
        for i in range(5):
            for s in ti.static(range(steps)):
                fields[s * 7 % count][i] = fields[s * 13 % count][i] * 3 + s
                fields[s * s % count][(i + 1) % 5] -= fields[s * 7 % count][i]

    mix()
    for i in range(5):
        for s in range(steps):
            expected[s * 7 % count, i] = expected[s * 13 % count, i] * 3 + s
            expected[s * s % count, (i + 1) % 5] -= expected[s * 7 % count, i]
    wrong = [n for n, f in enumerate(fields) if not np.array_equal(f.to_numpy(), expected[n])]
    show(wrong, expected.sum())


@case()
def guarded_indices_that_wrap(show):
    # A guard sees what 32 bits hold of a product or sum, as of 64 times the integer that a NaN
    # becomes. The access is to that element.
    n = 100
    x, out = ti.field(ti.i32, 256), ti.field(ti.i32, (n, 4))
    for i in range(256):
        x[i] = i

    @ti.func
    def at(i):
        number = -1
        if 0 <= i < 256:
            number = x[i]
        return number

    @ti.kernel
    def read(k: ti.i32, number: ti.i32, few: ti.i32):
        for i in range(few):
            out[i, 0] = at(k * 64 + i)
            out[i, 1] = at(k * 2 + i * 2)
            out[i, 2] = at((i - k) - (k + number))
            out[i, 3] = at(i * 1103515245 + number)

    read(-(2**31), 5, n)
    i = np.arange(n, dtype=np.int64)
    wanted = [i, i * 2, i - 5, (i * 1103515245 + 5) % 2**32]
    wanted = np.stack([np.where((w >= 0) & (w < 256), w, -1) for w in wanted], axis=1)
    show(np.argwhere(out.to_numpy() != wanted).tolist(), out.to_numpy().sum(axis=0).tolist())
