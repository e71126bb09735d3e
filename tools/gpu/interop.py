#!/usr/bin/python3
"""Checks Kiln beside PyTorch and CuPy on a CUDA device, in the same processes: one JSON line each.

    interop.py [--only CHECK...] [--long]

A line has the check's name, its seconds, and `passed`: true, false with `why`, or null if what it
needs is missing. Checks run in processes that end with the first failure, since a device that
failed stays so; those that spoil their process have one of their own. --long: memory over 10^4
calls of ti.init and 10^5 ndarrays.

    interop.py --stand-in

Runs, in one process on the emulator, the checks that need no more of PyTorch than stand_in.py has,
so that a cache has the kernels of all checks. Kernels that other checks launch appear in these. Of
many turns of a check only a few are made there, but with --long.
"""

import ctypes
import gc
import json
import os
import resource
import sys
import threading

import numpy as np

IS_STAND_IN = "--stand-in" in sys.argv
if IS_STAND_IN:
    import stand_in

    torch = stand_in.install()
else:
    try:
        import torch
    except ImportError as error:
        print(json.dumps({"name": "PyTorch", "passed": None, "why": str(error)}))
        sys.exit()
import checks  # noqa: E402
import kiln as ti  # noqa: E402
from checks import OPTIONS, Missing, check  # noqa: E402

DTYPES = (
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("float16", "float32", "float64", "bool"),
)


# ---- kernels


@ti.kernel
def double(a: ti.types.ndarray()):
    for I in ti.grouped(a):  # noqa: E741
        a[I] = a[I] * 2


@ti.kernel
def copy(a: ti.types.ndarray(), b: ti.types.ndarray()):
    for I in ti.grouped(a):  # noqa: E741
        b[I] = a[I]


@ti.kernel
def saxpy(s: ti.f32, x: ti.types.ndarray(), y: ti.types.ndarray()):
    for i in x:
        y[i] = s * x[i] + y[i]


@ti.kernel
def square(x: ti.types.ndarray(), y: ti.types.ndarray()):
    for i in x:
        y[i] = x[i] ** 2


@ti.kernel
def total(a: ti.types.ndarray()) -> ti.f64:
    s = ti.f64(0.0)
    for i in a:
        s += a[i]
    return s


@ti.kernel
def steps(a: ti.types.ndarray(dtype=ti.u32, ndim=1), count: ti.i32):
    """A long one: `count` steps of a generator of random numbers for each element."""
    for i in a:
        s = a[i]
        for _ in range(count):
            s = s * ti.u32(1664525) + ti.u32(1013904223)
        a[i] = s


def after_steps(numbers, count):
    """What `steps` gives: each step is x -> a x + c, and so are many."""
    a, c, by, plus = 1, 0, 1664525, 1013904223
    while count:
        if count % 2:
            a, c = a * by % 2**32, (c * by + plus) % 2**32
        by, plus, count = by * by % 2**32, (by * plus + plus) % 2**32, count // 2
    return numbers * np.uint32(a) + np.uint32(c)


@ti.kernel
def norms(points: ti.types.ndarray(dtype=ti.math.vec3, ndim=1), out: ti.types.ndarray()):
    for i in points:
        out[i] = points[i].norm_sqr()


@ti.kernel
def poke(a: ti.types.ndarray(), at: ti.i32):
    for _ in range(1):
        a[at] = 1


@ti.kernel
def up(x: ti.template()):
    for I in ti.grouped(x):  # noqa: E741
        x[I] += 1


# ---- for checks


def given(array):
    """A tensor on the device."""
    return torch.from_numpy(np.array(array, order="C")).to("cuda")


def read(tensor):
    return tensor.detach().cpu().numpy()


def same(found, wanted, about=""):
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape, f"{about}: shape {found.shape} instead of {wanted.shape}"
    wrong = np.argwhere(found != wanted)
    assert len(wrong) == 0, (
        f"{about}: wrong at {wrong[:3].tolist()} and so on, {len(wrong)} elements of {found.size}: "
        f"{found.ravel()[:8]} instead of {wanted.ravel()[:8]}"
    )


def refused(text, call, *args):
    """Expects an error whose message has the text."""
    try:
        call(*args)
    except Exception as error:
        assert text in str(error), f"{type(error).__name__}: {error} (expected: {text})"
        return str(error)
    raise AssertionError(f"no error (expected: {text})")


def turns(number):
    return 3 if IS_STAND_IN and not OPTIONS.long else number


def cupy():
    if IS_STAND_IN:
        raise Missing("CuPy")
    try:
        import cupy
    except ImportError as error:
        raise Missing(str(error)) from None
    return cupy


def driver():
    return ctypes.CDLL(os.environ.get("KILN_CUDA_DRIVER", "libcuda.so.1"))


def slow():
    """Something that keeps PyTorch's current stream busy for up to a millisecond."""
    torch.cuda._sleep(int(np.random.default_rng().integers(1_500_000)))


# ---- tensors as arguments


@check()
def in_place():
    numbers = np.arange(1000, dtype=np.float32)
    tensor = given(numbers)
    address = tensor.data_ptr()
    double(tensor)
    double(tensor)
    tensor.add_(1)
    same(read(tensor), numbers * 4 + 1)
    assert tensor.data_ptr() == address


@check()
def all_types():
    numbers = np.array([1, 0, 1, 1, 0, 1, 0, 0, 1])
    for name in DTYPES:
        wanted = numbers.astype(name)
        result = given(np.zeros_like(wanted))
        copy(given(wanted), result)
        same(read(result), wanted, name)
        if name != "bool":
            double(result)
            same(read(result), wanted + wanted, name)


@check()
def all_shapes():
    for shape in (), (0,), (1,), (3, 0), (0, 3), (5, 7), (2, 3, 4), (2, 1, 3, 2), (100_003,):
        numbers = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
        tensor = given(numbers)
        double(tensor)
        same(read(tensor), numbers * 2, shape)


@check()
def slices_at_any_alignment():
    """Loops that move 16 bytes at once take other paths where addresses are no multiples of 16."""
    numbers = np.random.default_rng(1).random(200, dtype=np.float32)
    for first in range(5):
        for second in range(5):
            for count in (1, 3, 4, 17, 64) if IS_STAND_IN else (*range(20), 63, 64, 65, 190):
                x, y = given(numbers), given(numbers)
                saxpy(2.0, x[first : first + count], y[second : second + count])
                wanted = numbers.copy()
                wanted[second : second + count] += 2 * numbers[first : first + count]
                found = read(y)
                about = f"offsets {first}, {second}, {count} elements"
                assert np.allclose(found, wanted, rtol=1e-6), about
                same(read(x), numbers, about)
    for name in "uint8", "int16", "float64":
        for first in range(1, 4):
            numbers = np.arange(100).astype(name)
            tensor = given(numbers)
            double(tensor[first : first + 41])
            wanted = numbers.copy()
            wanted[first : first + 41] *= 2
            same(read(tensor), wanted, name)
    rows = given(np.arange(60, dtype=np.float32).reshape(12, 5))
    double(rows[3:7])
    wanted = np.arange(60, dtype=np.float32).reshape(12, 5)
    wanted[3:7] *= 2
    same(read(rows), wanted)


@check()
def not_contiguous():
    numbers = np.arange(12, dtype=np.float32).reshape(3, 4)
    tensor = given(numbers)
    for view in tensor.t(), tensor[:, 1:3], tensor[::2]:
        refused("contiguous", double, view)
    same(read(tensor), numbers)
    double(tensor)
    same(read(tensor), numbers * 2)


@check(stand_in=False)
def views_of_pytorch():
    """Expanded, conjugated and in other formats: refused or right, never silently wrong."""
    numbers = np.arange(24, dtype=np.float32)
    wide = given(numbers[:1]).expand(8)
    refused("contiguous", double, wide)
    images = given(numbers.reshape(2, 3, 2, 2)).to(memory_format=torch.channels_last)
    refused("contiguous", double, images)
    one = torch.as_strided(given(numbers), (1, 3), (17, 1))
    double(one)
    same(read(one)[0], numbers[:3] * 2)
    refused("type", double, torch.zeros(3, dtype=torch.complex64, device="cuda"))
    refused("type", double, torch.zeros(3, dtype=torch.bfloat16, device="cuda"))
    with torch.inference_mode():
        tensor = given(numbers)
        double(tensor)
    same(read(tensor), numbers * 2)
    parameter = torch.nn.Parameter(given(numbers))
    result = torch.empty_like(parameter, requires_grad=False)
    copy(parameter.detach(), result)
    same(read(result), numbers)


@check()
def vectors_and_results():
    points = np.arange(60, dtype=np.float32).reshape(20, 3)
    tensor = given(points)
    for first in range(4):
        part = tensor[first : first + 10]
        out = given(np.zeros(10, np.float32))
        norms(part, out)
        same(read(out), (points[first : first + 10] ** 2).sum(1), first)
    numbers = np.arange(1000, dtype=np.float32)
    assert total(given(numbers)) == numbers.sum()
    assert total(given(np.arange(1000))) == 499500


@check(stand_in=False)
def tensors_on_the_cpu():
    """As NumPy's arrays: a copy for the launch, and back."""
    tensor = torch.arange(10, dtype=torch.float32)
    double(tensor)
    same(tensor.numpy(), np.arange(10) * 2)
    pinned = torch.arange(10, dtype=torch.float32).pin_memory()
    double(pinned)
    same(pinned.numpy(), np.arange(10) * 2)
    mixed = given(np.zeros(10, np.float32))
    copy(tensor, mixed)
    same(read(mixed), np.arange(10) * 2)


@check()
def other_types_are_refused():
    typed = given(np.zeros(5, np.float32))
    refused("u32", steps, typed, 1)
    refused("", norms, given(np.zeros((5, 2), np.float32)), typed)
    double(typed)
    same(read(typed), np.zeros(5))


# ---- gradients


@check()
def gradients_of_tensors():
    numbers = np.arange(1, 6, dtype=np.float32)
    x, y = given(numbers).requires_grad_(), given(np.zeros_like(numbers)).requires_grad_()
    square(x, y)
    same(read(y), numbers**2)
    y.grad = given(np.full(5, 3, np.float32))
    square.grad(x, y)
    same(read(x.grad), 6 * numbers)


class Square(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        y = torch.empty_like(x)
        square(x.detach(), y)
        context.save_for_backward(x)
        return y

    @staticmethod
    def backward(context, gradient):
        (x,) = context.saved_tensors
        x = x.detach().requires_grad_()
        y = torch.zeros_like(x).requires_grad_()
        y.grad = gradient.clone()
        square.grad(x, y)
        return x.grad


@check()
def function_of_autograd():
    numbers = np.arange(1, 6, dtype=np.float32)
    x = given(numbers).requires_grad_()
    y = Square.apply(x)
    same(read(y), numbers**2)
    y.backward(given(np.full(5, 3, np.float32)))
    same(read(x.grad), 6 * numbers)


@check(stand_in=False)
def function_in_a_network():
    """PyTorch goes back in a thread of its own, here in another stream than the default one."""
    numbers = np.random.default_rng(1).random(1000, dtype=np.float32)
    for stream in torch.cuda.default_stream(), torch.cuda.Stream():
        with torch.cuda.stream(stream):
            x = given(numbers).requires_grad_()
            for _ in range(20):
                x.grad = None
                slow()
                (Square.apply(Square.apply(x) + 1) * 3).sum().backward()
                wanted = 3 * 2 * (numbers**2 + 1) * 2 * numbers
                assert np.allclose(read(x.grad), wanted, rtol=1e-4)


@check()
def torch_function():
    numbers = np.arange(1, 6, dtype=np.float32)
    function = ti.ad.torch_function(square, out={"y": "x"})
    for stream in torch.cuda.default_stream(), torch.cuda.Stream():
        with torch.cuda.stream(stream):
            for turn in range(turns(50)):
                x = given(numbers + turn).requires_grad_()
                slow()
                y = function(x)
                same(read(y), (numbers + turn) ** 2)
                y.backward(given(np.full(5, 3, np.float32)))
                same(read(x.grad), 6 * (numbers + turn))
    writes = ti.ad.torch_function(copy, out={"a": "b"})
    refused("read-only", writes, given(numbers))


# ---- memory of Kiln for others


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


# ---- order of work


def work_in_order(number, before=slow):
    """PyTorch's work, a kernel's, and PyTorch's again, on parts of all sizes."""
    generator = np.random.default_rng(7)
    most = 1 << (10 if IS_STAND_IN else 16)
    tensor = given(np.zeros(most, np.int32))
    for turn in range(turns(number)):
        count = int(generator.integers(1, most))
        part = tensor[:count]
        long = int(generator.integers(1, 30 if IS_STAND_IN else 30_000))
        before()
        part.fill_(turn)
        double(part)
        part.add_(1)
        found = read(part)
        same(found, np.full(count, 2 * turn + 1, np.int32), f"turn {turn}")
        numbers = given(np.arange(count, dtype=np.uint32))
        before()
        result = numbers.clone()
        steps(result, long)
        same(read(result), after_steps(np.arange(count, dtype=np.uint32), long), f"turn {turn}")


@check()
def order_in_the_default_stream():
    work_in_order(400)


@check()
def order_in_streams_of_pytorch():
    for _ in range(2):
        with torch.cuda.stream(torch.cuda.Stream()):
            work_in_order(300)


@check()
def order_in_streams_of_both():
    """The kernels in PyTorch's stream, or in another one, while PyTorch uses its own."""
    mine, other = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(mine), ti.cuda.stream(mine):
        work_in_order(200)
    with torch.cuda.stream(mine), ti.cuda.stream(other):
        work_in_order(200)
    with ti.cuda.stream(other):
        work_in_order(200)


@check()
def order_of_shared_ndarrays():
    """What DLPack gives PyTorch is ordered when it is given."""
    x = ti.ndarray(ti.u32, shape=1 << 12)
    for turn in range(turns(200)):
        with torch.cuda.stream(torch.cuda.Stream()):
            x.fill(turn)
            steps(x, 20 if IS_STAND_IN else 20_000)
            tensor = torch.from_dlpack(x)
            wanted = after_steps(np.full(1 << 12, turn, np.uint32), 20 if IS_STAND_IN else 20_000)
            same(read(tensor), wanted, f"turn {turn}")


@check()
def temporaries():
    """PyTorch uses the memory of tensors again while a kernel may still run."""
    for stream in torch.cuda.default_stream(), torch.cuda.Stream():
        with torch.cuda.stream(stream):
            results = []
            for turn in range(turns(300)):
                first = given(np.full(5000, turn, np.uint32))
                second = torch.empty_like(first)
                steps(first, 20 if IS_STAND_IN else 5000)
                copy(first, second)
                del first
                again = torch.empty_like(second)
                again.fill_(123)
                results.append(second)
            for turn, result in enumerate(results):
                count = 20 if IS_STAND_IN else 5000
                same(read(result), after_steps(np.full(5000, turn, np.uint32), count), turn)


@check(stand_in=False)
def order_in_streams_of_cupy():
    cp = cupy()
    for stream in cp.cuda.Stream(), cp.cuda.Stream(non_blocking=True):
        with stream, torch.cuda.stream(torch.cuda.ExternalStream(stream.ptr)):
            for turn in range(turns(200)):
                slow()
                array = cp.full(20_000, turn, np.uint32)
                array += 1
                steps(array, 10_000)
                array += 1
                wanted = after_steps(np.full(20_000, turn + 1, np.uint32), 10_000) + 1
                same(cp.asnumpy(array), wanted, f"turn {turn}")


@check()
def two_threads():
    """Each in a stream of its own, and both in the default one."""
    errors = []

    def work(stream):
        try:
            with torch.cuda.stream(stream):
                for turn in range(turns(200)):
                    tensor = given(np.full(1000 + turn, turn, np.int32))
                    double(tensor)
                    tensor.add_(1)
                    double(tensor)
                    same(read(tensor), np.full(1000 + turn, turn * 4 + 2, np.int32), turn)
        except BaseException as error:
            errors.append(error)

    for streams in (
        (torch.cuda.Stream(), torch.cuda.Stream()),
        (torch.cuda.default_stream(), torch.cuda.default_stream()),
    ):
        # The emulator's stand-in is no allocator that threads may share.
        threads = [threading.Thread(target=work, args=(stream,)) for stream in streams]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]


# ---- graphs


@check()
def captured_graphs():
    """Of Kiln, around work of PyTorch's in another stream."""
    x, y = ti.ndarray(ti.u32, 5000), ti.ndarray(ti.u32, 5000)
    count = 20 if IS_STAND_IN else 2000
    steps(x, count)
    copy(x, y)
    with ti.graph.capture() as graph:
        steps(x, count)
        copy(x, y)
    x.fill(0)
    tensor = torch.from_dlpack(y)
    wanted = np.zeros(5000, np.uint32)
    for turn in range(turns(100)):
        graph.launch()
        wanted = after_steps(wanted, count)
        same(read(torch.from_dlpack(y)), wanted, f"turn {turn}")
    same(read(tensor), wanted)


@check(stand_in=False)
def graphs_of_both():
    x = ti.ndarray(ti.u32, 5000)
    steps(x, 2000)
    with ti.graph.capture() as graph:
        steps(x, 2000)
    x.fill(0)
    tensor = torch.from_dlpack(x).view(torch.int32)
    torch.cuda.synchronize()
    other = torch.cuda.CUDAGraph()
    with torch.cuda.graph(other):
        tensor.add_(5)
    wanted = np.zeros(5000, np.uint32)
    for turn in range(100):
        graph.launch()
        torch.from_dlpack(x)  # orders the current stream
        other.replay()
        torch.cuda.synchronize()
        wanted = after_steps(wanted, 2000) + np.uint32(5)
        same(x.to_numpy(), wanted, f"turn {turn}")


@check(alone=True, stand_in=False)
def a_kernel_in_a_capture_of_pytorch():
    """Captured, or an error; never a launch that the graph does not repeat."""
    tensor = given(np.ones(1000, np.float32))
    double(tensor)
    torch.cuda.synchronize()
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    try:
        with torch.cuda.graph(graph, stream=stream), ti.cuda.stream(stream):
            tensor.add_(1)
            double(tensor)
    except Exception as error:
        print(f"a capture of PyTorch's: {type(error).__name__}: {error}", file=sys.stderr)
        raise Missing(f"captures: {type(error).__name__}: {str(error)[:500]}") from None
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    same(read(tensor), np.full(1000, ((2 * 2 + 2) * 2 + 2) * 2 + 2))


# ---- the device


def current_context():
    context = ctypes.c_void_p()
    assert driver().cuCtxGetCurrent(ctypes.byref(context)) == 0
    return context.value


@check(alone=True, stand_in=False)
def the_primary_context():
    tensor = given(np.ones(10, np.float32))
    before = current_context()
    double(tensor)
    x = ti.field(ti.f32, 10)
    up(x)
    assert x[3] == 1 and current_context() == before
    context = ctypes.c_void_p()
    assert driver().cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert context.value == before
    ti.reset()
    assert current_context() == before
    same(read(tensor.add_(1)), np.full(10, 3))


@check(alone=True, stand_in=False, start=False)
def kiln_before_pytorch():
    """Nothing of PyTorch has used the device yet."""
    ti.init(arch=ti.cuda)
    x = ti.field(ti.f32, 10)
    up(x)
    assert x[3] == 1
    tensor = given(np.ones(10, np.float32))
    double(tensor)
    same(read(tensor), np.full(10, 2))
    up(x)
    ti.init(arch=ti.cuda)
    double(tensor)
    same(read(tensor), np.full(10, 4))


@check(alone=True, stand_in=False)
def another_context_is_current():
    other = ctypes.c_void_p()
    tensor = given(np.ones(10, np.float32))
    double(tensor)
    assert driver().cuCtxCreate_v2(ctypes.byref(other), 0, 0) == 0
    double(tensor)
    same(read(tensor), np.full(10, 4))
    assert driver().cuCtxSetCurrent(other) == 0
    x = ti.ndarray(ti.f32, 10)
    x.fill(1)
    double(x)
    assert x[3] == 2


@check(alone=True)
def memory_stays_flat():
    """Of the device and of the process, over calls of ti.init and over ndarrays."""
    inits = turns(10_000 if OPTIONS.long else 300)
    arrays = turns(100_000 if OPTIONS.long else 20_000)
    tensor = given(np.ones(10, np.float32))

    def init():
        ti.init(arch=ti.cuda)
        x = ti.field(ti.f32, (64, 64))
        cells = ti.field(ti.f32)
        ti.root.pointer(ti.ij, 8).dense(ti.ij, 8).place(cells)
        up(x)
        cells[3, 3] = 1
        up(cells)
        double(tensor)
        ti.reset()

    def array():
        x = ti.ndarray(ti.f32, 1000)
        double(x)

    found = {}
    for name, run, number, warm in ("ti.init", init, inits, 20), ("ndarrays", array, arrays, 2000):
        ti.init(arch=ti.cuda)
        for turn in range(number):
            run()
            if turn == min(max(warm, number // 10), number - 1):
                before = used()
        device, process = (now - then for now, then in zip(used(), before))
        found[name] = f"{device >> 10} KiB of the device, {process >> 10} of the process"
        assert device <= 8 << 20 and process <= 48 << 20, f"after {number} {name}: {found[name]}"
    return found


def used():
    ti.sync() if ti.lang.impl.get_runtime().prog else torch.cuda.synchronize()
    gc.collect()
    free, total = torch.cuda.mem_get_info()
    with open("/proc/self/statm") as file:
        _, resident, shared, *_ = map(int, file.read().split())
    # Without files and shared memory, in which the emulator has its device's.
    return total - free, (resident - shared) * resource.getpagesize()


@check(stand_in=False)
def out_of_memory():
    """In either library; both go on."""
    tensor = given(np.ones(10, np.float32))
    refused("memory", lambda: torch.empty(1 << 40, device="cuda"))
    double(tensor)
    refused("allocate", lambda: ti.ndarray(ti.f64, (1 << 18, 1 << 18)))
    double(tensor)
    same(read(tensor.add_(1)), np.full(10, 5))


@check()
def results_after_errors():
    numbers = np.arange(12, dtype=np.float32).reshape(3, 4)
    tensor = given(numbers)
    for _ in range(3):
        refused("contiguous", double, tensor.t())
        refused("", square, tensor, "text")
        refused("u32", steps, tensor, 3)
    double(tensor)
    same(read(tensor), numbers * 2)


@check(alone=True, stand_in=False)
def a_forked_child():
    tensor = given(np.ones(10, np.float32))
    double(tensor)
    torch.cuda.synchronize()
    sys.stdout.flush()
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        text = "no error"
        try:
            x = ti.ndarray(ti.f32, 10)
            double(x)
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
        os.write(into, text.encode()[:2000])
        os._exit(0)
    os.close(into)
    with os.fdopen(out) as file:
        text = file.read()
    os.waitpid(child, 0)
    assert "forked" in text, text
    double(tensor)
    same(read(tensor), np.full(10, 4))


@check(alone=True, stand_in=False)
def a_fault_of_pytorch():
    """After it, Kiln says that the device failed, and does not hang."""
    tensor = given(np.ones(10, np.float32))
    double(tensor)
    ti.sync()
    tensor[torch.tensor([100], device="cuda")] = 1  # asserts in its kernel
    return refused("CUDA", lambda: (double(tensor), ti.sync()))


@check(alone=True, stand_in=False)
def a_fault_of_kiln():
    """The error names the kernel. PyTorch tells of the failure, too."""
    tensor = given(np.ones(10, np.float64))
    poke(tensor, 3)
    ti.sync()
    poke(tensor, 2**31 - 1)
    text = refused("poke", ti.sync)
    refused("CUDA", lambda: read(tensor))
    refused("CUDA", lambda: (double(tensor), ti.sync()))
    return text


@check()
def kernels_of_other_checks():
    """Compiles what only checks launch that need more than stand_in.py."""
    tensor = given(np.zeros(10, np.float64))
    poke(tensor, 9)
    same(read(tensor)[8:], [0, 1])
    double(tensor)
    x = ti.field(ti.f32, 10)
    up(x)
    assert x[3] == 1


if __name__ == "__main__":
    sys.exit(checks.main(__doc__))
