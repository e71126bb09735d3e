"""Quantised fields against a model in plain Python: random words, values and ways to write."""

import math
import random

import pytest
import quant_model as model

CELLS = 6


def random_numbers(rng, bits):
    """Numbers that fit into a word, and the type of each."""
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
