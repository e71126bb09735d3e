"""Arrays as arguments: NumPy arrays without a copy, ndarrays, checks of element type and shape."""

import numpy as np
import pytest


@pytest.fixture
def add_one(ti):
    @ti.kernel
    def kernel(a: ti.types.ndarray()):
        for I in ti.grouped(a):  # noqa: E741
            a[I] += 1

    return kernel


DTYPES = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64".split()


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_arrays_are_changed_in_place(ti, add_one, dtype):
    a = np.arange(6, dtype=dtype).reshape(2, 3)
    add_one(a)
    assert a.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_shapes_are_not_part_of_the_instance(ti, add_one):
    for shape in ((3,), (7,), (2, 2), (4, 5)):
        a = np.zeros(shape, np.float32)
        add_one(a)
        assert (a == 1).all()
    assert add_one.num_instances == 2  # one per number of axes


def test_strides(ti, add_one):
    a = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    add_one(a)
    assert a.tolist() == [[1, 2, 3], [4, 5, 6]] and a.flags.f_contiguous
    with pytest.raises(ValueError, match="Non contiguous numpy arrays are not supported"):
        add_one(np.zeros((4, 4))[:, ::2])
    row = np.zeros((4, 4))[1]
    add_one(row)
    assert row.tolist() == [1] * 4


def test_read_only_arrays(ti, add_one):
    @ti.kernel
    def first(a: ti.types.ndarray()) -> ti.f64:
        return a[0]

    a = np.ones(3)
    a.flags.writeable = False
    assert first(a) == 1
    with pytest.raises(ValueError, match="read-only, and the kernel writes"):
        add_one(a)


@pytest.mark.parametrize("bad", [[1, 2], 1, None, "a", np.zeros(3, complex), np.zeros(3, ">f4")])
def test_objects_that_are_not_arrays(ti, add_one, bad):
    # A wrong dtype raises the reference's class.
    with pytest.raises((TypeError, AssertionError), match="argument a"):
        add_one(bad)


def test_annotations_are_checked(ti):
    @ti.kernel
    def vectors(a: ti.types.ndarray(dtype=ti.math.vec3, ndim=1)):
        for i in a:
            a[i] += ti.Vector([1.0, 2.0, 3.0])

    @ti.kernel
    def plane(a: ti.types.ndarray(dtype=ti.f32, ndim=2)):
        for i, j in a:
            a[i, j] += 1

    data = np.zeros((2, 3), np.float32)
    vectors(data)
    assert data.tolist() == [[1, 2, 3]] * 2
    float32 = np.float32
    for kernel, bad, message in (
        (vectors, np.zeros((3, 2), float32), r"required element_shape=\(3,\)"),
        (vectors, np.zeros(3, float32), "required array has ndim=1 element_dim=1"),
        (plane, np.zeros(3, float32), "required array has ndim=2"),
        (plane, np.zeros((3, 2)), "required array has dtype=f32, array with dtype=f64"),
        (plane, ti.ndarray(ti.f32, 3), "required ndim=2, but 1d ndarray"),
        (plane, ti.ndarray(ti.f64, (3, 3)), "Expect element type f32 for argument a"),
        (vectors, ti.Vector.ndarray(2, ti.f32, 3), "required element type: Vector"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            kernel(bad)


def test_own_ndarrays(ti, add_one):
    a = ti.ndarray(ti.i32, (2, 3))
    a[1, 2] = 5
    add_one(a)
    assert a.to_numpy().tolist() == [[1, 1, 1], [1, 1, 6]] and a.shape == (2, 3)
    with pytest.raises(IndexError, match="axis 0 .*0 <= index < 2"):
        a[2, 0]
    with pytest.raises(IndexError, match="2d ndarray indexed with 1d"):
        a[0]
    b = ti.ndarray(ti.i32, (2, 3))
    b.copy_from(a)
    b.fill(7)
    assert a[1, 2] == 6 and b[0, 0] == 7
    b.from_numpy(np.arange(6).reshape(2, 3))
    assert b[1, 0] == 3
    with pytest.raises(RuntimeError, match="not a valid shape"):
        ti.ndarray(ti.f32, (2, 0))


def test_vector_ndarrays(ti):
    @ti.kernel
    def scale(a: ti.types.ndarray(), s: ti.f32):
        for I in ti.grouped(a):  # noqa: E741
            a[I] *= s

    a = ti.Vector.ndarray(2, ti.f32, 3)
    a[1] = [1, 2]
    scale(a, 3)
    assert a.to_numpy().tolist() == [[0, 0], [3, 6], [0, 0]]
    assert a[1].to_list() == [3, 6] and a.element_shape == (2,)
    # Scalars in two axes are another instance.
    b = np.ones((3, 2), np.float32)
    scale(b, 3)
    assert (b == 3).all() and scale.num_instances == 2


@pytest.mark.parametrize("number", (0, -1))
def test_elements_have_components(ti, number):
    vector = ti.types.vector(number, ti.f32)
    for make in (
        lambda: ti.ndarray(vector, 3),
        lambda: ti.Vector.ndarray(number, ti.f32, 3),
        lambda: ti.Matrix.ndarray(2, number, ti.f32, 3),
        lambda: ti.field(vector, 3),
        lambda: ti.Vector.field(number, ti.f32, 3),
        lambda: ti.Matrix.field(number, 2, ti.f32),
        lambda: ti.Struct.field({"a": vector}, shape=3),
    ):
        with pytest.raises(ValueError, match="has no components: each number must be at least 1"):
            make()


def test_arrays_may_overlap(ti):
    @ti.kernel
    def shift(a: ti.types.ndarray(), b: ti.types.ndarray()):
        ti.loop_config(serialize=True)
        for i in range(a.shape[0] - 1):
            b[i] = a[i] + 1

    memory = np.zeros(8, np.int32)
    shift(memory[:-1], memory[1:])
    assert memory.tolist() == list(range(7)) + [0]


def test_arrays_that_are_one_and_read_by_data(ti):
    """Each iteration reads the cell that it writes, through another argument."""

    @ti.kernel
    def double(order: ti.types.ndarray(), x: ti.types.ndarray(), y: ti.types.ndarray()):
        for i in y:
            y[i] = x[order[i]] * 2 + x[order[i]] % 3

    @ti.kernel
    def rotate(order: ti.types.ndarray(), x: ti.types.ndarray(), y: ti.types.ndarray()):
        for i in range(order.shape[0]):
            y[i, 0] = x[order[i], 1]
            y[i, 1] = x[order[i], 0] + y[i, 0]

    for n in 1, 9, 64, 203:
        order = np.arange(n, dtype=np.int32)
        x = np.random.default_rng(n).integers(0, 99, n).astype(np.int32)
        want = x * 2 + x % 3
        double(order, x, x)
        np.testing.assert_array_equal(x, want)
        # The second store reads what the first one stored.
        pairs = np.random.default_rng(n).integers(0, 99, (n, 2)).astype(np.int32)
        want = np.stack([pairs[:, 1], 2 * pairs[:, 1]], axis=1)
        rotate(order, pairs, pairs)
        np.testing.assert_array_equal(pairs, want)
        # Another order, of arrays that are apart.
        order = np.random.default_rng(n).permutation(n).astype(np.int32)
        x, y = np.arange(n, dtype=np.int32), np.zeros(n, np.int32)
        double(order, x, y)
        np.testing.assert_array_equal(y, order * 2 + order % 3)


def test_updates_of_arrays_that_may_overlap(ti):
    """Two arrays that a loop updates: apart, one, overlapping, and of other shapes."""

    @ti.kernel
    def update(x: ti.types.ndarray(), y: ti.types.ndarray()):
        for i in x:
            for _ in range(3):
                x[i] += 1
                y[i] += 2

    @ti.kernel
    def update_pairs(x: ti.types.ndarray(), y: ti.types.ndarray()):
        for i in range(x.shape[0]):
            for k in range(x.shape[1]):
                x[i, k] += 1
                y[i, k % 2] += y[i, k % 2] * 0 + 1

    @ti.kernel
    def move(p: ti.types.ndarray(), v: ti.types.ndarray(), n: ti.i32):
        for i in range(n):
            for k in ti.static(range(3)):
                v[i, k] -= 2
                p[i, k] += v[i, k]

    n = 50_000
    for _ in range(5):
        memory = np.zeros(n + 1, np.int32)
        update(memory[1:], memory[:-1])
        assert memory[0] == 6 and memory[-1] == 3 and (memory[1:-1] == 9).all()
        update(memory[:-1], memory[:-1])
        assert memory[0] == 15 and (memory[1:-1] == 18).all()
        halves = np.zeros(2 * n, np.int32)
        update(halves[:n], halves[n:])
        assert (halves[:n] == 3).all() and (halves[n:] == 6).all()
        # One memory in two shapes: equal indices are different elements.
        one = np.zeros(6 * n, np.int32)
        update_pairs(one.reshape(n, 6), one[: 2 * n].reshape(n, 2))
        assert (one[: 2 * n] == 4).all() and (one[2 * n :] == 1).all()
        p, v = np.zeros((n, 3), np.float32), np.ones((n, 3), np.float32)
        move(p, v, n)
        move(p, v, n - 1)
        assert (v[:-1] == -3).all() and (p[:-1] == -4).all() and (p[-1] == -1).all()
