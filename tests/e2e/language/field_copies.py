"""Fields as a whole: fills, and copies from and to fields and arrays."""

import copy
import pickle

import numpy as np
from harness import case, ti

SCALARS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64", "u1")


@case()
def fill(show):
    for name in SCALARS:
        x = ti.field(getattr(ti, name), shape=(2, 2))
        x.fill(1)
        show(x.to_numpy())
    v = ti.Vector.field(2, ti.f32, shape=2)
    v.fill(3)
    show(v.to_numpy())
    v.fill([1, 2])
    show(v.to_numpy())
    v.fill(ti.Vector([5, 6]))
    show(v.to_numpy())
    m = ti.Matrix.field(2, 2, ti.i32, shape=2, layout=ti.Layout.SOA)
    m.fill([[1, 2], [3, 4]])
    show(m.to_numpy())
    m.fill(ti.Matrix([[5, 6], [7, 8]]))
    show(m.to_numpy())
    s = ti.Struct.field({"a": ti.i32, "b": ti.f32}, shape=2)
    s.fill(2)
    show(s.to_numpy())


@case()
def fills_are_cast(show):
    for name in ("i8", "i32", "i64", "u8", "u32"):
        x = ti.field(getattr(ti, name), shape=2)
        x.fill(2.7)
        show(x.to_numpy())
        x.fill(np.float32(1.5))
        show(x.to_numpy())
    v = ti.Vector.field(2, ti.i32, shape=1)
    v.fill(1.5)
    show(v.to_numpy())
    v.fill([1.5, -2.5])
    show(v.to_numpy())


@case()
def fill_in_kernels(show):
    x = ti.field(ti.f32, shape=(2, 2))
    v = ti.Vector.field(2, ti.i32, shape=2)

    @ti.kernel
    def k(a: ti.f32):
        x.fill(a)
        v.fill(7)

    k(1.5)
    show(x.to_numpy(), v.to_numpy())


@case()
def wrong_fills(show):
    v = ti.Vector.field(2, ti.f32, shape=2)
    show.error(v.fill, [1, 2, 3])
    m = ti.Matrix.field(2, 2, ti.f32, shape=2)
    show.error(m.fill, [1, 2, 3])


@case()
def copies_between_fields(show):
    x = ti.field(ti.f32, shape=(2, 3))
    x.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3))
    y = ti.field(ti.f32, shape=(2, 3), order="ji")
    y.copy_from(x)
    show(y.to_numpy())
    z = ti.field(ti.i32, shape=(2, 3))
    z.copy_from(x)
    show(z.to_numpy())
    v = ti.Vector.field(2, ti.f32, shape=2, layout=ti.Layout.SOA)
    w = ti.Vector.field(2, ti.f32, shape=2)
    v[1] = [3, 4]
    w.copy_from(v)
    show(w.to_numpy())
    a = ti.Struct.field({"a": ti.i32, "b": ti.math.vec2}, shape=2)
    b = ti.Struct.field({"a": ti.i32, "b": ti.math.vec2}, shape=2)
    a[1].a = 4
    a[0].b = [5, 6]
    b.copy_from(a)
    show(b.to_numpy())


@case()
def wrong_copies(show):
    x = ti.field(ti.f32, shape=(2, 3))
    show.error(x.copy_from, ti.field(ti.f32, shape=(3, 2)))
    show.error(x.copy_from, np.zeros((2, 3)))
    show.error(x.copy_from, ti.field(ti.f32, shape=6))


@case()
def to_numpy_with_a_type(show):
    x = ti.field(ti.i32, shape=3)
    x[1] = 300
    for kind in (np.float32, np.int64, np.float64):
        show(x.to_numpy(dtype=kind))
    v = ti.Vector.field(2, ti.f32, shape=2)
    v[0] = [1.5, 2.5]
    show(v.to_numpy(dtype=np.float64), v.to_numpy(keep_dims=True), v.to_numpy(True, np.float64))
    m = ti.Matrix.field(2, 1, ti.f32, shape=2)
    show(m.to_numpy(), m.to_numpy(keep_dims=True))


@case()
def from_numpy_of_every_type(show):
    for name in SCALARS:
        x = ti.field(getattr(ti, name), shape=4)
        if name != "u1":
            x.from_numpy(np.array([0, 1, 2, 3], np.float64))
            show(name, x.to_numpy())
        x.from_numpy(np.array([0, 1, 2, 3], np.int32))
        show(x.to_numpy())


@case(differs="fractions stored as bools")
def from_numpy_of_fractions_to_bools(show):
    x = ti.field(ti.u1, shape=4)
    x.from_numpy(np.array([0, 0.5, 2, 3], np.float64))
    show(x.to_numpy())


@case()
def from_numpy_of_any_stride(show):
    big = np.arange(48, dtype=np.float32).reshape(4, 12)
    x = ti.field(ti.f32, shape=(2, 3))
    for array in (big[:2, :3], big[::2, ::4], big[:3, :2].T, big[::-2, ::-4], big[1:3, 3:6]):
        x.from_numpy(array)
        show(x.to_numpy())
    x.from_numpy(np.asfortranarray(big[:2, :3]))
    show(x.to_numpy())
    v = ti.Vector.field(3, ti.f32, shape=2)
    v.from_numpy(big[:2, ::4])
    show(v.to_numpy())
    v.from_numpy(big[:2, :3, None])
    show(v.to_numpy())


@case()
def from_numpy_of_wrong_shape(show):
    x = ti.field(ti.f32, shape=(2, 3))
    show.error(x.from_numpy, np.zeros((3, 2), np.float32))
    show.error(x.from_numpy, np.zeros(6, np.float32))
    s = ti.Struct.field({"a": ti.i32}, shape=2)
    show.error(s.from_numpy, {"b": np.zeros(2, np.int32)})
    show.error(s.from_numpy, {"a": np.zeros(3, np.int32)})


@case(differs="`from_numpy` of another shape")
def matrices_from_numpy_of_wrong_shape(show):
    v = ti.Vector.field(3, ti.f32, shape=2)
    show.error(v.from_numpy, np.zeros((2, 2), np.float32))
    show.error(v.from_numpy, np.zeros((3, 2), np.float32))
    m = ti.Matrix.field(2, 2, ti.f32, shape=2)
    show.error(m.from_numpy, np.zeros((2, 4), np.float32))


@case()
def from_numpy_of_what_has_no_match(show):
    x = ti.field(ti.i32, shape=3)
    show.error(x.from_numpy, np.zeros(3, complex))
    show.error(x.from_numpy, np.array(["a", "b", "c"]))
    show.error(x.from_numpy, np.zeros(3, np.longdouble))


@case(differs="calls that trip over Taichi's own code")
def from_numpy_of_lists(show):
    x = ti.field(ti.i32, shape=3)
    show.error(x.from_numpy, [1, 2, 3])
    show.error(x.from_numpy, None)


@case()
def layouts_and_arrays_agree(show):
    array = np.arange(2 * 3 * 2 * 2, dtype=np.int32).reshape(2, 3, 2, 2)
    for layout in (ti.Layout.AOS, ti.Layout.SOA):
        for order in (None, "ij", "ji"):
            m = ti.Matrix.field(2, 2, ti.i32, shape=(2, 3), layout=layout, order=order)
            m.from_numpy(array)
            same = all(
                (m[i, j].to_numpy() == array[i, j]).all() for i in range(2) for j in range(3)
            )
            show(same, bool((m.to_numpy() == array).all()))


@case()
def copy_and_pickle(show):
    x = ti.field(ti.f32, shape=3)
    x[1] = 5
    v = ti.Vector([1, 2])
    w, u = copy.deepcopy(v), copy.copy(v)
    w[0] = 9
    show(v.to_numpy(), w.to_numpy(), u.to_numpy())
    s = ti.Struct({"a": 1, "b": [1, 2]})
    show(copy.deepcopy(s).to_dict())


@case()
def copies_of_fields(show):
    x = ti.field(ti.f32, shape=3)
    x[1] = 5
    show.error(copy.deepcopy, x)
    show.error(pickle.dumps, x)
    y = copy.copy(x)
    y[1] = 6
    show(x[1])
    v = ti.Vector.field(2, ti.i32, shape=2)
    w = copy.copy(v)
    w[1] = [3, 4]
    show(v.to_numpy())

    @ti.kernel
    def k():
        for i in x:
            x[i] += 1
            y[i] += 1

    k()
    show(x.to_numpy())
