"""Kernels as functions of PyTorch, or of its stand-in."""

import numpy as np
import pytest


def tensor(torch, numbers, grad=True):
    made = torch.from_numpy(np.array(numbers, np.float32))
    made.requires_grad = grad
    return made


@pytest.fixture
def scaled(ti):
    @ti.kernel
    def scaled(a: ti.types.ndarray(), b: ti.types.ndarray(), s: ti.f32, y: ti.types.ndarray()):
        for i in a:
            y[i] = a[i] ** 2 * b[i] * s

    return scaled


def ones(torch, count):
    return tensor(torch, [1] * count, False)


def test_gradients_of_all_inputs(ti, torch, scaled):
    f = ti.ad.torch_function(scaled, out={"y": "a"})
    a, b = tensor(torch, [1, 2, 3]), tensor(torch, [4, 5, 6])
    y = f(a, s=2.0, b=b)
    assert y.detach().numpy().tolist() == [8, 40, 108]
    seed = ones(torch, 3)
    y.backward(seed)
    assert a.grad.numpy().tolist() == [16, 40, 72]
    assert b.grad.numpy().tolist() == [2, 8, 18]
    assert seed.numpy().tolist() == [1, 1, 1]  # the kernel's gradient cleared a copy
    f(a, b, 2.0).backward(seed)
    assert a.grad.numpy().tolist() == [32, 80, 144]


def test_inputs_without_gradients(ti, torch, scaled):
    f = ti.ad.torch_function(scaled, out={"y": "a"})
    a, b = tensor(torch, [1, 2, 3]), tensor(torch, [4, 5, 6], False)
    f(a, b, 1.0).backward(ones(torch, 3))
    assert a.grad.numpy().tolist() == [8, 20, 36] and b.grad is None
    assert not f(b, b, 1.0).requires_grad


def test_a_tensor_that_is_passed_twice(ti, torch, scaled):
    f = ti.ad.torch_function(scaled, out={"y": "a"})
    a = tensor(torch, [1, 2, 3])
    f(a, a, 1.0).backward(ones(torch, 3))
    assert a.grad.numpy().tolist() == [3, 12, 27]


def test_several_outputs(ti, torch):
    @ti.kernel
    def k(n: ti.types.ndarray(), total: ti.types.ndarray(), x: ti.types.ndarray()):
        for i in x:
            n[i] = i
            total[0] += x[i] ** 3

    def indices(x):
        return torch.from_numpy(np.zeros(x.shape[0], np.int32))

    f = ti.ad.torch_function(k, out={"n": indices, "total": lambda x: torch.zeros(1)})
    x = tensor(torch, [1, 2])
    n, total = f(x)
    assert n.numpy().tolist() == [0, 1] and not n.requires_grad
    total.backward(ones(torch, 1))
    assert x.grad.numpy().tolist() == [3, 12]


def test_methods(ti, torch):
    @ti.data_oriented
    class Model:
        def __init__(self, power):
            self.power = power

        @ti.kernel
        def k(self, x: ti.types.ndarray(), y: ti.types.ndarray()):
            for i in x:
                y[i] = x[i] ** self.power

    for power in (2, 3):
        f = ti.ad.torch_function(Model(power).k, out={"y": "x"})
        assert f.__name__ == "k"
        x = tensor(torch, [2])
        f(x).backward(ones(torch, 1))
        assert x.grad.numpy().tolist() == [power * 2 ** (power - 1)]


def test_arguments_keep_their_values(ti, torch):
    @ti.kernel
    def k(x: ti.types.ndarray(), v: ti.math.vec2, y: ti.types.ndarray()):
        for i in x:
            y[i] = x[i] * v[0]

    f = ti.ad.torch_function(k, out={"y": "x"})
    x, v = tensor(torch, [1]), ti.Vector([3.0, 0.0])
    y = f(x, v)
    v[0] = 5
    y.backward(ones(torch, 1))
    assert x.grad.numpy().tolist() == [3]


def test_inputs_are_not_written(ti, torch, scaled):
    f = ti.ad.torch_function(scaled, out={"b": "a"})
    a = tensor(torch, [1])
    with pytest.raises(ValueError, match="'y' is read-only, and the kernel writes to it"):
        f(a, 1.0, tensor(torch, [1]))


def test_second_derivatives_are_refused(ti, torch, scaled):
    f = ti.ad.torch_function(scaled, out={"y": "a"})
    a = tensor(torch, [1])
    y = f(a, a, 1.0)
    if not hasattr(torch, "__version__"):
        torch.is_grad_enabled = lambda: True
        with pytest.raises(RuntimeError, match="no second derivatives"):
            y.backward(ones(torch, 1))
    else:
        with pytest.raises(RuntimeError, match="no second derivatives"):
            torch.autograd.grad(y.sum(), a, create_graph=True)


def test_converted_arrays_have_no_gradients(ti, torch):
    @ti.kernel
    def k(x: ti.types.ndarray(dtype=ti.math.vec2), y: ti.types.ndarray()):
        for i in x:
            y[i] = x[i][0]

    f = ti.ad.torch_function(k, out={"y": lambda x: torch.zeros(1)})
    x = torch.from_numpy(np.ones((1, 2)))
    x.requires_grad = True
    y = f(x)
    with pytest.raises(ValueError, match="x of dtype float64 has a gradient"):
        y.backward(ones(torch, 1))
