"""Loops with `bit_vectorize` over arrays of single bits. Each body runs with it and without; both
results must agree, and appear once."""

from harness import case, ti

quant = ti.types.quant
ROWS, COLUMNS = 12, 96


def bits(word=32, signed=False, node=None, offset=None):
    """A field of ROWS + 2 by COLUMNS + 2 * word bits: a border where neighbours are zero."""
    field = ti.field(quant.int(1, signed))
    row = (node or ti.root).dense(ti.ij, (ROWS + 2, COLUMNS // word + 2))
    row.quant_array(ti.j, word, max_num_bits=word).place(field, offset=offset)
    return field


@ti.kernel
def scatter(x: ti.template(), seed: ti.i32):
    for i, j in ti.ndrange((1, ROWS + 1), (32, COLUMNS + 32)):
        x[i, j] = ((i * 7919 + j * 104729 + seed) ^ (i * j)) % 5 < 2


@ti.kernel
def digest(x: ti.template()) -> ti.i32:
    s = 0
    for i, j in ti.ndrange((1, ROWS + 1), (32, COLUMNS + 32)):
        s += x[i, j] * ((i * 37 + j * 101) % 1013 + 1)
    return s


def both(show, body, x, y, *fields):
    """Runs `body(i, j)`, which writes y, over x: by words, then bit by bit."""
    outcomes = []
    for by_words in (True, False):

        @ti.kernel
        def run():
            ti.loop_config(bit_vectorize=by_words)
            for i, j in x:
                body(i, j)

        for seed, field in enumerate((x, *fields, y)):
            scatter(field, seed)
        run()
        outcomes.append(digest(y))
    show(outcomes[0], outcomes[0] == outcomes[1])


@case(differs="loops with `bit_vectorize`")
def conway(show):
    x, y = bits(), bits()

    @ti.func
    def body(i, j):
        n = ti.u32(0)
        for di, dj in ti.static(ti.ndrange((-1, 2), (-1, 2))):
            if ti.static(di != 0 or dj != 0):
                n += ti.cast(x[i + di, j + dj], ti.u32)
        y[i, j] = (n == 3) | ((n == 2) & (x[i, j] == 1))

    both(show, body, x, y)


@case(differs="loops with `bit_vectorize`")
def arithmetic(show):
    x, y, z = bits(), bits(), bits()

    @ti.func
    def sums(i, j):
        a = x[i, j] + z[i, j] + x[i, j + 1] - z[i, j - 1]
        y[i, j] = a > 1

    @ti.func
    def signs(i, j):
        a = ti.cast(x[i, j], ti.i32) - ti.cast(z[i, j], ti.i32)
        b = -a + 3
        y[i, j] = (a < 0) ^ (b >= 3)

    @ti.func
    def large(i, j):
        a = ti.cast(x[i, j], ti.i32) * 0 + 1
        y[i, j] = a

    @ti.func
    def complements(i, j):
        y[i, j] = ~x[i, j] & 1 | (~ti.cast(z[i, j], ti.i32) == -2)

    for body in (sums, signs, large, complements):
        both(show, body, x, y, z)


@case(differs="loops with `bit_vectorize`")
def choices(show):
    x, y, z = bits(), bits(), bits()

    @ti.func
    def select(i, j):
        y[i, j] = ti.select(x[i, j] == 1, z[i + 1, j], z[i - 1, j])

    @ti.func
    def conditional(i, j):
        y[i, j] = z[i, j] if x[i, j] == z[i, j + 1] else 1 - z[i, j]

    @ti.func
    def logic(i, j):
        y[i, j] = 1 if x[i, j] == 1 and not (z[i, j] == 1 or x[i, j + 2] == 1) else 0

    @ti.func
    def branches(i, j):
        if x[i, j] == 1:
            y[i, j] = z[i, j]
        else:
            y[i, j] = 0

    for body in (select, conditional, logic, branches):
        both(show, body, x, y, z)


@case(differs="loops with `bit_vectorize`")
def distances(show):
    x, y = bits(), bits()
    for distance in (1, -1, 31, -31, 32, -32):

        @ti.func
        def body(i, j):
            y[i, j] = x[i, j + distance] ^ x[i - 1, j]

        both(show, body, x, y)


@case(differs="loops with `bit_vectorize`")
def words_of_other_bits(show):
    for word in (8, 16, 64):
        x, y = bits(word), bits(word)

        @ti.func
        def body(i, j):
            y[i, j] = (x[i, j - 3] + x[i, j + 3] + x[i + 1, j]) == 2

        both(show, body, x, y)


@case(differs="loops with `bit_vectorize`")
def signed_bits_and_other_words(show):
    x, y, z = bits(signed=True), bits(), bits(64)

    @ti.func
    def signed(i, j):
        y[i, j] = x[i, j] + x[i, j + 1] < -1

    @ti.func
    def other(i, j):
        y[i, j] = x[i, j] == z[i, j]

    both(show, signed, x, y)
    both(show, other, x, y, z)


@case(differs="loops with `bit_vectorize`")
def updates(show):
    x, y, z = bits(), bits(), bits()
    total = ti.field(ti.i32, shape=3)

    @ti.func
    def in_place(i, j):
        y[i, j] += x[i, j]
        y[i, j] &= z[i, j + 1]
        y[i, j] |= x[i, j - 1]
        y[i, j] ^= z[i, j]

    @ti.func
    def counted(i, j):
        total[0] += x[i, j]
        total[1] += ti.cast(x[i, j] + z[i, j], ti.i32) - 1
        ti.atomic_sub(total[2], ti.cast(x[i, j] & z[i, j], ti.i32))
        y[i, j] = x[i, j]

    both(show, in_place, x, y, z)
    both(show, counted, x, y, z)
    show(total.to_numpy())


@case(differs="loops with `bit_vectorize`")
def offsets(show):
    x, y = bits(offset=(0, 0)), bits()
    z = ti.field(quant.int(1, False))
    row = ti.root.dense(ti.ij, (ROWS + 2, COLUMNS // 32 + 2))
    row.quant_array(ti.j, 32, max_num_bits=32).place(z, offset=(-1, -5))

    @ti.kernel
    def fill():
        for i, j in z:
            z[i, j] = (i * 3 + j * j) % 7 < 3

    fill()

    @ti.func
    def body(i, j):
        y[i, j] = x[i, j] ^ z[i - 1, j - 5]

    both(show, body, x, y)

    @ti.kernel
    def over(by_words: ti.template()) -> ti.i32:
        s = 0
        ti.loop_config(bit_vectorize=by_words)
        for i, j in z:
            s += x[i + 1, j + 5] & z[i, j]
        return s

    show(over(True), over(False))


@case(differs="loops with `bit_vectorize`")
def sparse_blocks(show):
    block = ti.root.pointer(ti.ij, 4)
    x, y = (ti.field(quant.int(1, False)) for _ in range(2))
    for field in (x, y):
        words = block.dense(ti.ij, (4, 1)).quant_array(ti.j, 32, max_num_bits=32)
        words.place(field)

    @ti.kernel
    def life(by_words: ti.template(), x: ti.template(), y: ti.template()):
        ti.loop_config(bit_vectorize=by_words)
        for i, j in x:
            n = 0
            for di, dj in ti.static(ti.ndrange((-1, 2), (-1, 2))):
                n += x[i + di, j + dj]
            y[i, j] = (n == 3) | ((n == 4) & (x[i, j] == 1))

    @ti.kernel
    def cells() -> ti.i32:
        n = 0
        for i, j in block:
            n += 1
        return n

    @ti.kernel
    def start():
        for i, j in ti.ndrange((5, 15), (40, 90)):
            x[i, j] = ((i * 7919 + j * 104729) ^ (i * j)) % 5 < 2

    @ti.kernel
    def digest(x: ti.template()) -> ti.i32:
        s = 0
        for i, j in x:
            s += x[i, j] * (i * 37 + j)
        return s

    for by_words in (True, False):
        start()
        for _ in range(3):
            life(by_words, x, y)
            life(by_words, y, x)
        show(digest(x), cells())
        block.deactivate_all()


@case(differs="loops with `bit_vectorize`")
def bodies_that_go_bit_by_bit(show):
    x, y = bits(), bits()
    plain = ti.field(ti.i32, shape=(ROWS + 2, COLUMNS + 64))

    @ti.func
    def index(i, j):
        y[i, j] = (i + j) % 3 == 0

    @ti.func
    def elsewhere(i, j):
        plain[i, j] = x[i, j] + 1
        y[i, j] = plain[i, j] == 2

    @ti.func
    def transposed(i, j):
        y[i, j] = x[j % 12, i + 40]

    @ti.func
    def floats(i, j):
        y[i, j] = x[i, j] * 0.75 > 0.5

    for body in (index, elsewhere, transposed, floats):
        both(show, body, x, y)
