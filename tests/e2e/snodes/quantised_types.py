"""Quantised types as objects, the construction of words, and errors."""

from harness import case, ti

quant = ti.types.quant


def word(*types, bits=32, **options):
    fields = [ti.field(of) for of in types]
    made = ti.BitpackedFields(max_num_bits=bits)
    made.place(*fields, **options)
    return made


@case()
def names_of_types(show):
    types = (
        quant.int(5),
        quant.int(bits=6, signed=False),
        quant.int(3, compute=ti.i8),
        quant.fixed(8, max_value=4.0),
        quant.fixed(7, signed=False, max_value=3.0, compute=ti.f64),
        quant.fixed(bits=12, scale=0.1),
        quant.float(5, 10),
        quant.float(exp=6, frac=13, signed=False),
    )
    for of in types:
        show(of.to_string())
    show(quant.int(5) == quant.int(5), quant.int(5) == quant.int(6))
    show(quant.fixed(8) == quant.fixed(8), quant.fixed(8) == quant.fixed(8, scale=0.5))


@case()
def types_of_fields(show):
    x, y = ti.field(quant.int(5)), ti.field(quant.float(5, 10))
    made = ti.BitpackedFields(max_num_bits=32)
    made.place(x, y)
    ti.root.dense(ti.i, 4).place(made)
    show(str(x.dtype), str(y.dtype), x.shape, repr(x))
    show(str(x.parent()), str(x.parent(2)), x.parent().shape, repr(x.snode))
    z = ti.field(quant.int(4))
    ti.root.dense(ti.i, 3).quant_array(ti.i, 8, max_num_bits=32).place(z)
    show(str(z.parent()), z.parent().shape, str(z.parent(2)))


@case()
def sizes(show):
    for bits in (8, 16, 32, 64):
        made = word(quant.int(3), quant.int(5), bits=bits)
        block = ti.root.dense(ti.i, 4)
        block.place(made)
        show(block._cell_size_bytes)
    x, y = ti.field(quant.int(3)), ti.field(ti.f64)
    block = ti.root.dense(ti.i, 4)
    block.quant_array(ti.j, 4, max_num_bits=16).place(x)
    block.place(y)
    show(block._cell_size_bytes)


@case(differs="words of quantised numbers")
def words_that_are_none(show):
    for bits in (0, 7, 12, 24, 48, 65, 128, -1):
        show.error(ti.BitpackedFields, bits)
        show.error(ti.root.quant_array, ti.i, 4, bits)


@case(differs="words of quantised numbers")
def words_that_overflow(show):
    show.error(word, quant.int(20), quant.int(13))
    show.error(word, quant.float(8, 24), quant.int(1))
    show.error(word, quant.int(64), bits=32)
    x = ti.field(quant.int(5))
    show.error(ti.root.dense(ti.i, 3).quant_array(ti.i, 8, max_num_bits=32).place, x)


@case(differs="words of quantised numbers")
def what_words_do_not_hold(show):
    show.error(word, ti.i32)
    show.error(word, quant.int(5), ti.f32)
    show.error(ti.BitpackedFields(32).place, 3)
    show.error(ti.BitpackedFields(32).place, [ti.field(quant.int(3))])
    show.error(ti.root.place, ti.BitpackedFields(32))
    show.error(ti.root.place, ti.field(quant.int(3)))
    show.error(lambda: ti.field(quant.int(3), 4))
    array = ti.root.dense(ti.i, 3).quant_array
    show.error(array(ti.i, 2, 32).place, ti.field(quant.float(5, 6)))
    show.error(array(ti.i, 2, 32).place, ti.field(ti.i32))
    show.error(array(ti.i, 2, 32).place, ti.field(quant.int(4)), ti.field(quant.int(4)))
    show.error(array(ti.i, 2, 32).place, ti.Vector.field(2, quant.int(4)))
    show.error(array(ti.i, 2, 32).dense, ti.i, 2)
    show.error(array(ti.i, 2, 32).place, word(quant.int(3)))


@case(differs="words of quantised numbers")
def fields_placed_twice(show):
    x = ti.field(quant.int(5))
    made = ti.BitpackedFields(32)
    made.place(x)
    show.error(made.place, x)
    ti.root.dense(ti.i, 4).place(made)
    show.error(ti.root.dense(ti.i, 4).place, made)
    show.error(ti.BitpackedFields(32).place, x)


@case(differs="words of quantised numbers")
def exponents_that_cannot_be_shared(show):
    show.error(word, quant.float(5, 10), shared_exponent=True)
    show.error(word, quant.float(5, 10), quant.float(6, 9), shared_exponent=True)


@case(differs="invalid quantised types")
def types_that_are_none(show):
    show.error(quant.int, 0)
    show.error(quant.int, 65)
    show.error(quant.int, 1.5)
    show.error(quant.int, 5, compute=ti.f32)
    show.error(quant.fixed, 33)
    show.error(quant.fixed, 5, compute=ti.i32)
    show.error(quant.fixed, 5, scale=0.0)
    show.error(quant.float, 9, 10)
    show.error(quant.float, 8, 25)
    show.error(quant.float, 8, 1)
    show.error(quant.float, 5, 10, compute=ti.f64)


@case(differs="invalid quantised types")
def types_of_values(show):
    of = quant.int(5)

    @ti.kernel
    def cast():
        print(ti.cast(3, of))

    @ti.kernel
    def local():
        a: of = 3
        print(a)

    show.error(cast)
    show.error(local)
    show.error(ti.ndarray, of, 4)
    show.error(lambda: ti.types.struct(a=of))
    vector = ti.Vector.field
    show.error(lambda: vector(2, dtype=[quant.int(5), quant.int(5, compute=ti.i64)]))
    show.error(lambda: vector(2, dtype=[quant.int(5), quant.int(6), quant.int(7)]))


@case(differs="numbers in Python scope that do not fit")
def numbers_that_are_no_integers(show):
    x = ti.field(quant.int(5))
    made = ti.BitpackedFields(32)
    made.place(x)
    ti.root.dense(ti.i, 4).place(made)

    def write(value):
        x[0] = value

    show.error(write, "3")
    show.error(write, 2.5)
    show.error(lambda: x[4])
