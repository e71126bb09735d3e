"""Checks of memory that Kiln and other libraries share without a copy."""

import gc

import kiln as ti
import numpy as np
from checks import check
from interop_base import (
    DTYPES,
    copy,
    cupy,
    double,
    given,
    norms,
    read,
    refused,
    same,
    saxpy,
    torch,
    up,
)


@check()
def ndarrays_for_pytorch():
    x = ti.ndarray(ti.f32, shape=(4, 5))
    x.fill(2)
    double(x)
    tensor = torch.from_dlpack(x)
    same(read(tensor), np.full((4, 5), 4))
    tensor.add_(1)
    assert x[3, 4] == 5
    double(x)
    same(read(tensor), np.full((4, 5), 10))
    double(tensor)
    assert x[0, 0] == 20
    x[1, 1] = 7
    assert read(tensor)[1, 1] == 7
    for name in DTYPES:
        one = ti.ndarray(ti.u1 if name == "bool" else getattr(ti, _short(name)), shape=9)
        wanted = np.array([1, 0, 1, 1, 0, 1, 0, 0, 1]).astype(name)
        copy(given(wanted), one)
        same(read(torch.from_dlpack(one)), wanted, name)


def _short(name):
    return name.replace("float", "f").replace("uint", "u").replace("int", "i")


@check()
def fields_for_pytorch():
    f = ti.field(ti.i32, (4, 5))
    v = ti.Vector.field(3, ti.f32, 6, layout=ti.Layout.SOA)
    up(f)
    v.fill(1)
    up(v)
    one, vectors = torch.from_dlpack(f), torch.from_dlpack(v)
    same(read(one), np.ones((4, 5)))
    same(read(vectors), np.full((6, 3), 2))
    one.mul_(3)
    vectors.mul_(3)
    up(f)
    up(v)
    assert f[3, 4] == 4 and (v[5] == 7).all()
    ti.reset()
    same(read(one), np.full((4, 5), 4), "after ti.reset()")
    del one, vectors
    gc.collect()


@check()
def fields_beside_sparse_snodes():
    f, s, head = ti.field(ti.i32), ti.field(ti.i32), ti.field(ti.i32)
    ti.root.pointer(ti.i, 8).dense(ti.i, 4).place(s)
    ti.root.dense(ti.i, 10).place(f)
    cell = ti.root.dense(ti.i, 6)
    cell.place(head)
    cell.pointer(ti.j, 2).place(ti.field(ti.i32))
    s[5] = 3
    f[2] = 4
    one, heads = torch.from_dlpack(f), torch.from_dlpack(head)
    for turn in range(3):
        for field in f, s, head:
            up(field)
        one.add_(2)
        heads.add_(5)
        s[4 * turn] = 9  # a new cell, but for the second one
        assert f[2] == 4 + 3 * (turn + 1) and head[turn] == 6 * (turn + 1)
        f[9] = turn
        head[5] = 6 * (turn + 1)
        assert read(one)[9] == turn
        same(read(heads), np.full(6, 6 * (turn + 1)))
    wanted = np.zeros(32, np.int64)
    wanted[:12] = [11, 2, 2, 2, 10, 6, 3, 3, 9, 0, 0, 0]
    same(s.to_numpy(), wanted)


@check()
def trees_that_grow():
    x = ti.field(ti.i32)
    block = ti.root.pointer(ti.i, 1 << 10)
    block.dense(ti.i, 1 << 20).place(x)  # cells of 4 MiB, of 1 GiB at first

    @ti.kernel
    def fill(begin: ti.i32, end: ti.i32):
        for i in range(begin, end):
            x[i << 20] = i + 1

    @ti.kernel
    def total() -> ti.i64:
        s = ti.cast(0, ti.i64)
        for i in block:
            s += x[i << 20]
        return s

    for begin in range(0, 400, 50):
        fill(begin, begin + 50)
        assert total() == sum(range(begin + 51))
    x[400 << 20] = 5
    assert x[399 << 20] == 400 and x[400 << 20] == 5 and x[(399 << 20) - 1] == 0
    before, _ = torch.cuda.mem_get_info()
    ti.reset()
    gc.collect()
    after, _ = torch.cuda.mem_get_info()
    assert after - before >= 1600 << 20


@check()
def tensors_as_ndarrays():
    numbers = np.arange(30, dtype=np.float32).reshape(10, 3)
    tensor = given(numbers)
    x, v = ti.from_dlpack(tensor), ti.from_dlpack(tensor, dtype=ti.math.vec3)
    double(x)
    assert x[2, 1] == 14 and (v[2] == [12, 14, 16]).all()
    tensor.add_(1)
    assert x[2, 1] == 15
    out = given(np.zeros(10, np.float32))
    norms(v, out)
    same(read(out), ((numbers * 2 + 1) ** 2).sum(1))
    del tensor
    gc.collect()
    assert x[9, 2] == 59


@check(stand_in=False)
def fields_from_and_to_pytorch():
    f = ti.field(ti.f32, (4, 5))
    numbers = np.arange(20, dtype=np.float32).reshape(4, 5)
    f.from_torch(given(numbers))
    same(f.to_numpy(), numbers)
    same(read(f.to_torch(device="cuda:0")), numbers)
    f.from_torch(given(numbers).t().contiguous().t())
    same(f.to_numpy(), numbers)


@check(stand_in=False)
def cupy_in_place():
    cp = cupy()
    for name in DTYPES:
        numbers = np.array([1, 0, 1, 1, 0, 1, 0, 0, 1]).astype(name)
        result = cp.zeros(9, name)
        copy(cp.asarray(numbers), result)
        same(cp.asnumpy(result), numbers, name)
    numbers = np.arange(1000, dtype=np.float32)
    array = cp.asarray(numbers)
    for _ in range(3):
        double(array)
        array += 1
    same(cp.asnumpy(array), ((numbers * 2 + 1) * 2 + 1) * 2 + 1)
    x, y = cp.asarray(numbers), cp.asarray(numbers)
    saxpy(2.0, x[1:], y[2:])
    wanted = numbers.copy()
    wanted[2:] += 2 * numbers[1:-1]
    same(cp.asnumpy(y)[:-1], wanted[:-1])
    refused("", double, array[::2])
    double(cp.zeros(0, np.float32))


@check(stand_in=False)
def ndarrays_for_cupy():
    cp = cupy()
    x = ti.ndarray(ti.f32, shape=1000)
    x.fill(3)
    double(x)
    for view in cp.asarray(x), cp.from_dlpack(x):
        x.fill(3)
        double(x)
        view += 1
        same(x.to_numpy(), np.full(1000, 7))
        double(x)
        same(cp.asnumpy(view), np.full(1000, 14))
    tensor = torch.as_tensor(x, device="cuda")  # by __cuda_array_interface__
    assert tensor.data_ptr() == x.__cuda_array_interface__["data"][0]
    f = ti.field(ti.i32, (4, 5))
    up(f)
    same(cp.asnumpy(cp.asarray(f)), np.ones((4, 5)))
