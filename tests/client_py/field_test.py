"""Fields: elements, whole copies, layouts, errors. No kernel is compiled here."""

import numpy as np
import pytest

SCALARS = "u1 i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64".split()
LAYOUTS = {
    "plain": dict(shape=(3, 4)),
    "column_major": dict(shape=(3, 4), order="ji"),
    "offset": dict(shape=(3, 4), offset=(-1, 2)),
    "one_axis": dict(shape=7),
    "zero_axes": dict(shape=()),
}


@pytest.mark.parametrize("name", SCALARS)
def test_every_scalar_type_reads_what_was_written(ti, name):
    x = ti.field(getattr(ti, name), shape=4)
    x[1] = 1
    assert x[1] == 1 and x[0] == 0
    assert type(x[1]) is (float if name[0] == "f" else int)
    assert x.to_numpy().dtype.name == x.dtype.numpy_name


def test_conversions_of_element_writes(ti):
    x, u, f = ti.field(ti.i32, ()), ti.field(ti.u8, ()), ti.field(ti.f32, ())
    for value, as_i32, as_u8 in ((2**31, -(2**31), 0), (-1, -1, 255), (True, 1, 1)):
        x[None], u[None] = value, value
        assert (x[None], u[None]) == (as_i32, as_u8)
    for value in (np.int64(3), np.float32(3.7), np.array(3)):
        x[None] = value
        assert x[None] == 3
    f[None] = 0.1
    assert f[None] == np.float32(0.1)
    for value in (1.5, np.float64(2.5), "a", None, 2**64):
        with pytest.raises(TypeError, match="cannot be an element|does not fit"):
            x[None] = value
    assert x[None] == 3  # a refused write changes nothing


@pytest.mark.parametrize("value", [0.0, -0.0, 1e-8, 6.1e-5, 65504.0, 65520.0, 1e9, -2.5, 1 / 3])
def test_half_precision_rounds_as_numpy(ti, value):
    h = ti.field(ti.f16, ())
    h[None] = value
    with np.errstate(over="ignore"):
        assert np.float16(value) == h[None]
        assert np.signbit(np.float16(value)) == np.signbit(h[None])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", ["scalar", "vector", "matrix", "soa"])
def test_copies_agree_with_elements(ti, layout, kind):
    options = LAYOUTS[layout]
    if kind == "scalar":
        x = ti.field(ti.f32, **options)
    elif kind == "vector":
        x = ti.Vector.field(3, ti.f32, **options)
    else:
        soa = {"layout": ti.Layout.SOA} if kind == "soa" else {}
        x = ti.Matrix.field(2, 3, ti.f32, **options, **soa)
    full = x.shape + x.element_shape
    data = np.arange(np.prod(full, dtype=int), dtype=np.float32).reshape(full)
    x.from_numpy(data)
    assert np.array_equal(x.to_numpy(), data)
    offset = options.get("offset", (0,) * len(x.shape))
    for index in np.ndindex(*x.shape):
        key = tuple(i + o for i, o in zip(index, offset))
        element = x[key]
        assert np.array_equal(np.array(element), data[index])
    x.fill(2)
    assert (x.to_numpy() == 2).all()


def test_nested_dense_levels(ti):
    x = ti.field(ti.i32)
    y = ti.field(ti.i64)
    ti.root.dense(ti.ij, (2, 3)).dense(ti.ij, (4, 2)).place(x, y)
    assert x.shape == (8, 6)
    data = np.arange(48, dtype=np.int32).reshape(8, 6)
    x.from_numpy(data)
    y.from_numpy(data.astype(np.int64) * 2)
    assert np.array_equal(x.to_numpy(), data)
    assert all(x[i, j] == data[i, j] for i in range(8) for j in range(6))
    assert np.array_equal(y.to_numpy(), data * 2)


def test_index_errors_name_axis_and_bounds(ti):
    x = ti.field(ti.f32, shape=(2, 3), name="heat")
    for key, axis in (((5, 0), 0), ((-1, 0), 0), ((0, 3), 1), ((0, 2**70), 1)):
        with pytest.raises(IndexError, match=rf"axis {axis} of field 'heat'.*0 <= index < "):
            x[key]
        with pytest.raises(IndexError):
            x[key] = 1
    with pytest.raises(AssertionError, match="Slicing is not supported"):
        x[0]
    with pytest.raises(TypeError, match="slicing a ti.field is not supported"):
        x[0, :]


def test_vector_elements_are_live_views(ti):
    v = ti.Vector.field(3, ti.f32, shape=2)
    a = v[0]
    v[0] = [9, 8, 7]
    assert list(a) == [9, 8, 7]
    v[0].x = 3
    v[0][1] = 5
    assert v.to_numpy()[0].tolist() == [3, 5, 7]
    copy = v[0] + 1
    v[0][2] = 0
    assert copy.to_list() == [4, 6, 8]
    assert v[0][-1] == 0 and type(v[0][0]) is float
    with pytest.raises(IndexError):
        v[0][3]


@pytest.mark.parametrize("value", [(1, 2), [1, 2], np.array([1, 2]), "vector"])
def test_vector_elements_take_sequences(ti, value):
    v = ti.Vector.field(2, ti.f64, shape=())
    v[None] = ti.Vector([1, 2]) if isinstance(value, str) else value
    assert v[None].to_list() == [1, 2]
    with pytest.raises(ValueError, match="is not of shape"):
        v[None] = [1, 2, 3]


def test_matrix_elements(ti):
    m = ti.Matrix.field(2, 2, ti.i32, shape=2)
    m[1] = [[1, 2], [3, 4]]
    assert m[1][1, 0] == 3 and m[1][0, -1] == 2
    m[1][0, 0] = 7
    assert m.to_numpy().tolist() == [[[0, 0], [0, 0]], [[7, 2], [3, 4]]]
    assert m.get_scalar_field(1, 1)[1] == 4


def test_copy_from_and_fill(ti):
    a, b = ti.field(ti.i32, (2, 2)), ti.field(ti.f32, (2, 2), order="ji")
    a.from_numpy(np.array([[1, 2], [3, 4]]))
    b.copy_from(a)
    assert np.array_equal(b.to_numpy(), a.to_numpy())
    with pytest.raises(ValueError, match="does not match"):
        a.copy_from(ti.field(ti.i32, 3))
    v = ti.Vector.field(2, ti.i32, 3)
    v.fill([1, 2])
    assert v.to_numpy().tolist() == [[1, 2]] * 3


def test_unplaced_field_says_where_it_was_made(ti):
    x = ti.field(ti.f32)
    assert str(x) == "<Field: Definition of this field is incomplete>"
    for use in (lambda: x[0], lambda: x.shape, lambda: x.to_numpy()):
        with pytest.raises(RuntimeError, match="not placed:(.|\n)*field_test.py"):
            use()


def test_stale_fields_say_so(ti):
    x = ti.field(ti.f32, shape=2, name="old")
    x[0] = 1
    y = ti.field(ti.f32, shape=2)  # not accessed before the reset
    ti.init(ti.cpu)
    for stale in (x, y):
        with pytest.raises(RuntimeError, match="is gone"):
            stale[0]
        with pytest.raises(RuntimeError, match="is gone"):
            stale[0] = 1
    with pytest.raises(RuntimeError, match="field 'old' .*is gone"):
        x.to_numpy()


def test_fields_need_init(ti):
    ti.reset()
    with pytest.raises(RuntimeError, match="maybe you forgot to call `ti.init"):
        ti.field(ti.f32, 3)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda ti: ti.field(ti.f32, (2, 3), order="jk"), "Invalid axis k"),
        (lambda ti: ti.field(ti.f32, (2, 3), order="jj"), "axes in order must be different"),
        (lambda ti: ti.field(ti.f32, (2, 3), order="i"), "shape and order must be the same"),
        (lambda ti: ti.field(ti.f32, -1), "should be positive, got -1 in dimension 0"),
        (lambda ti: ti.field(ti.f32, (2, 3), offset=(1,)), r"must be the same \(2 != 1\)"),
        (lambda ti: ti.field(ti.f32, offset=1), "shape cannot be None when offset is set"),
        (lambda ti: ti.field(ti.f32, 2.5), "must be an integer"),
        (lambda ti: ti.field("g32", 3), "Invalid data type"),
        (lambda ti: ti.field(ti.i32, 3, needs_grad=True), "is not supported for field with"),
    ],
)
def test_bad_declarations(ti, make, message):
    with pytest.raises((RuntimeError, SyntaxError, TypeError, ValueError), match=message):
        make(ti)


def test_gradient_fields_have_memory(ti):
    x = ti.field(ti.f32, 3, needs_grad=True)
    x.grad[1] = 2
    assert x.grad.to_numpy().tolist() == [0, 2, 0] and x[1] == 0
    y = ti.field(ti.f32)
    ti.root.dense(ti.i, 2).place(y)
    ti.root.lazy_grad()
    y.grad[0] = 4
    assert y.grad[0] == 4 and y[0] == 0
    assert ti.field(ti.i32, 3).grad is None


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", ["scalar", "vector", "matrix", "soa"])
def test_kernels_and_python_agree_on_layouts(ti, layout, kind):
    options = LAYOUTS[layout]
    shape = options["shape"]
    n = len(shape) if isinstance(shape, tuple) else 1
    soa = {"layout": ti.Layout.SOA} if kind == "soa" else {}
    if kind == "scalar":
        x = ti.field(ti.f32, **options)
    elif kind == "vector":
        x = ti.Vector.field(3, ti.f32, **options)
    else:
        x = ti.Matrix.field(2, 3, ti.f32, **options, **soa)
    rows, columns = (*x.element_shape, 1, 1)[:2]

    @ti.kernel
    def number():
        for I in ti.grouped(x):  # noqa: E741
            base = 0.0
            for a in ti.static(range(n)):
                base = base * 10 + I[a]
            if ti.static(kind == "scalar"):
                x[I] = base
            elif ti.static(kind == "vector"):
                for c in ti.static(range(3)):
                    x[I][c] = base + 100 * c
            else:
                for r, c in ti.static(ti.ndrange(rows, columns)):
                    x[I][r, c] = base + 100 * c + 1000 * r

    @ti.kernel
    def zero():
        x[None] = 5

    if n == 0:
        if kind == "scalar":
            zero()
            assert x[None] == 5
        return
    number()
    offset = options.get("offset", (0,) * n)
    array = x.to_numpy()
    for index in np.ndindex(*x.shape):
        base = 0
        for i, o in zip(index, offset):
            base = base * 10 + i + o
        element = np.array(array[index], dtype=float)
        for component in np.ndindex(*x.element_shape):
            expected = base
            if len(component) == 1:
                expected += 100 * component[0]
            elif len(component) == 2:
                expected += 1000 * component[0] + 100 * component[1]
            assert element[component] == expected, (index, component)


def test_kernels_and_python_agree_on_nested_levels(ti):
    x, y = ti.field(ti.i32), ti.field(ti.f64)
    block = ti.root.dense(ti.ij, (2, 3)).dense(ti.axes(1, 0), (4, 2))
    block.place(x)
    block.place(y, offset=(-2, 5))

    @ti.kernel
    def number():
        for i, j in x:
            x[i, j] = i * 100 + j
        for i, j in y:
            y[i, j] = i * 100 + j

    number()
    rows, columns = x.shape
    assert (rows, columns) == (4, 12)
    expected = [[i * 100 + j for j in range(columns)] for i in range(rows)]
    assert x.to_numpy().tolist() == expected
    assert y[-2, 5] == -195 and y[1, 16] == 116


def test_remainders_of_sums_that_wrap_are_indices(ti):
    ti.init(ti.cpu)
    x, out = ti.field(ti.i32, 33), ti.field(ti.i32, 4)

    @ti.kernel
    def read(big: ti.i32):
        for i in x:
            x[i] = i
        for i in out:
            out[i] = x[(big + big + i) % 33]

    read(2**31 - 5)
    assert out.to_numpy().tolist() == [(-10 + i) % 33 for i in range(4)]


def test_parts_of_sums_that_wrap_are_indices(ti):
    """The sum wraps, but what is left of it without its other part is an index."""
    ti.init(ti.cpu)
    n = 1000
    x, out = ti.field(ti.i32, 40), ti.field(ti.i32, (n, 6))

    @ti.kernel
    def read(round_down: ti.i32):
        for i in x:
            x[i] = i
        for i in range(n):
            s = i * 1640531535
            low = s & -16
            some = low
            if round_down == 0:
                some = 0
            out[i, 0] = x[s - low]
            out[i, 1] = x[(s + 3) - ((s + 7) & -16) + 4]
            out[i, 2] = x[s + 5 + (s >> 4) * -16]
            out[i, 3] = x[s - some]
            out[i, 4] = x[s - ti.max(s, -(2**31)) + 2]
            out[i, 5] = x[4 * (s & 7) + i * 4 - ((i & 511) << 2) - (i >> 9 << 11)]

    read(1)
    s = (np.arange(n, dtype=np.int64) * 1640531535).astype(np.uint32)
    expected = [s & 15, (s + 7) & 15, (s & 15) + 5, s & 15, s * 0 + 2, (s & 7) * 4]
    np.testing.assert_array_equal(out.to_numpy(), np.stack(expected, axis=1))


def test_fields_can_be_printed_without_numpy(run_python):
    printed = run_python(
        """
import sys
sys.modules["numpy"] = None
import kiln as ti
ti.init()
print(ti.field(ti.f32, (2, 3)), ti.Vector.field(2, ti.f32, 4), sep="\\n")
"""
    )
    shown = ": its elements are shown where NumPy is installed\n"
    assert printed == (
        f"<ti.field> of shape (2, 3){shown}<2x1 ti.Matrix.field> of shape (4,){shown}"
    )


def test_offsets_and_axes_of_other_types_are_named(ti):
    x = ti.field(ti.f32)
    offset = "the offset of a field along an axis must be an integer, got "
    for made, expected in (
        (lambda: ti.root.dense(ti.i, 4).place(x, offset="a"), offset + "'a'"),
        (lambda: ti.root.dense(ti.i, 4).place(x, offset=1.5), offset + "1.5"),
        (lambda: ti.field(ti.f32, 3, offset=[None]), offset + "None"),
        (lambda: ti.Vector.field(2, ti.f32, 3, offset="a", layout=ti.Layout.SOA), offset + "'a'"),
        (lambda: ti.root.dense("i", 3), "an axis is given as ti.i, .*, got 'i'"),
        (lambda: ti.root.dense(None, 3), "an axis is given as ti.i, .*, got None"),
        (lambda: ti.root.dynamic(ti.i, "a"), "a dimension of a field must be an integer, got 'a'"),
    ):
        with pytest.raises(TypeError, match=expected):
            made()
    # None of them leaves a tree behind that no field can follow.
    ti.root.dense(0, 4).place(x, offset=-2)
    x.fill(3)
    assert x[-2] == 3
