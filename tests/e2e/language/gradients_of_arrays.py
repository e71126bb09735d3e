"""`ti.ad` for ndarrays and tensors: their gradients, in kernels and by tapes."""

import sys
import types

import numpy as np
from harness import case, ti


@case()
def ndarrays(show):
    @ti.kernel
    def k(x: ti.types.ndarray(), loss: ti.types.ndarray()):
        for i in x:
            loss[0] += x[i] ** 2

    x = ti.ndarray(ti.f32, 3, needs_grad=True)
    loss = ti.ndarray(ti.f32, 1, needs_grad=True)
    x.from_numpy(np.array([1, 2, 3], np.float32))
    for _ in range(2):
        with ti.ad.Tape(loss):
            k(x, loss)
        show(loss[0], x.grad)
    v = ti.ndarray(ti.math.vec2, 2, needs_grad=True)

    @ti.kernel
    def total(v: ti.types.ndarray(), loss: ti.types.ndarray()):
        for i in v:
            loss[0] += v[i].dot(v[i])

    v.fill(3)
    with ti.ad.Tape(loss):
        total(v, loss)
    show(loss[0], v.grad)


@case()
def ndarrays_without_gradients(show):
    @ti.kernel
    def k(x: ti.types.ndarray(), y: ti.types.ndarray(needs_grad=False), loss: ti.types.ndarray()):
        for i in x:
            loss[0] += x[i] * y[i]

    x, y = (ti.ndarray(ti.f32, 2, needs_grad=True) for _ in range(2))
    plain = ti.ndarray(ti.f32, 2)
    loss = ti.ndarray(ti.f32, 1, needs_grad=True)
    for array in (x, y, plain):
        array.fill(3)
    for arguments in ((x, y), (plain, y), (x, plain), (x, y)):
        with ti.ad.Tape(loss):
            k(*arguments, loss)
        show(loss[0], x.grad, y.grad)

    @ti.kernel
    def needs(x: ti.types.ndarray(needs_grad=True)):
        pass

    show.error(needs, plain)


@case()
def gradients_of_ndarrays_in_kernels(show):
    @ti.kernel
    def add(x: ti.types.ndarray()) -> ti.f32:
        total = 0.0
        for i in range(3):
            total += x.grad[i]
        return total

    @ti.kernel
    def put(x: ti.types.ndarray()):
        for i in x:
            x.grad[i] = x[i] + 1

    x = ti.ndarray(ti.f32, 3, needs_grad=True)
    x.grad.fill(2)
    show(add(x))
    put(x)
    show(x.grad, add(x))


@case(differs="arrays without a gradient")
def gradients_that_ndarrays_lack(show):
    @ti.kernel
    def add(x: ti.types.ndarray()) -> ti.f32:
        return x.grad[0]

    show.error(add, ti.ndarray(ti.f32, 3))
    x = ti.ndarray(ti.f32, 3, needs_grad=True)
    x.grad.fill(2)
    show(add(x))
    show.error(add, ti.ndarray(ti.f32, 3))
    x._set_grad(ti.ndarray(ti.f32, 2))
    show.error(add, x)


class Tensor:
    """A stand-in for a tensor of PyTorch."""

    def __init__(self, array, requires_grad=True, grad=None):
        self.array, self.requires_grad, self.grad = array, requires_grad, grad

    dtype = property(lambda self: self.array.dtype)
    shape = property(lambda self: self.array.shape)

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def detach(self):
        return Tensor(self.array, requires_grad=False)

    def contiguous(self):
        return self

    def is_floating_point(self):
        return True

    def numel(self):
        return self.array.size

    def is_contiguous(self):
        return self.array.flags.c_contiguous


@case(differs="tensors of other libraries")
def gradients_of_tensors(show):
    """On a device, copies of the gradients come back as those of the tensors do."""

    @ti.kernel
    def square(x: ti.types.ndarray(), y: ti.types.ndarray()):
        for i in x:
            y[i] = x[i] * x[i]

    def tensor(*numbers):
        of_gradient = Tensor(np.ones(len(numbers), np.float32), requires_grad=False)
        return Tensor(np.array(numbers, np.float32), grad=of_gradient)

    x, y = tensor(1, 2, 3), tensor(0, 0, 0)
    square(x, y)
    show(y.array.tolist())
    square.grad(x, y)
    show(x.grad.array.tolist(), y.grad.array.tolist())


@case(differs="tensors of other libraries")
def mistakes_with_tensors(show):
    @ti.kernel
    def k(x: ti.types.ndarray()):
        pass

    array = np.ones((2, 3), np.float32)
    show.error(k, Tensor(array, grad=3))
    show.error(k, Tensor(array, grad=Tensor(np.ones((3, 2), np.float32).T)))
    show.error(ti.ad.Tape(Tensor(array)).__enter__)
    show.error(ti.ad.Tape(Tensor(array[:1, 0], requires_grad=False)).__enter__)


@case(differs="kernels as functions of PyTorch")
def mistakes_with_functions_of_pytorch(show):
    if not hasattr(ti.ad, "torch_function"):
        return

    class Function:
        """A stand-in: `apply` goes forward and back."""

        @classmethod
        def apply(cls, *inputs):
            context = types.SimpleNamespace(saved_tensors=inputs, needs_input_grad=[True])
            context.save_for_backward = context.mark_non_differentiable = lambda *tensors: None
            cls.backward(context, *cls.forward(context, *inputs))

    function = types.SimpleNamespace(Function=Function)
    sys.modules["torch"] = types.SimpleNamespace(
        Tensor=Tensor, autograd=function, is_grad_enabled=lambda: True
    )

    @ti.kernel
    def k(x: ti.types.ndarray(), s: ti.f32, y: ti.types.ndarray()):
        for i in x:
            y[i] = x[i] * s

    @ti.kernel
    def with_result(x: ti.types.ndarray()) -> ti.f32:
        return x[0]

    show.error(ti.ad.torch_function, len, out={"y": "x"})
    show.error(ti.ad.torch_function, with_result, out={"x": "x"})
    show.error(ti.ad.torch_function, k, out="y")
    show.error(ti.ad.torch_function, k, out={"s": "x"})
    show.error(ti.ad.torch_function, k, out={"y": "z"})
    x = Tensor(np.ones(3, np.float32))
    show.error(ti.ad.torch_function(k, out={"y": lambda x, s: x}), x, 1.0)
    f = ti.ad.torch_function(k, out={"y": lambda x, s: Tensor(np.ones(3, np.float32))})
    show.error(f, np.ones(3), 1.0)
    show.error(f, x, x)
    show.error(f, x, 1.0, x)
    show.error(f, x, 1.0)
    with ti.ad.Tape():
        show.error(f, x, 1.0)
    del sys.modules["torch"]


@case(differs="tensors of other libraries")
def converted_tensors(show):
    @ti.kernel
    def k(x: ti.types.ndarray(dtype=ti.math.vec2)):
        pass

    show.error(k.grad, Tensor(np.ones((3, 2)), grad=Tensor(np.ones((3, 2)))))


@case()
def gradients_through_gradients_of_ndarrays(show):
    @ti.kernel
    def k(x: ti.types.ndarray(), loss: ti.types.ndarray()):
        for i in x:
            loss[0] += x.grad[i] * x[i]

    x = ti.ndarray(ti.f32, 3, needs_grad=True)
    loss = ti.ndarray(ti.f32, 1, needs_grad=True)
    k(x, loss)
    show.error(k.grad, x, loss)


@case(differs="arguments of gradients that share memory")
def arrays_that_share_memory(show):
    a = ti.ndarray(ti.f32, 4, needs_grad=True)
    b = ti.ndarray(ti.f32, 4, needs_grad=True)

    @ti.kernel
    def k(x: ti.types.ndarray(), y: ti.types.ndarray()):
        for i in x:
            y[i] = x[i] ** 2

    a.fill(3)
    b.grad.fill(1)
    k(a, b)
    k.grad(a, b)
    show(a.grad)
    show.error(k.grad, a, a)
