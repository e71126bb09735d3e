"""Fields of vectors and matrices whose components are in several words, or partly in no word."""

import copy

from harness import case, ti

quant = ti.types.quant


def word(*fields, bits=32, **options):
    made = ti.BitpackedFields(max_num_bits=bits)
    made.place(*fields, **options)
    return made


def apart(*types, cells=4):
    """A field of vectors with each component in a separate word."""
    v = ti.Vector.field(len(types), dtype=list(types))
    words = [word(v.get_scalar_field(n)) for n in range(len(types))]
    ti.root.dense(ti.i, cells).place(*words)
    return v


def values(field):
    """All elements of a field of one axis."""
    return [field[i].to_list() for i in range(field.shape[0])]


@case()
def elements(show):
    v = apart(*[quant.fixed(20, max_value=4.0)] * 3)

    @ti.kernel
    def halves():
        for i in v:
            v[i] = ti.Vector([i * 0.5, -i * 0.25, 0.125])
        for i in v:
            v[i] += v[i] * 0.5
        for i in range(4):
            v[i][1] += 0.25
            v[i].zx = v[i].xz

    halves()
    show(values(v))
    v[1] = [1.5, -1.25, 0.1]
    v[2].y = 0.5
    v[3][2] = 0.75
    v[0].xy = [0.25, 0.375]
    show(values(v), v[3].z, v[1].zyx.to_list())


@case()
def words_of_some_components(show):
    m = ti.Matrix.field(2, 2, quant.int(10))
    x = ti.field(quant.int(7))
    outer = word(m.get_scalar_field(0, 0), x, m.get_scalar_field(1, 1))
    inner = word(m.get_scalar_field(0, 1), m.get_scalar_field(1, 0))
    ti.root.dense(ti.ij, (2, 3)).place(outer, inner)

    @ti.kernel
    def write() -> ti.i32:
        for i, j in m:
            m[i, j] = ti.Matrix([[i, j], [i * 10, j * 10]])
            x[i, j] = i + j
        for at in ti.grouped(m):
            m[at] = m[at].transpose() + m[at][1, 1]
        for i, j in x:
            m[i, j][0, 1] -= x[i, j]
        total = 0
        for i, j in m:
            total += m[i, j].sum() * (i + 2 * j + 1)
        return total

    show(write())
    m[0, 0] = [[1, 2], [3, 4]]
    m[1, 1][0, 1] = 500
    show([[m[i, j].to_list() for j in range(3)] for i in range(2)], x[1, 1], x[1, 2])


@case()
def a_type_for_each_component(show):
    m = ti.Matrix.field(2, 2, dtype=[[quant.int(5), quant.int(26)], [quant.int(17), quant.int(8)]])
    rows = [word(m.get_scalar_field(i, 0), m.get_scalar_field(i, 1)) for i in range(2)]
    ti.root.dense(ti.i, 3).place(*rows)

    @ti.kernel
    def write():
        for i in m:
            m[i] = ti.Matrix([[15 + i, 31 + i], [63 + i, 127 + i]]) * (1 << i) * 3000

    write()
    show(values(m), str(m.dtype))


@case()
def components_in_no_word(show):
    types = [quant.float(5, 10), quant.fixed(20, max_value=4.0), ti.f32]
    v = ti.Vector.field(3, dtype=types)
    both = word(v.get_scalar_field(0), v.get_scalar_field(1), bits=64)
    ti.root.dense(ti.i, 4).place(both, v.get_scalar_field(2))

    @ti.kernel
    def write():
        for i in v:
            v[i] = ti.Vector([i * 0.6, i * 0.33, 100.1 * i])
        for i in v:
            v[i] += 0.1

    write()
    v[3] = [0.1, 0.1, 0.1]
    show(values(v))


@case()
def compute_types_that_differ(show):
    def make(*types):
        return ti.Vector.field(len(types), dtype=list(types))

    show.error(make, quant.fixed(10), quant.int(7))
    show.error(make, ti.f32, ti.i32)
    show.error(make, quant.int(4), quant.int(4, signed=False))
    show.error(make, quant.int(4), quant.int(4, compute=ti.i64))


@case()
def shared_exponents(show):
    v = ti.Vector.field(4, quant.float(6, 9))
    f = ti.field(quant.float(6, 9))
    first = word(v.get_scalar_field(0), v.get_scalar_field(2), shared_exponent=True)
    second = word(v.get_scalar_field(1), v.get_scalar_field(3), f, bits=64, shared_exponent=True)
    ti.root.dense(ti.i, 4).place(first, second)

    @ti.kernel
    def write():
        for i in v:
            v[i] = ti.Vector([i * 0.6, i * 0.33, 100 * i, i])
            f[i] = 1000 * i

    @ti.kernel
    def shrink():
        for i in v:
            v[i] = v[i] * 0.001
        for i in f:
            f[i] = 0.5

    for kernel in (write, shrink):
        kernel()
        show(values(v), [f[i] for i in range(4)])


@case()
def quant_arrays(show):
    v = ti.Vector.field(2, quant.int(4))
    block = ti.root.dense(ti.i, 4)
    for n in range(2):
        block.quant_array(ti.i, 8, max_num_bits=32).place(v.get_scalar_field(n))

    @ti.kernel
    def write():
        for i in v:
            v[i] = ti.Vector([i, i + 1])
        for i in v:
            v[i] += ti.Vector([1, v[i].x])

    write()
    v[3] = [-2, 5]
    show(values(v))


@case(differs="quantised numbers that end the process")
def quant_arrays_of_other_words(show):
    v = ti.Vector.field(3, quant.int(4))
    ti.root.dense(ti.i, 4).quant_array(ti.i, 8, max_num_bits=32).place(v.get_scalar_field(0))
    ti.root.dense(ti.i, 8).quant_array(ti.i, 4, max_num_bits=16).place(v.get_scalar_field(1))
    ti.root.dense(ti.i, 32).place(word(v.get_scalar_field(2)))

    @ti.kernel
    def write():
        for i in v:
            v[i] = ti.Vector([i, i + 1, i + 2])
        for i in v:
            v[i] += ti.Vector([1, v[i].x, v[i].y])

    write()
    show(values(v))


@case()
def below_sparse_nodes(show):
    v = ti.Vector.field(2, quant.fixed(12, max_value=8.0))
    w = ti.Vector.field(2, dtype=[quant.fixed(10, max_value=8.0), ti.f32])
    block = ti.root.pointer(ti.i, 4).bitmasked(ti.i, 4)
    block.place(
        word(v.get_scalar_field(0)),
        word(v.get_scalar_field(1), w.get_scalar_field(0)),
        w.get_scalar_field(1),
    )

    @ti.kernel
    def write():
        for i in range(3, 6):
            v[i] = ti.Vector([i * 0.5, -i * 0.25])
            w[i] = ti.Vector([1.0, i])
        for i in v:
            v[i] += 0.5
            w[i] *= 2

    @ti.kernel
    def count() -> ti.i32:
        n = 0
        for i in v:
            n += 1
        return n

    write()
    v[15] = [1, 2]
    show(values(v), values(w), count())


@case()
def words_in_other_trees(show):
    v = ti.Vector.field(2, quant.int(10))
    first, second = ti.FieldsBuilder(), ti.FieldsBuilder()
    first.dense(ti.i, 2).dense(ti.j, 4).place(word(v.get_scalar_field(0)))
    second.dense(ti.j, 4).dense(ti.i, 2).place(word(v.get_scalar_field(1)))
    first.finalize()
    second.finalize()

    @ti.kernel
    def write():
        for i, j in v:
            v[i, j] = [i, j]

    write()
    v[1, 2] = [7, 8]
    show([[v[i, j].to_list() for j in range(4)] for i in range(2)])


@case()
def offsets(show):
    v = ti.Vector.field(2, quant.int(12))
    for n in range(2):
        ti.root.dense(ti.i, 4).place(word(v.get_scalar_field(n)), offset=-2)

    @ti.kernel
    def write():
        for i in v:
            v[i] = ti.Vector([i, 10 * i])

    write()
    show([v[i].to_list() for i in range(-2, 2)])


@case()
def arguments_and_components(show):
    v = apart(quant.int(20), quant.int(12))
    second = v.get_scalar_field(1)

    @ti.func
    def put(f: ti.template(), i, x):
        f[i] = x

    @ti.func
    def add(e: ti.template()):
        e += 7

    @ti.kernel
    def change(f: ti.template()):
        for i in f:
            put(f, i, ti.Vector([i, i + 1]))
        for i in f:
            add(f[i])
        for i in f:
            second[i] -= 1
        for i in f:
            f[i] *= 2
        for n in ti.static(range(2)):
            f[0][n] = 100
        a, b = f[3]
        f[2] = [b, a]
        print(f[2], f[3].x, f[3].norm_sqr())

    change(v)
    show(values(v), [second[i] for i in range(4)])


@case()
def a_component_beside_the_whole(show):
    """A kernel that gets a field and its components must see each one's writes in the others."""
    number = quant.int(12)
    v = ti.Vector.field(3, dtype=[number, number, number])
    first = word(v.get_scalar_field(0), v.get_scalar_field(1))
    ti.root.dense(ti.i, 4).place(first, word(v.get_scalar_field(2)))
    seen = ti.field(ti.i32, shape=(4, 4))

    @ti.kernel
    def mix(whole: ti.template(), x: ti.template(), z: ti.template()):
        for i in range(4):
            whole[i] = ti.Vector([i, -i, 2 * i])
            before = x[i]
            x[i] = before + 7
            z[i] += 3
            now = whole[i]
            whole[i][0] += 1
            seen[i, 0] = before
            seen[i, 1] = now[0]
            seen[i, 2] = now[2]
            seen[i, 3] = x[i]

    mix(v, v.get_scalar_field(0), v.get_scalar_field(2))
    show(seen.to_numpy().tolist(), values(v))


@case()
def large_matrices(show):
    m = ti.Matrix.field(6, 6, quant.int(10))
    words = [
        word(*[m.get_scalar_field(i, j) for i in (k, k + 3)]) for k in range(3) for j in range(6)
    ]
    ti.root.dense(ti.i, 2).place(*words)
    squares = ti.Matrix.field(6, 6, ti.i32, shape=2)

    @ti.kernel
    def change():
        for i in m:
            m[i] = m[i].transpose()
        for i in m:
            m[i] += 1
        for i in m:
            squares[i] = m[i] @ m[i]
        for i in m:
            m[i] = m[i].transpose() * 2 + m[i]

    for i in range(2):
        m[i] = [[6 * a + b + i for b in range(6)] for a in range(6)]
    change()
    show(values(m), values(squares))


@case()
def a_single_element(show):
    v = ti.Vector.field(2, quant.int(20))
    ti.root.place(word(v.get_scalar_field(0)), word(v.get_scalar_field(1)))

    @ti.kernel
    def write():
        v[None] = ti.Vector([4, 5])

    write()
    show(v[None].to_list())
    v[None].x = 7
    show(v[None].to_list(), v.get_scalar_field(0)[None])


@case()
def atomics(show):
    v = apart(quant.int(16), quant.int(14))

    @ti.kernel
    def add() -> ti.i32:
        for i in range(4000):
            v[i % 4] += ti.Vector([1, -1])
            ti.atomic_add(v[i % 4][0], 1)
        for i in v:
            ti.atomic_max(v[i], ti.Vector([5, 5 + i]))
        return ti.atomic_xor(v[1][1], 3)

    show(add(), values(v))


@case(differs="all elements of quantised fields")
def all_elements(show):
    import numpy as np

    v = ti.Vector.field(
        3, dtype=[quant.fixed(20, max_value=4.0), quant.fixed(9, max_value=8.0), ti.f32]
    )
    ti.root.dense(ti.i, 3).place(
        word(v.get_scalar_field(0), v.get_scalar_field(1)), v.get_scalar_field(2)
    )
    v.fill(0.5)
    show(v.to_numpy().tolist())
    v.fill([0.25, 1.5, 2.0])
    show(v.to_numpy().tolist(), str(v))
    v.from_numpy(np.arange(9, dtype=np.float32).reshape(3, 3) * 0.25)
    show(v.to_numpy(dtype=np.float64).tolist())
    w = ti.Vector.field(3, ti.f32, shape=3)
    w.copy_from(v)
    w[1] = [1, 2, 3]
    v.copy_from(w)
    show(values(w), values(v))


@case(differs="elements of matrices of quantised numbers")
def run_time_indices(show):
    v = ti.Vector.field(4, quant.float(6, 9))
    first = word(v.get_scalar_field(0), v.get_scalar_field(2), shared_exponent=True)
    second = word(v.get_scalar_field(1), v.get_scalar_field(3))
    ti.root.dense(ti.i, 4).place(first, second)

    @ti.real_func
    def add(x: ti.ref(ti.f32), amount: ti.f32):
        x += amount

    @ti.kernel
    def write() -> ti.f32:
        for i in v:
            v[i][i] = i + 1
            v[i][3 - i] += 0.5
            add(v[i][(i + 1) % 4], 100)
        total = 0.0
        for i in range(4):
            for n in range(4):
                total += v[i][n]
        return total

    show(write(), values(v))


@case()
def copies_share_memory(show):
    v = apart(quant.int(10), quant.int(9))
    w = copy.copy(v)

    @ti.kernel
    def write():
        for i in v:
            v[i] = [i, i * i]
        for i in v:
            w[i] += 1
        for i in v:
            v[i] = w[i] * 2

    write()
    show(values(w))


@case(debug=True)
def debug_mode(show):
    v = ti.Vector.field(3, quant.float(6, 9))
    first = word(v.get_scalar_field(0), v.get_scalar_field(2), shared_exponent=True)
    ti.root.dense(ti.i, 4).place(first, word(v.get_scalar_field(1)))

    @ti.kernel
    def write():
        for i in v:
            v[i] = ti.Vector([i * 0.6, i * 0.33, 100 * i])
            v[i] += v[i] * 0.5

    write()
    show(values(v))
