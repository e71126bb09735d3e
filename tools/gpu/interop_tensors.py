"""Checks of tensors as arguments of kernels, and of their gradients."""

import kiln as ti
import numpy as np
from checks import check
from interop_base import (
    DTYPES,
    IS_STAND_IN,
    copy,
    double,
    given,
    norms,
    read,
    refused,
    same,
    saxpy,
    slow,
    square,
    steps,
    torch,
    total,
    turns,
)

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
