"""Elements of fields in Python: views, values that are stored, indices, copies."""

import copy
import pickle

import numpy as np
from harness import case, ti


@case()
def elements_are_live_views(show):
    v = ti.Vector.field(2, ti.i32, shape=3)
    a = v[0]
    v[0] = [9, 8]
    show(a.to_numpy())
    v[0].x = 3
    v[0][1] = 5
    a[0] += 1
    show(v[0].to_numpy(), v.to_numpy(), a.x, a.y, a.xy.to_numpy())
    b = v[0] + 1
    v[0] = [0, 0]
    show(b.to_numpy(), type(b[0]), type(v[0][0]))
    v[1] = v[0]
    v[1] = (1, 2)
    v[2] = np.array([7, 8])
    v[0] += 3
    show(v.to_numpy())
    m = ti.Matrix.field(2, 2, ti.f32, shape=())
    m[None] = [[1, 2], [3, 4]]
    e = m[None]
    m[None][0, 1] = 20
    show(e.to_numpy(), (e @ e).to_numpy(), e.transpose().to_numpy())


@case()
def struct_elements_are_live_views(show):
    s = ti.Struct.field({"p": ti.math.vec2, "m": ti.f32, "n": ti.i32}, shape=2)
    e = s[0]
    s[0].p = [1, 2]
    s[0].p.x = 9
    s[0].m = 3
    s[0].n = 4
    show(e.m, e.n, e.p.to_numpy())
    s[1] = s[0]
    s[1].n = 5
    show(s.to_numpy())
    s.m[1] = 7
    show(s[1].m, s.p[1].to_numpy(), s.keys)
    s[0] = {"p": [3, 3], "m": 1, "n": 2}
    show(s.to_numpy())


@case(differs="`to_dict` of an element of a struct field")
def struct_elements_as_dicts(show):
    s = ti.Struct.field({"p": ti.math.vec2, "m": ti.f32}, shape=2)
    s[0].m = 3
    show(s[0].to_dict())


@case(differs="an unknown member that is assigned, or given to the type")
def assigning_unknown_members(show):
    s = ti.Struct.field({"a": ti.i32}, shape=2)

    def assign():
        s[0].b = 3

    show.error(assign)


@case()
def values_that_are_stored(show):
    x = ti.field(ti.i32, shape=2)
    for value in (3, -3, True, np.int64(5), np.uint8(7), 2**31 - 1):
        x[0] = value
        show(x[0])
    f = ti.field(ti.f32, shape=2)
    for value in (3, 0.1, True, np.float64(0.25), np.float32(0.1), float("inf"), 1e40):
        f[0] = value
        show(f[0])
    u = ti.field(ti.u8, shape=2)
    for value in (255, 256, 300):
        u[0] = value
        show(u[0])


@case()
def values_that_are_refused(show):
    x = ti.field(ti.i32, shape=2)

    def store(value):
        x[0] = value

    for value in ("a", None, [1], 1.5, np.float32(2)):
        show.error(store, value)


@case(differs="`x[5, 5]` out of bounds, in Python")
def indices_out_of_bounds(show):
    x = ti.field(ti.i32, shape=(2, 3), name="x")
    show.error(lambda: x[5, 5])
    show.error(lambda: x[-1, 0])
    show.error(lambda: x[0, 3])

    def store():
        x[2, 0] = 1

    show.error(store)
    v = ti.Vector.field(2, ti.i32, shape=3)
    show.error(lambda: v[3])
    show.error(lambda: v[-1])
    s = ti.Struct.field({"a": ti.i32}, shape=3)
    show.error(lambda: s[3].a)


@case()
def wrong_indices(show):
    x = ti.field(ti.i32, shape=(2, 3))
    show.error(lambda: x[0])
    show.error(lambda: x[0, 1, 2])
    show.error(lambda: x[None])
    show.error(lambda: x[0, :])
    show.error(lambda: x[0, 1.5])
    show.error(lambda: x["a", 0])
    y = ti.field(ti.i32, shape=())
    show.error(lambda: y[0])
    v = ti.Vector.field(2, ti.i32, shape=3)
    show.error(lambda: v[0, 0])


@case()
def forms_of_indices(show):
    x = ti.field(ti.i32, shape=(2, 3))
    x[1, 2] = 5
    show(x[1, 2], x[(1, 2)], x[np.int32(1), np.int64(2)])
    y = ti.field(ti.i32, shape=())
    y[None] = 3
    show(y[None], y[()])
    z = ti.field(ti.i32, shape=4)
    z[2] = 4
    show(z[2], z[(2,)])


@case()
def fields_do_not_iterate(show):
    x = ti.field(ti.i32, shape=3)
    show.error(lambda: list(x))
    show.error(lambda: [v for v in ti.Vector.field(2, ti.i32, shape=3)])
    show.error(len, x)
    structs = ti.types.struct(a=ti.f32, v=ti.math.vec2).field(shape=3)
    show.error(lambda: list(structs))
    show.error(lambda: 3 in structs)
    show.error(len, structs)


def elements_of_all_kinds():
    """A vector, a matrix, and a struct with methods, each an element of a field."""

    @ti.dataclass
    class Ball:
        r: ti.f32
        c: ti.math.vec2

        def double(self):
            return self.r * 2

    vectors, matrices = ti.Vector.field(2, ti.f32, 3), ti.Matrix.field(2, 2, ti.i32, ())
    balls = Ball.field(shape=2)
    vectors[1], matrices[None] = [1, 2], [[1, 2], [3, 4]]
    balls[0] = Ball(r=5, c=[6, 7])
    return vectors[1], matrices[None], balls[0]


@case()
def copies_of_elements(show):
    vector, matrix, ball = (copy.copy(one) for one in elements_of_all_kinds())
    vector[1] = 20
    matrix[1, 0] = 30
    ball.c[1] = 70
    show(vector.to_list(), matrix.to_list(), ball.r, ball.c.to_list(), ball.double())


@case(differs="deep copies of elements of fields")
def deep_copies_of_elements(show):
    elements = elements_of_all_kinds()
    for made in (copy.deepcopy(elements), copy.deepcopy({"a": list(elements)})["a"]):
        vector, matrix, ball = made
        vector[1] = 20
        matrix[1, 0] = 30
        ball.c[1] = 70
        ball.r = 50
        show(vector.to_list(), matrix.to_list(), ball.to_dict(), ball.double())
    vector, matrix, ball = elements
    show(vector.to_list(), matrix.to_list(), ball.to_dict(), ball.double())
    vector, matrix = pickle.loads(pickle.dumps(elements[:2]))
    show(vector.to_list(), matrix.to_list())
