"""Quantised numbers: stores, loads and atomics, in words and quant arrays."""

from harness import case, ti

quant = ti.types.quant


def packed(*types, bits=32, cells=4, **options):
    """Fields of these types in one word."""
    fields = [ti.field(of) for of in types]
    word = ti.BitpackedFields(max_num_bits=bits)
    word.place(*fields, **options)
    ti.root.dense(ti.i, cells).place(word)
    return fields


def array(of, words, cells, bits=32):
    x = ti.field(of)
    ti.root.dense(ti.i, words).quant_array(ti.i, cells, max_num_bits=bits).place(x)
    return x


def values(field):
    """All elements of a field of one axis."""
    return [field[i] for i in range(field.shape[0])]


@case()
def integers_keep_their_low_bits(show):
    x, y = packed(quant.int(5), quant.int(4, False))
    for number in (0, 1, -1, 15, 16, 17, 31, 32, -16, -17, 100, -100):
        x[1] = number
        y[1] = number
        show((number, x[1], y[1]))
    show(values(x), values(y))


@case()
def integers_in_kernels(show):
    x, y, z = packed(quant.int(5), quant.int(6, False), quant.int(21))

    @ti.kernel
    def write(scale: ti.i32):
        for i in x:
            x[i] = i * scale
            y[i] = x[i] + 40
            z[i] = -i * 100000

    for scale in (1, 9, -5, 1000):
        write(scale)
        show(values(x), values(y), values(z))


@case(differs="quantised numbers that end the process")
def compute_types(show):
    types = (ti.i8, ti.i16, ti.i32, ti.i64, ti.u8, ti.u32)

    @ti.kernel
    def double(x: ti.template(), v: ti.i32) -> ti.i64:
        x[0] = v
        return ti.cast(x[0] * 100, ti.i64)

    for compute in types:
        (x,) = packed(quant.int(7, signed=compute in types[:4], compute=compute))
        show([double(x, v) for v in (0, 1, 63, 64, 127, -1)])


@case(differs="quantised numbers that end the process")
def words_of_all_sizes(show):
    @ti.kernel
    def fill(x: ti.template(), y: ti.template()):
        for i in x:
            x[i] = 3 * i - 4
            y[i] = 7 - i

    for bits in (8, 16, 32, 64):
        x, y = packed(quant.int(3), quant.int(5), bits=bits)
        fill(x, y)
        show(values(x), values(y))


@case(differs="quantised numbers that end the process")
def a_number_may_fill_its_word(show):
    for bits, compute in ((8, ti.i32), (16, ti.i16), (32, ti.i32), (64, ti.i64)):
        (x,) = packed(quant.int(bits, compute=compute), bits=bits)

        @ti.kernel
        def write(v: ti.i64):
            for i in x:
                x[i] = ti.cast(v + i, compute)

        for number in (0, -3, 2 ** (bits - 1) - 2):
            write(number)
            show(values(x))


@case()
def fixed_point_rounds_halves_away_from_zero(show):
    (x,) = packed(quant.fixed(7, max_value=4.0))
    step = 4.0 / 64
    numbers = (0, 1, -1, 3.9, 3.97, 4, 4.1, -4, -4.05, -5, 100, step * 0.49, step * 0.5)
    for number in (*numbers, step * 0.51, -step * 0.49, -step * 0.5, -step * 0.51, 2.5 * step):
        x[0] = number
        show((number, x[0]))


@case()
def fixed_point_types(show):
    types = (
        quant.fixed(8, max_value=2.0),
        quant.fixed(8, signed=False, max_value=2.0),
        quant.fixed(8, scale=0.125),
        quant.fixed(20, max_value=2.0, compute=ti.f64),
        quant.fixed(24, scale=1e-3),
    )

    @ti.kernel
    def write(x: ti.template(), v: ti.f64):
        for i in x:
            x[i] = ti.cast(v * (i + 1), ti.f64)

    for of in types:
        (x,) = packed(of)
        for number in (0.0, 0.3, 0.51):
            write(x, number)
            show(values(x))


@case(differs="numbers in Python scope that do not fit")
def options_of_fixed_point_numbers_that_are_no_numbers(show):
    show.error(quant.fixed, 8, max_value="a")
    show.error(quant.fixed, 8, scale=[1.0])


@case()
def floats_round_to_the_nearest(show):
    for exp, frac, signed in ((5, 10, True), (6, 13, False), (8, 24, True), (7, 19, True)):
        (x,) = packed(quant.float(exp, frac, signed))
        for number in (0.0, 1.0, 0.1, 1.3, 3.14159, 100.3, 0.001, 1.9999999):
            x[0] = number
            x[1] = -number if signed else number
            show((number, x[0], x[1]))


@case()
def floats_in_kernels(show):
    x, y = packed(quant.float(6, 12), quant.float(5, 9))

    @ti.kernel
    def write(scale: ti.f32):
        for i in x:
            x[i] = ti.sqrt(scale * i)
            y[i] = x[i] * x[i] - 1

    for scale in (1.0, 0.3, 70.0):
        write(scale)
        show(values(x), values(y))


@case()
def what_is_too_small_is_zero(show):
    (x,) = packed(quant.float(5, 10))
    for number in (1e-3, 1e-4, 6.2e-5, 6e-5, 1e-5, 1e-30, -1e-30, 1e-40):
        x[0] = number
        show((number, x[0]))


@case(differs="quantised floats that are too large")
def what_is_too_large(show):
    x, y = packed(quant.float(5, 10), quant.int(4))
    y[0] = 5
    for number in (65504.0, 131008.0, 131072.0, 1e20, -1e20):
        x[0] = number
        show((x[0], y[0]))


@case()
def shared_exponents(show):
    x, y = packed(quant.float(5, 10), quant.float(5, 12), shared_exponent=True)
    for a, b in ((1.5, 100.25), (1000.5, 0.25), (0.3, 0.7), (-0.01, 0.02), (0.0, 0.0)):
        x[0] = a
        y[0] = b
        show((x[0], y[0]))


@case()
def shared_exponents_of_vectors(show):
    x = ti.Vector.field(3, quant.float(6, 9))
    word = ti.BitpackedFields(max_num_bits=64)
    word.place(x, shared_exponent=True)
    ti.root.dense(ti.i, 4).place(word)

    @ti.kernel
    def write():
        for i in x:
            x[i] = [i * 0.5, 1, -i]

    @ti.kernel
    def add():
        for i in x:
            x[i] = x[i] + ti.Vector([0.5, 0.25, 0.125])

    @ti.kernel
    def shrink():
        for i in x:
            x[i] = x[i] * 0.001

    for kernel in (write, add, shrink):
        kernel()
        show([x[i].to_list() for i in range(4)])


@case()
def stores_to_numbers_with_a_shared_exponent_are_one(show):
    x, y = packed(quant.float(5, 10), quant.float(5, 12), shared_exponent=True)

    @ti.kernel
    def write(a: ti.f32, b: ti.f32):
        for i in x:
            x[i] = a
            y[i] = b

    for a, b in ((1000.0, 1000.0), (0.1, 0.2), (0.3, 500.0), (0.01, 0.02)):
        write(a, b)
        show((x[0], y[0]))


@case(differs="negative numbers that a shared exponent makes zero")
def small_negative_numbers_beside_large_ones(show):
    x, y = packed(quant.float(5, 10), quant.float(5, 12), shared_exponent=True)
    x[0] = -0.001
    y[0] = 5000.0
    show((x[0], y[0]))


@case()
def atomic_sums(show):
    x, y = packed(quant.int(5), quant.int(11, False))

    @ti.kernel
    def add():
        for i in range(100):
            x[i % 4] += 1
            y[i % 4] += i
            ti.atomic_sub(y[(i + 1) % 4], 3)

    add()
    show(values(x), values(y))
    add()
    show(values(x), values(y))


@case()
def atomic_sums_of_fixed_point(show):
    x, y = packed(quant.int(6, False), quant.fixed(12, max_value=32.0))
    y[2] = -7.5

    @ti.kernel
    def add(v: ti.f32):
        for i in range(40):
            y[i % 4] += v
            x[i % 4] += 1

    for number in (0.25, 0.3, 0.005, -0.1):
        add(number)
        show(values(x), values(y))


@case(differs="atomics on quantised numbers")
def old_values_of_atomics(show):
    x, y = packed(quant.int(5), quant.int(6, False))
    old = ti.field(ti.i32, 8)

    @ti.kernel
    def add():
        for i in range(4):
            x[i] = 3
            y[i] = 9
        for i in range(8):
            old[i] = ti.atomic_add(y[i // 2], 2)

    add()
    show(values(x), values(y))
    show(sorted(values(old)))


@case(differs="atomics on quantised numbers")
def other_atomics(show):
    x, y = packed(quant.int(9), quant.float(6, 12))

    @ti.kernel
    def change():
        for i in range(4):
            x[i] = 5 * i
            y[i] = 0.5 * i
        for i in range(64):
            ti.atomic_max(x[i % 2], i)
            ti.atomic_or(x[2], i & 4)
            ti.atomic_min(x[3], -i)
            ti.atomic_max(y[i % 2], i * 0.25)
            y[2] += 0.25
            ti.atomic_xor(x[2], 0)

    change()
    show(values(x), values(y))


@case()
def serial_updates(show):
    x, y = packed(quant.int(9), quant.float(6, 12))

    @ti.kernel
    def change():
        ti.loop_config(serialize=True)
        for i in range(64):
            x[i % 4] += i
            y[i % 4] = y[i % 4] + 0.25
        x[0] = 3

    change()
    show(values(x), values(y))


@case()
def vectors_and_matrices(show):
    x = ti.Vector.field(3, quant.fixed(8, max_value=4.0))
    m = ti.Matrix.field(2, 2, quant.int(5))
    word = ti.BitpackedFields(max_num_bits=64)
    word.place(x, m)
    ti.root.dense(ti.i, 4).place(word)

    @ti.kernel
    def write():
        for i in x:
            x[i] = [i * 0.5, 1, -i]
            m[i] = [[i, 1], [-i, 7]]
        for i in x:
            x[i] += ti.Vector([0.5, 0.25, 0.125])
            m[i][1, 0] += 3
            x[i].y = x[i].x * 2

    write()
    show([x[i].to_list() for i in range(4)], [m[i].to_list() for i in range(4)])
    x[1] = [1, 2, 3]
    m[2][0, 1] = -9
    show(x[1].to_list(), m[2].to_list(), x.n, m.m)


@case()
def components_of_several_types(show):
    x = ti.Vector.field(2, dtype=[quant.int(5), quant.int(7)])
    word = ti.BitpackedFields(max_num_bits=32)
    word.place(x)
    ti.root.dense(ti.i, 4).place(word)
    x[0] = [15, 63]
    x[1] = [16, 64]
    show(x[0].to_list(), x[1].to_list())


@case()
def types_of_vectors(show):
    x = ti.types.vector(3, quant.int(5)).field()
    word = ti.BitpackedFields(max_num_bits=32)
    word.place(x)
    ti.root.dense(ti.i, 4).place(word)
    x[0] = [1, 2, 30]
    show(x[0].to_list())


@case()
def offsets(show):
    x, y = ti.field(quant.int(5)), ti.field(quant.int(9))
    word = ti.BitpackedFields(max_num_bits=32)
    word.place(x, y)
    ti.root.dense(ti.ij, (4, 2)).place(word, offset=(-2, 5))
    z = ti.field(quant.int(4))
    ti.root.dense(ti.i, 2).quant_array(ti.i, 4, max_num_bits=16).place(z, offset=-3)

    @ti.kernel
    def write():
        for i, j in x:
            x[i, j] = i + j
            y[i, j] = i * 10 - j
        for i in z:
            z[i] = i

    write()
    show([(x[i, j], y[i, j]) for i in range(-2, 2) for j in (5, 6)])
    show([z[i] for i in range(-3, 5)])


@case()
def quant_arrays(show):
    x = array(quant.int(4), 3, 8)

    @ti.kernel
    def write():
        for i in x:
            x[i] = i

    @ti.kernel
    def scatter():
        for i in range(100):
            x[(i * 7) % 24] += 1

    write()
    show(values(x))
    scatter()
    show(values(x))
    x[5] = 7
    show(values(x), x.shape)


@case()
def quant_arrays_of_fixed_point(show):
    x = array(quant.fixed(5, max_value=2.0), 3, 6)

    @ti.kernel
    def write():
        for i in x:
            x[i] = i * 0.1

    @ti.kernel
    def add():
        for i in range(36):
            x[i // 2] += 0.125

    write()
    show(values(x))
    add()
    show(values(x))


@case()
def quant_arrays_of_two_axes(show):
    x = ti.field(quant.int(4))
    ti.root.dense(ti.ij, (2, 3)).quant_array(ti.ij, (4, 2), max_num_bits=32).place(x)
    y = ti.field(quant.int(1, False))
    ti.root.dense(ti.i, 3).quant_array(ti.j, 64, max_num_bits=64).place(y)

    @ti.kernel
    def write():
        for i, j in x:
            x[i, j] = i * 6 + j
        for i, j in y:
            y[i, j] = (i + j) % 3 == 0

    @ti.kernel
    def total() -> ti.i32:
        s = 0
        for i, j in y:
            s += y[i, j] * (i * 64 + j)
        return s

    write()
    show([[x[i, j] for j in range(6)] for i in range(8)], x.shape, total())


@case(differs="quantised numbers that end the process")
def cells_that_are_no_power_of_two(show):
    x = array(quant.int(3), 4, 5, bits=16)

    @ti.kernel
    def write():
        for i in range(20):
            x[i] = i

    @ti.kernel
    def mirror():
        for i in x:
            x[i] = x[19 - i] if i < 10 else x[i]

    write()
    show(values(x))
    mirror()
    show(values(x))


@case()
def neighbours_in_quant_arrays(show):
    n = 64
    x = ti.field(quant.int(1, False))
    y = ti.field(quant.int(1, False))
    row = ti.root.dense(ti.i, n).dense(ti.j, n // 32)
    row.quant_array(ti.j, 32, max_num_bits=32).place(x)
    row.quant_array(ti.j, 32, max_num_bits=32).place(y)

    @ti.kernel
    def start():
        for i, j in x:
            x[i, j] = (i * 7 + j * 13 + i * j) % 3 == 0

    @ti.kernel
    def step(a: ti.template(), b: ti.template()):
        for i, j in a:
            count = 0
            for d in ti.static(ti.ndrange((-1, 2), (-1, 2))):
                u, v = (i + d[0] + n) % n, (j + d[1] + n) % n
                if ti.static(d[0] != 0 or d[1] != 0):
                    count += a[u, v]
            b[i, j] = count == 3 or (count == 2 and a[i, j] == 1)

    @ti.kernel
    def digest(a: ti.template()) -> ti.i32:
        s = 0
        for i, j in a:
            s += a[i, j] * (i * 37 + j * 101 + 1)
        return s

    start()
    for _ in range(3):
        step(x, y)
        step(y, x)
        show(digest(x), digest(y))


@case()
def bit_vectorised_loops(show):
    n = 128
    x, y, z = (ti.field(quant.int(1, False)) for _ in range(3))
    row = ti.root.dense(ti.i, n // 32)
    for field in (x, y, z):
        row.quant_array(ti.i, 32, max_num_bits=32).place(field)

    @ti.kernel
    def start():
        for i in range(n):
            x[i] = (i * i) % 5 == 1

    @ti.kernel
    def assign():
        ti.loop_config(bit_vectorize=True)
        for i in x:
            y[i] = x[i]

    @ti.kernel
    def digest(a: ti.template()) -> ti.i32:
        s = 0
        for i in range(n):
            s += a[i] * (i * i + 1)
        return s

    start()
    assign()
    show(digest(x), digest(y))


@case(differs="loops with `bit_vectorize`")
def bit_vectorised_neighbours(show):
    n = 64
    x, y = (ti.field(quant.int(1, False)) for _ in range(2))
    ti.root.dense(ti.ij, (n + 2, n // 32 + 2)).quant_array(ti.j, 32, max_num_bits=32).place(x)
    ti.root.dense(ti.ij, (n, n // 32)).quant_array(ti.j, 32, max_num_bits=32).place(y)

    @ti.kernel
    def start():
        for i, j in x:
            x[i, j] = (i * 7 + j * 13 + i * j) % 3 == 0

    @ti.kernel
    def shift(di: ti.template(), dj: ti.template()):
        ti.loop_config(bit_vectorize=True)
        for i, j in y:
            y[i, j] = x[i + 1 + di, j + 32 + dj]

    @ti.kernel
    def digest() -> ti.i32:
        s = 0
        for i, j in y:
            s += y[i, j] * (i * 37 + j * 101 + 1)
        return s

    start()
    for di, dj in ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 1)):
        shift(di, dj)
        show(digest())


@case(differs="quantised numbers that end the process")
def fields_beside_plain_ones(show):
    x, y = ti.field(quant.int(5)), ti.field(quant.fixed(9, max_value=2.0))
    z = ti.field(ti.f64)
    word = ti.BitpackedFields(max_num_bits=16)
    word.place(x, y)
    ti.root.dense(ti.i, 3).dense(ti.j, 2).place(word, z)

    @ti.kernel
    def write():
        for i, j in z:
            z[i, j] = i + 0.5 * j
            x[i, j] = i - j
            y[i, j] = z[i, j] * 0.5

    write()
    show([(x[i, j], y[i, j], z[i, j]) for i in range(3) for j in range(2)])


@case()
def loops_over_snodes(show):
    x = ti.field(quant.int(5))
    word = ti.BitpackedFields(max_num_bits=32)
    word.place(x)
    block = ti.root.dense(ti.i, 4)
    block.place(word)
    parent = x.parent()

    @ti.kernel
    def write():
        for i in block:
            x[i] = i
        for i in parent:
            x[i] += i

    write()
    show(values(x))


@case()
def shapes_in_kernels(show):
    x = array(quant.int(4), 3, 8)

    @ti.kernel
    def extent() -> ti.i32:
        s = 0
        for i in range(x.shape[0]):
            s += 1
        return s

    show(extent())


@case(differs="quantised numbers that end the process")
def real_functions_and_branches(show):
    x, y = packed(quant.int(7), quant.fixed(9, max_value=8.0))

    @ti.func
    def change(i, up):
        if up:
            x[i] += 3
        else:
            y[i] = y[i] / 2

    @ti.kernel
    def run():
        for i in x:
            y[i] = i + 0.75
            if i > 1:
                change(i, i == 2)
            elif i == 1:
                x[i] = 60
                x[i] += 5
            for k in range(3):
                y[i] += 0.25

    run()
    show(values(x), values(y))


@case(differs="all elements of quantised fields")
def all_elements(show):
    x, y = packed(quant.int(5), quant.fixed(8, max_value=4.0))
    z = array(quant.int(4), 2, 8)
    x.fill(3)
    y.fill(0.3)
    z.fill(-2)
    show(x.to_numpy(), y.to_numpy(), z.to_numpy())
    x.copy_from(z) if x.shape == z.shape else None
    z.from_numpy(z.to_numpy() + 5)
    show(z.to_numpy(), str(x))


@case(differs="elements of matrices of quantised numbers")
def run_time_indices_of_components(show):
    x = ti.Vector.field(3, quant.fixed(8, max_value=4.0))
    word = ti.BitpackedFields(max_num_bits=32)
    word.place(x)
    ti.root.dense(ti.i, 4).place(word)

    @ti.kernel
    def write(j: ti.i32) -> ti.f32:
        for i in x:
            x[i][(i + j) % 3] = i * 0.5 + 0.25
        return x[3][(3 + j) % 3]

    show(write(1), [x[i].to_list() for i in range(4)])


@case()
def words_below_sparse_nodes(show):
    x, y = ti.field(quant.int(5)), ti.field(quant.fixed(9, max_value=8.0))
    word = ti.BitpackedFields(max_num_bits=32)
    word.place(x, y)
    block = ti.root.pointer(ti.i, 4)
    block.dense(ti.i, 4).place(word)

    @ti.kernel
    def scatter():
        for i in range(12):
            x[i % 5 + 6] += 1
            y[i % 5 + 6] += 0.5

    @ti.kernel
    def change():
        for i in x:
            x[i] = x[i] * 2 - 1
            y[i] = y[i] + i

    @ti.kernel
    def count() -> ti.i32:
        n = 0
        for i in x:
            n += 1
        return n

    show(values(x), count())
    scatter()
    show(values(x), values(y), count())
    change()
    show(values(x), values(y), count())
    x[15] = -3
    show(values(x), count())


@case()
def quant_arrays_below_sparse_nodes(show):
    x = ti.field(quant.int(5))
    ti.root.pointer(ti.i, 4).quant_array(ti.i, 4, max_num_bits=32).place(x)
    x[5] = 3
    seen = ti.field(ti.i32, 16)

    @ti.kernel
    def visit():
        for i in x:
            seen[i] += 1
            x[i] += i

    show(values(x))
    visit()
    show(values(seen), values(x))
    x[0] = 9
    visit()
    show(values(seen), values(x))


@case()
def words_below_bitmasked_nodes(show):
    x = ti.field(quant.float(5, 10))
    word = ti.BitpackedFields(max_num_bits=32)
    word.place(x)
    ti.root.bitmasked(ti.ij, (2, 3)).place(word)

    @ti.kernel
    def write():
        for i, j in ti.ndrange(2, 2):
            x[i, j + i] = i + j * 0.5

    @ti.kernel
    def total() -> ti.f32:
        s = 0.0
        for i, j in x:
            s += x[i, j] + 1
        return s

    write()
    show([[x[i, j] for j in range(3)] for i in range(2)], total())


@case(differs="all elements of quantised fields")
def all_elements_below_sparse_nodes(show):
    x = ti.field(quant.int(5))
    ti.root.pointer(ti.i, 4).quant_array(ti.i, 4, max_num_bits=32).place(x)
    x[5] = 3
    show(x.to_numpy())
    x.fill(7)
    show(x.to_numpy())
