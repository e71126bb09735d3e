"""Kernels of many instances: each call gets that of its own arguments."""

import gc
import random

import numpy as np

COUNT = 40  # beyond the few that a call compares one by one


def in_random_order(count, rounds=3):
    calls = list(range(count)) * rounds
    random.Random(1).shuffle(calls)
    return calls


def test_numbers(ti):
    @ti.kernel
    def k(n: ti.template()) -> ti.f32:
        return n * 2.0

    values = [*range(-5, COUNT), 2**40, True, 0.0, -0.0, 1.0, float("nan"), 2.5]
    for i in in_random_order(len(values)):
        value = values[i]
        got = k(value)
        assert np.float32(got).tobytes() == np.float32(value * 2.0).tobytes() or value != value
    assert k.num_instances == len(values)


def test_fields_and_arguments_beside_them(ti):
    fields = [ti.field(ti.i32, 3) for _ in range(COUNT)]

    @ti.kernel
    def add(f: ti.template(), n: ti.i32, a: ti.types.ndarray(), scale: ti.template()):
        for i in f:
            f[i] += (n + a[i]) * scale

    expected = np.zeros((COUNT, 3), np.int32)
    for step, i in enumerate(in_random_order(COUNT)):
        array = np.arange(3, dtype=np.int32 if step % 3 else np.int64)
        add(fields[i], step, array, i % 2 + 1)
        expected[i] += (step + array).astype(np.int32) * (i % 2 + 1)
    assert np.array_equal([f.to_numpy() for f in fields], expected)


def test_objects_that_come_and_go(ti):
    @ti.data_oriented
    class Counter:
        def __init__(self, step):
            self.step, self.sum = step, ti.field(ti.i32, ())

        @ti.kernel
        def add(self, times: ti.i32):
            self.sum[None] += self.step * times

    counters = [Counter(step) for step in range(COUNT)]
    rng = random.Random(2)
    for step in range(6 * COUNT):
        i = rng.randrange(COUNT)
        if step % 3 == 0:
            # Another object, perhaps at the address of the old one.
            counters[i] = Counter(step)
            gc.collect()
        counter = counters[i]
        before = counter.sum[None]
        counter.add(step)
        assert counter.sum[None] == before + counter.step * step
    assert Counter.add.num_instances <= COUNT + 1


def test_equal_objects_are_one_instance(ti):
    @ti.kernel
    def k(key: ti.template(), sizes: ti.template()) -> ti.i32:
        return ti.static(key[0] + sizes[1])

    for _ in range(20):
        for n in range(COUNT):
            assert k((n, "a"), (0, n)) == 2 * n  # new tuples each time
    assert k.num_instances == COUNT


def test_comparisons_that_call_the_kernel(ti):
    calls = []

    class Key(tuple):
        """A template argument whose `==` calls the kernel with other arguments, or drops all."""

        def __eq__(self, other):
            calls.append(1)
            if len(calls) % 7 == 0:
                k(len(calls) % 5)
            if len(calls) % 50 == 0:
                k._forget()
            return tuple.__eq__(self, other)

        __hash__ = tuple.__hash__

    @ti.kernel
    def k(key: ti.template()) -> ti.i32:
        return ti.static(key if isinstance(key, int) else key[0])

    for n in in_random_order(COUNT, 10):
        assert k(Key((n,))) == n
        assert k(n) == n


def test_init_forgets_all(ti):
    @ti.kernel
    def k(n: ti.template()) -> ti.f32:
        return ti.cast(n, float) + 0.1

    for n in range(COUNT):
        k(n)
    ti.init(arch=ti.cpu, default_fp=ti.f64)
    assert k.num_instances == 0
    for n in range(COUNT):
        assert abs(k(n) - (n + 0.1)) < 1e-5
    assert k.num_instances == COUNT
