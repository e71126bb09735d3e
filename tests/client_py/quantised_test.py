"""Quantised fields against a model in plain Python: random words, values and ways to write."""

import math
import random

import pytest
import quant_model as model

CELLS = 6


def random_numbers(rng, bits):
    """Random numbers that fit into a word, and their types."""
    numbers, left = [], bits
    while len(numbers) < 4:
        kind = rng.choice(["int", "int", "fixed", "float"])
        signed = rng.random() < 0.6
        if kind == "float":
            exponent_bits = rng.randint(2, 8)
            digits = rng.randint(1, 23) + signed
        else:
            exponent_bits, digits = 0, rng.randint(1, 31)
        if digits + exponent_bits > left:
            break
        scale = rng.choice([2.0 ** rng.randint(-20, 3), rng.uniform(1e-3, 2)])
        left -= digits + exponent_bits
        numbers.append(model.Number(kind, digits, signed, scale, exponent_bits))
    return numbers or [model.Number("int", bits, True, 1.0, 0)]


def random_group(rng):
    exponent_bits = rng.randint(3, 8)
    sizes = [(rng.randint(2, 16), rng.random() < 0.7) for _ in range(rng.randint(2, 3))]
    group = [model.Number("float", d + s, s, 1.0, exponent_bits) for d, s in sizes]
    for number in group:
        number.group = group
    return group


def type_of(ti, number):
    quant = ti.types.quant
    if number.kind == "int":
        return quant.int(number.bits, bool(number.signed), compute=ti.i32)
    if number.kind == "fixed":
        return quant.fixed(number.bits, bool(number.signed), scale=number.scale)
    return quant.float(number.exponent_bits, number.bits, bool(number.signed))


def random_value(rng, number):
    if number.kind == "int":
        return rng.choice([0, 1, -1, rng.randint(-(2**31), 2**31 - 1), rng.randint(-20, 20)])
    if number.kind == "fixed":
        reach = number.scale * 2**number.bits
        return model.f32(min(max(rng.uniform(-reach, reach), -1e9 * number.scale), 1e9))
    sign = rng.choice([-1, 1]) if number.signed else 1
    return model.f32(sign * math.ldexp(rng.uniform(1, 2), rng.randint(-20, 20)))


@pytest.mark.parametrize("seed", range(24))
def test_random_words_agree_with_the_model(ti, seed):
    rng = random.Random(seed)
    bits = rng.choice([8, 16, 32, 64, 64])
    numbers = random_group(rng) if seed % 4 == 0 else random_numbers(rng, bits)
    bits = 64 if seed % 4 == 0 else bits
    assert model.lay_out(numbers) <= bits
    fields = [ti.field(type_of(ti, number)) for number in numbers]
    word = ti.BitpackedFields(max_num_bits=bits)
    word.place(*fields, shared_exponent=seed % 4 == 0)
    ti.root.dense(ti.i, CELLS).place(word)

    @ti.kernel
    def write(x: ti.template(), i: ti.i32, v: ti.template()):
        x[i] = v

    @ti.kernel
    def add(x: ti.template(), times: ti.i32, v: ti.template()):
        for i in range(times * CELLS):
            x[i % CELLS] += v

    words = [0] * CELLS
    for step in range(30):
        number = rng.randrange(len(numbers))
        value, cell = random_value(rng, numbers[number]), rng.randrange(CELLS)
        way = rng.random()
        if way < 0.6:
            fields[number][cell] = value
            words[cell] = model.write(words[cell], numbers[number], value)
        elif way < 0.85:
            write(fields[number], cell, value)
            words[cell] = model.write(words[cell], numbers[number], value)
        else:
            add(fields[number], 3, value)
            for _ in range(3):
                words = [model.add(old, numbers[number], value) for old in words]
        for of, field in zip(numbers, fields):
            read = [field[i] for i in range(CELLS)]
            assert read == [model.read(old, of) for old in words], (seed, step, vars(of))


class RandomVector:
    """A field of vectors whose components are in random words or none, and its model."""

    def __init__(self, ti, rng):
        self.words = []  # the numbers of each
        self.of = []  # component -> (word, number), or None for a plain f32
        for _ in range(rng.randint(2, 4)):
            shares = rng.random() < 0.4
            numbers = random_group(rng) if shares else random_numbers(rng, 64)
            numbers = [n for n in numbers if n.kind != "int"]
            model.lay_out(numbers)
            self.of += [(len(self.words), number) for number in numbers]
            self.words.append(numbers)
        self.of += [None] * rng.randint(0, 2) or [None] * (2 - len(self.of))
        rng.shuffle(self.of)
        types = [ti.f32 if of is None else type_of(ti, of[1]) for of in self.of]
        self.field = ti.Vector.field(len(types), dtype=types)
        cells = ti.root.dense(ti.i, CELLS)
        for at, numbers in enumerate(self.words):
            if numbers:
                word = ti.BitpackedFields(max_num_bits=64)
                places = [self.field.get_scalar_field(self.of.index((at, n))) for n in numbers]
                word.place(*places, shared_exponent=numbers[0].group is not None)
                cells.place(word)
        for component, of in enumerate(self.of):
            if of is None:
                cells.place(self.field.get_scalar_field(component))
        self.plain = [[0.0] * len(types) for _ in range(CELLS)]
        self.bits = [[0] * len(self.words) for _ in range(CELLS)]

    def random_values(self, rng):
        return [
            random_value(rng, model.Number("float", 9, 1, 1.0, 5) if of is None else of[1])
            for of in self.of
        ]

    def write(self, cell, values):
        """All components, or those that `values` has."""
        groups = {}
        for component, value in values.items():
            if self.of[component] is None:
                self.plain[cell][component] = value
                continue
            at, number = self.of[component]
            if number.group:
                groups.setdefault(at, {})[number] = value
            else:
                self.bits[cell][at] = model.write(self.bits[cell][at], number, value)
        for at, written in groups.items():
            self.bits[cell][at] = model.write_shared(self.bits[cell][at], written)

    def read(self, cell):
        return [
            self.plain[cell][component] if of is None else model.read(self.bits[cell][of[0]], of[1])
            for component, of in enumerate(self.of)
        ]


@pytest.mark.parametrize("seed", range(16))
def test_random_vectors_in_several_words_agree_with_the_model(ti, seed):
    rng = random.Random(seed)
    vector = RandomVector(ti, rng)
    v, n = vector.field, len(vector.of)
    source = ti.Vector.field(n, ti.f32, shape=())

    @ti.kernel
    def store(i: ti.i32):
        v[i] = source[None]

    @ti.kernel
    def store_one(i: ti.i32, component: ti.i32, value: ti.f32):
        v[i][component] = value

    @ti.kernel
    def reverse(i: ti.i32):
        old = v[i]
        for k in ti.static(range(n)):
            source[None][k] = old[n - 1 - k]

    for step in range(30):
        cell, way = rng.randrange(CELLS), rng.random()
        values = vector.random_values(rng)
        component = rng.randrange(n)
        if way < 0.25:
            v[cell] = values
            vector.write(cell, dict(enumerate(values)))
        elif way < 0.5:
            source[None] = values
            store(cell)
            vector.write(cell, dict(enumerate(values)))
        elif way < 0.7:
            v[cell][component] = values[component]
            vector.write(cell, {component: values[component]})
        elif way < 0.9:
            store_one(cell, component, values[component])
            vector.write(cell, {component: values[component]})
        else:
            v.fill(values)
            for one in range(CELLS):
                vector.write(one, dict(enumerate(values)))
        expected = [vector.read(i) for i in range(CELLS)]
        assert v.to_numpy().tolist() == expected, (seed, step)
        assert [v[i].to_list() for i in range(CELLS)] == expected, (seed, step)
        reverse(cell)
        assert source[None].to_list() == expected[cell][::-1], (seed, step)
    whole = v.to_numpy()
    v.from_numpy(whole)
    for i in range(CELLS):
        vector.write(i, dict(enumerate(whole[i].tolist())))
    assert v.to_numpy().tolist() == [vector.read(i) for i in range(CELLS)]


def test_members_written_by_one_iteration(ti):
    quant = ti.types.quant
    types = [quant.int(5), quant.fixed(11, scale=0.25), quant.float(6, 10), quant.int(7, False)]
    fields = [ti.field(of) for of in types]
    word = ti.BitpackedFields(max_num_bits=64)
    word.place(*fields)
    n = 1000
    ti.root.dense(ti.i, n).place(word)
    x, y, z, w = fields

    @ti.kernel
    def scatter():
        for i in range(n):
            j = (i * 7) % n
            x[j] = i % 31 - 15
            y[j] = i * 0.25
            z[j] = i
            w[j] += 3

    scatter()
    order = [(j * pow(7, -1, n)) % n for j in range(n)]
    assert x.to_numpy().tolist() == [i % 31 - 15 for i in order]
    assert y.to_numpy().tolist() == [((i + 1024) % 2048 - 1024) * 0.25 for i in order]
    assert w.to_numpy().tolist() == [3] * n
    assert all(abs(a - i) <= i / 512 for a, i in zip(z.to_numpy().tolist(), order))


def test_many_threads_update_one_word(ti):
    x = ti.field(ti.types.quant.int(20))
    y = ti.field(ti.types.quant.fixed(30, scale=0.5))
    word = ti.BitpackedFields(max_num_bits=64)
    word.place(x, y)
    ti.root.place(word)
    bits = ti.field(ti.types.quant.int(1, False))
    ti.root.dense(ti.i, 4).quant_array(ti.i, 64, max_num_bits=64).place(bits)

    @ti.kernel
    def run():
        for i in range(100000):
            x[None] += 1
            y[None] += 0.5
            bits[(i * 3) % 256] = 1

    run()
    assert (x[None], y[None]) == (100000, 50000.0)
    assert bits.to_numpy().tolist() == [1] * 256
