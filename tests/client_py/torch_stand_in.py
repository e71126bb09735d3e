"""What stands in for PyTorch where it is not installed."""

import types

import numpy as np


class Tensor:
    """The methods of torch.Tensor that Kiln uses, for float tensors those of autograd, too."""

    def __init__(self, array, grad=False):
        self.array, self.requires_grad = array, grad
        self.grad = None
        self.made_by = None  # (subclass of Function, context, inputs, all outputs)

    dtype = property(lambda self: self.array.dtype)
    shape = property(lambda self: self.array.shape)

    def detach(self):
        return Tensor(self.array)

    def clone(self):
        return Tensor(self.array.copy())

    def fill_(self, value):
        self.array.fill(value)
        return self

    def numel(self):
        return self.array.size

    def cpu(self):
        return self

    def contiguous(self):
        return self if self.is_contiguous() else Tensor(np.ascontiguousarray(self.array))

    def is_contiguous(self):
        return self.array.flags.c_contiguous

    def numpy(self):
        return self.array

    def to(self, device):
        return self

    def __dlpack__(self, stream=None):
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient")
        if self.array.dtype == bool:  # as of PyTorch 1.13
            raise RuntimeError("Bool type is not supported by dlpack")
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)

    def is_floating_point(self):
        return self.array.dtype.kind == "f"

    def backward(self, gradient):
        """Goes back through one function."""
        function, context, inputs, outputs = self.made_by
        gradients = [gradient if one is self else zeros_like(one) for one in outputs]
        for value, found in zip(inputs, function.backward(context, *gradients)):
            if found is not None:
                before = 0 if value.grad is None else value.grad.array
                value.grad = Tensor(before + found.array)


def zeros_like(tensor):
    return Tensor(np.zeros_like(tensor.array))


class _Context:
    def __init__(self, inputs):
        self.needs_input_grad = tuple(getattr(x, "requires_grad", False) for x in inputs)
        self.constant = ()

    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors

    def mark_non_differentiable(self, *tensors):
        self.constant = tensors


class Function:
    """torch.autograd.Function"""

    @classmethod
    def apply(cls, *inputs):
        context = _Context(inputs)
        outputs = cls.forward(context, *inputs)
        for one in outputs:
            one.requires_grad = any(context.needs_input_grad) and one not in context.constant
            one.made_by = (cls, context, inputs, outputs)
        return outputs


def module():
    """The module `torch`."""
    return types.SimpleNamespace(
        Tensor=Tensor,
        autograd=types.SimpleNamespace(Function=Function),
        from_numpy=Tensor,
        zeros=lambda *shape: Tensor(np.zeros(shape, np.float32)),
        zeros_like=zeros_like,
        arange=lambda n: Tensor(np.arange(n)),
        is_grad_enabled=lambda: False,
    )
