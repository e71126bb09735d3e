"""ndarrays: made, read, written, copied, and passed to kernels."""

import copy
import pickle

import numpy as np
from harness import case, ti

CLAMP = "clamp"  # as a name: linters take text in annotations for types

SCALARS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64")


@case()
def ndarrays_of_every_type(show):
    @ti.kernel
    def k(x: ti.types.ndarray()):
        for i in x:
            x[i] = ti.cast(i + 1, ti.i32)

    for name in SCALARS:
        x = ti.ndarray(getattr(ti, name), shape=3)
        k(x)
        show(name, x.shape, str(x.dtype), x[2], x.to_numpy())


@case()
def forms_of_shape(show):
    for shape in (3, (3,), [3], (2, 3), np.int64(4), (np.int32(2), 2)):
        show(ti.ndarray(ti.i32, shape).shape)
    x = ti.ndarray(ti.i32, ())
    x[None] = 4
    show(x.shape, x[None], x[()], x.to_numpy())


@case()
def shapes_that_are_none(show):
    for shape in (0, (2, 0), -1, 1.5, (2, 1.5), 2**31, "ab"):
        show.error(ti.ndarray, ti.i32, shape)


@case()
def types_that_are_none(show):
    for kind in (3, "i32", None, np.float32):
        show.error(ti.ndarray, kind, 3)
    show.error(ti.ndarray, ti.types.struct(a=ti.i32), 3)


@case()
def python_types(show):
    show(str(ti.ndarray(int, 3).dtype), str(ti.ndarray(float, 3).dtype))


@case()
def vectors_and_matrices(show):
    v = ti.Vector.ndarray(3, ti.f32, shape=(2, 2))
    v[0, 1] = [1, 2, 3]
    v[1, 1] = ti.Vector([4, 5, 6])
    show(v.shape, v.n, v.element_shape, str(v.dtype), v.to_numpy(), repr(v))
    m = ti.Matrix.ndarray(2, 3, ti.i32, shape=2)
    m[1] = [[1, 2, 3], [4, 5, 6]]
    show(m.shape, m.n, m.m, m.element_shape, m.to_numpy(), repr(m))
    show(m[1][1, 2], m[1][0, 0], v[0, 1][2])
    w = ti.ndarray(ti.math.vec2, shape=3)
    w.fill(2)
    show(w.to_numpy())
    u = ti.ndarray(ti.types.matrix(2, 2, ti.f64), shape=())
    u[None] = [[1, 2], [3, 4]]
    show(u.to_numpy(), u[None][1, 0])
    show(ti.types.vector(2, ti.i32).ndarray(shape=2).to_numpy())


@case(differs="calls that trip over Taichi's own code")
def ndarrays_of_a_matrix_type(show):
    show(ti.types.matrix(2, 2, ti.i32).ndarray(shape=1).to_numpy())


@case()
def elements_are_live_views(show):
    v = ti.Vector.ndarray(2, ti.i32, shape=3)
    a = v[0]
    v[0] = [9, 8]
    show(a[0], a[1])
    v[0][1] = 5
    a[0] = 1
    show(v.to_numpy())


@case()
def reads_and_writes(show):
    x = ti.ndarray(ti.i32, (2, 3))
    x[1, 2] = 5
    x[0, np.int64(1)] = 7
    show(x[1, 2], x[(0, 1)], x.to_numpy())
    f = ti.ndarray(ti.f32, 2)
    f[0] = 0.1
    f[1] = 3
    show(f[0], f[1])


@case()
def wrong_indices(show):
    x = ti.ndarray(ti.i32, (2, 3))
    show.error(lambda: x[0])
    show.error(lambda: x[0, 1, 2])
    show.error(lambda: x[None])
    v = ti.Vector.ndarray(2, ti.i32, shape=3)
    show.error(lambda: v[0, 1, 2])


@case(differs="`x[5, 5]` out of bounds, in Python")
def indices_out_of_bounds(show):
    x = ti.ndarray(ti.i32, (2, 3))
    show.error(lambda: x[2, 0])
    show.error(lambda: x[0, -1])


@case()
def values_that_are_refused(show):
    x = ti.ndarray(ti.i32, 2)

    def store(value):
        x[0] = value

    for value in ("a", None, [1], 1.5):
        show.error(store, value)


@case()
def to_and_from_numpy(show):
    for name in SCALARS:
        x = ti.ndarray(getattr(ti, name), (2, 2))
        array = np.arange(4).reshape(2, 2).astype(x.to_numpy().dtype)
        x.from_numpy(array)
        show(x.to_numpy())
    v = ti.Vector.ndarray(2, ti.f32, 3)
    v.from_numpy(np.arange(6, dtype=np.float32).reshape(3, 2))
    show(v.to_numpy())
    x = ti.ndarray(ti.i32, (2, 2))
    x.from_numpy(np.arange(16, dtype=np.int32).reshape(4, 4)[::2, ::2])
    show(x.to_numpy())


@case()
def wrong_from_numpy(show):
    x = ti.ndarray(ti.i32, (2, 3))
    show.error(x.from_numpy, np.zeros((3, 2), np.int32))
    show.error(x.from_numpy, [[1, 2, 3], [4, 5, 6]])
    v = ti.Vector.ndarray(2, ti.f32, 3)
    show.error(v.from_numpy, np.zeros((3, 3), np.float32))


@case()
def fills_and_copies(show):
    for kind in (ti.i32, ti.u32, ti.f32, ti.f64, ti.i64):
        x = ti.ndarray(kind, 3)
        x.fill(2)
        show(x.to_numpy())
    x, y = ti.ndarray(ti.f32, (2, 2)), ti.ndarray(ti.f32, (2, 2))
    x.fill(1.5)
    y.copy_from(x)
    x.fill(0)
    show(y.to_numpy())
    z = ti.ndarray(ti.i32, (2, 2))
    z.copy_from(y)
    show(z.to_numpy())
    d = copy.deepcopy(y)
    d[0, 0] = 9
    show(y[0, 0], d.to_numpy())
    v = ti.Vector.ndarray(2, ti.f32, 2)
    v.fill([1, 2])
    show(copy.deepcopy(v).to_numpy())
    m = ti.Matrix.ndarray(2, 2, ti.f32, 2)
    m.fill(4)
    show(copy.deepcopy(m).to_numpy())


@case()
def wrong_copies(show):
    x = ti.ndarray(ti.f32, (2, 2))
    show.error(x.copy_from, ti.ndarray(ti.f32, (2, 3)))
    show.error(x.copy_from, np.zeros((2, 2), np.float32))


@case()
def pickling(show):
    x = ti.ndarray(ti.f32, 3)
    show.error(pickle.dumps, x)


@case()
def gradients_of_ndarrays(show):
    x = ti.ndarray(ti.f32, 3, needs_grad=True)
    show(x.grad.shape, x.grad.to_numpy(), ti.ndarray(ti.f32, 3).grad)
    show.error(ti.ndarray, ti.i32, 3, needs_grad=True)


@case()
def ndarrays_do_not_iterate(show):
    show.error(len, ti.ndarray(ti.i32, 3))


@case(differs="`list` of an ndarray")
def lists_of_ndarrays(show):
    show.error(lambda: list(ti.ndarray(ti.i32, 3)))


@case()
def annotations(show):
    @ti.kernel
    def any_array(x: ti.types.ndarray()) -> ti.i32:
        return ti.cast(x[0], ti.i32)

    @ti.kernel
    def typed(x: ti.types.ndarray(dtype=ti.i32, ndim=1)) -> ti.i32:
        return x[0]

    @ti.kernel
    def vectors(x: ti.types.ndarray(dtype=ti.math.vec2)) -> ti.f32:
        return x[0].x + x[0].y

    @ti.kernel
    def matrices(x: ti.types.ndarray(dtype=ti.types.matrix(2, 2, ti.f32), ndim=1)) -> ti.f32:
        return x[0][1, 0] + x[0].sum()

    @ti.kernel
    def short(x: ti.types.NDArray) -> ti.i32:
        return ti.cast(x[0], ti.i32)

    @ti.kernel
    def subscripted(x: ti.types.NDArray[ti.i32, 1]) -> ti.i32:
        return x[0]

    array = np.arange(3, 7, dtype=np.int32)
    mine = ti.ndarray(ti.i32, 4)
    mine.from_numpy(array)
    show(any_array(array), any_array(mine), typed(array), typed(mine))
    show(short(array), short(mine), subscripted(array), subscripted(mine))
    v = ti.Vector.ndarray(2, ti.f32, 2)
    v.fill(3)
    show(vectors(v), vectors(np.ones((4, 2), np.float32)))
    m = ti.Matrix.ndarray(2, 2, ti.f32, 2)
    m.fill(2)
    show(matrices(m), matrices(np.ones((4, 2, 2), np.float32)))


@case()
def wrong_annotations(show):
    show.error(ti.types.ndarray, dtype=ti.f32, ndim=2, boundary="wrap")
    show.error(ti.types.ndarray, "f32")
    show.error(ti.types.ndarray, ndim="2")
    show.error(ti.types.ndarray, element_dim=3)
    show.error(ti.types.ndarray, element_dim=1, element_shape=(2, 2))
    show.error(ti.types.ndarray, field_dim=2)
    show.error(ti.types.ndarray, dtype=ti.math.vec2, element_dim=1)


@case()
def legacy_annotations(show):
    @ti.kernel
    def by_dim(x: ti.types.ndarray(element_dim=1, ndim=1)) -> ti.f32:
        return x[0][0] + x[1][1]

    @ti.kernel
    def by_shape(x: ti.types.ndarray(dtype=ti.f32, element_shape=(2,), ndim=1)) -> ti.f32:
        return x[0][0] + x[1][1]

    array = np.arange(6, dtype=np.float32).reshape(3, 2)
    show(by_dim(array), by_shape(array))


@case()
def arrays_that_do_not_fit(show):
    @ti.kernel
    def two(x: ti.types.ndarray(ndim=2)):
        x[0, 0] = 1

    @ti.kernel
    def typed(x: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        x[0] = 1

    @ti.kernel
    def vectors(x: ti.types.ndarray(dtype=ti.math.vec3, ndim=1)):
        x[0] = 1

    @ti.kernel
    def matrices(x: ti.types.ndarray(dtype=ti.types.matrix(2, 2, ti.f32), ndim=1)):
        x[0] = 1

    show.error(two, ti.ndarray(ti.f32, 3))
    show.error(typed, np.zeros(3, np.float64))
    show.error(typed, np.zeros((3, 3), np.float32))
    show.error(typed, ti.ndarray(ti.f32, (2, 2)))
    show.error(vectors, np.zeros((3, 2), np.float32))
    show.error(vectors, np.zeros(3, np.float32))
    show.error(vectors, ti.Vector.ndarray(2, ti.f32, 3))
    show.error(vectors, ti.ndarray(ti.f32, 3))
    show.error(matrices, np.zeros((3, 2), np.float32))
    show.error(matrices, np.zeros((3, 3, 2), np.float32))


@case(differs="typed arrays")
def element_types_that_do_not_fit(show):
    @ti.kernel
    def vectors(x: ti.types.ndarray(dtype=ti.math.vec2, ndim=1)):
        x[0] = 1

    @ti.kernel
    def typed(x: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        x[0] = 1

    show.error(vectors, np.zeros((3, 2), np.float64))
    show.error(typed, ti.ndarray(ti.f64, 3))

    @ti.kernel
    def two(x: ti.types.ndarray(ndim=2)):
        x[0, 0] = 1

    show.error(two, np.zeros(3, np.float32))


@case()
def values_that_are_no_arrays(show):
    @ti.kernel
    def k(x: ti.types.ndarray()):
        pass

    for value in (3, [1, 2], None, "abc", (1, 2)):
        show.error(k, value)


@case(differs="calls that trip over Taichi's own code")
def fields_for_arrays(show):
    @ti.kernel
    def k(x: ti.types.ndarray()):
        pass

    show.error(k, ti.field(ti.f32, shape=3))


@case()
def shapes_in_kernels(show):
    @ti.kernel
    def k(x: ti.types.ndarray()) -> ti.i32:
        s = 0
        for a in ti.static(range(len(x.shape))):
            s = s * 10 + x.shape[a]
        return s

    show(k(np.zeros((2, 3, 4), np.float32)), k(ti.ndarray(ti.f32, (5, 6))))

    @ti.kernel
    def v(x: ti.types.ndarray(dtype=ti.math.vec3)) -> ti.i32:
        return x.shape[0] * 10 + x[0].n

    show(v(ti.Vector.ndarray(3, ti.f32, 2)))


@case()
def loops_over_ndarrays(show):
    @ti.kernel
    def number(x: ti.types.ndarray(ndim=2)):
        for i, j in x:
            x[i, j] = i * 10 + j

    @ti.kernel
    def grouped(x: ti.types.ndarray(ndim=3)):
        for P in ti.grouped(x):
            x[P] = P[0] * 100 + P[1] * 10 + P[2]

    a = np.zeros((2, 3), np.int32)
    number(a)
    show(a)
    b = ti.ndarray(ti.i32, (2, 2, 2))
    grouped(b)
    show(b.to_numpy())


@case()
def numpy_of_every_type(show):
    @ti.kernel
    def add(x: ti.types.ndarray()):
        for i in x:
            x[i] += ti.cast(1, ti.i8)

    for kind in "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64".split():
        array = np.arange(3).astype(kind)
        add(array)
        show(array)


@case()
def numpy_bools_and_halves(show):
    @ti.kernel
    def flip(x: ti.types.ndarray()):
        for i in x:
            x[i] = not x[i]

    array = np.array([True, False])
    flip(array)
    show(array)

    @ti.kernel
    def double(x: ti.types.ndarray()):
        for i in x:
            x[i] = x[i] * ti.cast(2, ti.f16)

    half = np.array([1.5, 2], np.float16)
    double(half)
    show(half)


@case()
def numpy_types_that_have_no_match(show):
    @ti.kernel
    def k(x: ti.types.ndarray()):
        pass

    show.error(k, np.zeros(2, np.complex64))
    show.error(k, np.array(["a", "b"]))
    show.error(k, np.array([object()]))
    show.error(k, np.zeros(2, np.longdouble))


@case()
def fortran_order(show):
    @ti.kernel
    def number(x: ti.types.ndarray()):
        for i, j in x:
            x[i, j] += i * 10 + j

    array = np.asfortranarray(np.ones((2, 3), np.float32))
    number(array)
    show(array, bool(array.flags.f_contiguous))
    number(array.T)
    show(array)


@case()
def strides_that_are_refused(show):
    @ti.kernel
    def k(x: ti.types.ndarray()):
        for P in ti.grouped(x):
            x[P] += 1

    big = np.zeros((4, 6), np.float32)
    show.error(k, big[::2])
    show.error(k, big[:, ::2])
    show.error(k, big[:, 1:3])
    show.error(k, np.zeros(4, np.float32)[::-1])


@case()
def arrays_of_odd_classes(show):
    @ti.kernel
    def k(x: ti.types.ndarray(dtype=ti.f32, ndim=2)):
        for P in ti.grouped(x):
            x[P] += 1

    m = np.matrix([[1, 2], [3, 4]], np.float32)
    k(m)
    show(np.asarray(m))
    masked = np.ma.masked_array(np.zeros((2, 2), np.float32))
    k(masked)
    show(np.asarray(masked))


@case(differs="a read-only NumPy array")
def read_only_arrays(show):
    @ti.kernel
    def write(x: ti.types.ndarray()):
        x[0] = 1

    array = np.zeros(2, np.float32)
    array.flags.writeable = False
    show.error(write, array)


@case(differs="an array of another library with an axis of 2³¹ elements or more")
def arrays_of_more_indices_than_kernels_count(show):
    @ti.kernel
    def count(x: ti.types.ndarray()) -> ti.i32:
        return x.shape[0]

    show.error(count, np.zeros((1 << 31, 0), np.float32))
    show(count(np.zeros(((1 << 31) - 1, 0), np.float32)))


@case()
def reading_read_only_arrays(show):
    @ti.kernel
    def read(x: ti.types.ndarray()) -> ti.f32:
        return x[0] + x[1]

    array = np.ones(2, np.float32)
    array.flags.writeable = False
    show(read(array))


@case()
def one_array_twice(show):
    @ti.kernel
    def k(x: ti.types.ndarray(), y: ti.types.ndarray()):
        for i in range(3):
            x[i] = y[i] + 1
            y[i] = x[i] * 2

    array = np.zeros(4, np.int32)
    k(array, array)
    show(array)
    mine = ti.ndarray(ti.i32, 4)
    k(mine, mine)
    show(mine.to_numpy())
    both = np.zeros(6, np.int32)
    k(both[:4], both[2:])
    show(both)


@case()
def arrays_without_elements(show):
    @ti.kernel
    def k(x: ti.types.ndarray(ndim=1)) -> ti.i32:
        n = 0
        for i in x:
            n += 1
        return n + x.shape[0]

    show(k(np.zeros(0, np.float32)))


@case()
def arrays_without_axes(show):
    @ti.kernel
    def k(x: ti.types.ndarray(ndim=0)):
        x[None] += 3

    array = np.array(4, np.int32)
    k(array)
    show(array)
    mine = ti.ndarray(ti.i32, ())
    k(mine)
    show(mine[None])


@case()
def clamped_indices(show):
    @ti.kernel
    def k(x: ti.types.ndarray(boundary=CLAMP), i: ti.i32, j: ti.i32) -> ti.i32:
        return x[i, j]

    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    show(k(array, 0, 0), k(array, -5, 1), k(array, 9, 9), k(array, 1, -1))

    @ti.kernel
    def blur(x: ti.types.ndarray(boundary=CLAMP), y: ti.types.ndarray()):
        for i in y:
            y[i] = x[i - 1] + x[i] + x[i + 1]

    x, y = np.arange(5, dtype=np.int32), np.zeros(5, np.int32)
    blur(x, y)
    show(y)


@case()
def indices_in_kernels(show):
    @ti.kernel
    def wrong(x: ti.types.ndarray(ndim=2)):
        x[0] = 1

    @ti.kernel
    def also_wrong(x: ti.types.ndarray(ndim=1)):
        x[0, 1] = 1

    show.error(wrong, np.zeros((2, 2), np.float32))
    show.error(also_wrong, np.zeros(2, np.float32))


@case()
def negative_indices(show):
    @ti.kernel
    def literal(x: ti.types.ndarray()) -> ti.f32:
        return x[-1]

    @ti.kernel
    def clamped(x: ti.types.ndarray(boundary=CLAMP)) -> ti.f32:
        return x[0, -1]

    show.error(literal, np.zeros(3, np.float32))
    show.error(clamped, np.zeros((3, 3), np.float32))


@case()
def misaligned_arrays(show):
    @ti.kernel
    def total(x: ti.types.ndarray()) -> ti.f32:
        s = 0.0
        for i in x:
            s += x[i]
        return s

    array = np.frombuffer(b"\0" + np.arange(4, dtype=np.float32).tobytes(), np.uint8)[1:]
    show(total(array.view(np.float32)))


@case()
def vectors_in_kernels(show):
    @ti.kernel
    def k(x: ti.types.ndarray(dtype=ti.math.vec3, ndim=1)):
        for i in x:
            x[i] = ti.math.vec3(i, i + 1, i + 2)
            x[i].y += 10
            x[i][2] *= 2

    v = ti.Vector.ndarray(3, ti.f32, 2)
    k(v)
    show(v.to_numpy())
    array = np.zeros((2, 3), np.float32)
    k(array)
    show(array)


@case()
def ndarrays_of_scalars_for_vectors(show):
    @ti.kernel
    def k(x: ti.types.ndarray()) -> ti.f32:
        return x[0, 1]

    show(k(np.ones((2, 2), np.float32)), k(ti.ndarray(ti.f32, (2, 2))))


@case()
def ndarrays_given_to_functions(show):
    @ti.func
    def first(x: ti.template(), i):
        return x[i] + x.shape[0]

    @ti.func
    def write(x: ti.template(), value):
        x[1] = value

    @ti.kernel
    def k(x: ti.types.ndarray()) -> ti.f32:
        write(x, 5)
        return first(x, 0) + first(x, 1)

    show(k(np.ones(3, np.float32)))


@case(differs="calls that trip over Taichi's own code")
def ndarrays_given_to_parameters_without_annotation(show):
    @ti.func
    def first(x, i):
        return x[i] + x.shape[0]

    @ti.kernel
    def k(x: ti.types.ndarray()) -> ti.f32:
        return first(x, 0)

    show(k(np.ones(3, np.float32)))


@case()
def ndarrays_as_template_arguments(show):
    @ti.kernel
    def k(x: ti.template()):
        x[0] = 1

    show.error(k, ti.ndarray(ti.f32, 3))


@case()
def many_dimensions(show):
    @ti.kernel
    def k(x: ti.types.ndarray(ndim=6)):
        for P in ti.grouped(x):
            x[P] = P.sum()

    array = np.zeros((2, 1, 2, 1, 2, 2), np.int32)
    k(array)
    show(array)


@case()
def ndarrays_survive_kernels_and_shapes_change(show):
    @ti.kernel
    def total(x: ti.types.ndarray()) -> ti.f32:
        s = 0.0
        for i in x:
            s += x[i]
        return s

    for n in (1, 10, 100, 1000):
        show(total(np.ones(n, np.float32)))


@case()
def an_ndarray_after_init(show):
    x = ti.ndarray(ti.i32, 3)
    x[1] = 4
    show(x[1], x.to_numpy())


@case(differs="calls that trip over Taichi's own code")
def struct_ndarrays(show):
    s = ti.types.struct(a=ti.i32, b=ti.f32)
    show.error(lambda: s.ndarray(shape=3))


@case()
def numbers_of_other_types_in_vectors_and_matrices(show):
    @ti.kernel
    def matrices(x: ti.types.ndarray(dtype=ti.types.matrix(2, 2, ti.f32), ndim=1)) -> ti.f32:
        x[0][0, 0] += 1.75
        return x[0][0, 1]

    @ti.kernel
    def vectors(x: ti.types.ndarray(dtype=ti.math.vec3)) -> ti.f32:
        return x[1].y

    for dtype in (np.int32, np.float64, np.uint8, np.int64, np.float16):
        m = np.arange(8).reshape(2, 2, 2).astype(dtype)
        show(matrices(m), m, vectors(np.arange(6).reshape(2, 3).astype(dtype)))


@case()
def shapes_of_elements(show):
    @ti.kernel
    def rows(a: ti.types.ndarray()) -> ti.i32:
        count = 0
        if ti.static(a.element_shape() == [2, 3]):
            count = 2
        return count

    show(rows(ti.Matrix.ndarray(2, 3, ti.f32, 4)), rows(ti.ndarray(ti.f32, 4)))
