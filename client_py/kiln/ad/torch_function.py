"""`ti.ad.torch_function`: a kernel as a function of PyTorch, with its gradient."""

from .. import _native
from ..active import check_not_captured
from ..arguments import ArrayParameter, PackParameter, shown
from ..data.interop import array_view, detached, make_read_only, may_overlap, release
from ..diagnostics import near, say


def torch_function(kernel, out):
    """Makes a function of PyTorch's tensors that runs a kernel and that PyTorch differentiates.

    kernel: a kernel or a method that is one; it has no result. It writes to outputs, to nothing
    else. out: for each output, the name of its parameter and how its tensor is made. This is a
    function of the other arguments, or the name of an argument, for zeros of its shape and type.

    The function takes the kernel's other arguments, and returns the output, or a tuple of several.
    Raises ValueError if the kernel writes to another tensor, and RuntimeError inside a Tape or
    FwdMode, and for second derivatives.

        @ti.kernel
        def square(x: ti.types.ndarray(), y: ti.types.ndarray()):
            for i in x:
                y[i] = x[i] ** 2

        def example():
            import torch

            f = ti.ad.torch_function(square, out={"y": "x"})
            x = torch.tensor([1.0, 2.0], requires_grad=True)
            f(x).sum().backward()
            print(x.grad)  # tensor([2., 4.])
    """
    call = _Call(kernel, out)
    apply = _function_class(call).apply

    def function(*args, **kwargs):
        found = apply(*call.inputs(args, kwargs))
        return found if len(call.outputs) > 1 else found[0]

    function.__name__ = function.__qualname__ = call.name
    function.__doc__ = kernel.__doc__
    return function


def _function_class(call):
    """The subclass of torch.autograd.Function for a _Call."""
    import torch

    class KernelFunction(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            outputs = call.run(inputs)
            tensors = [isinstance(value, torch.Tensor) for value in inputs]
            ctx.others = [None if is_one else value for value, is_one in zip(inputs, tensors)]
            ctx.positions = [position for position, is_one in enumerate(tensors) if is_one]
            # PyTorch refuses to go back if the program has overwritten a saved tensor.
            ctx.save_for_backward(*[inputs[position] for position in ctx.positions], *outputs)
            ctx.mark_non_differentiable(*[one for one in outputs if not one.is_floating_point()])
            return outputs

        @staticmethod
        def backward(ctx, *gradients):
            if torch.is_grad_enabled():  # with create_graph=True
                raise say.torch_function_differentiated_twice(kernel=call.name)
            inputs, saved = list(ctx.others), list(ctx.saved_tensors)
            for position in ctx.positions:
                inputs[position] = saved.pop(0)
            return call.run_gradient(inputs, saved, gradients, ctx.needs_input_grad)

    return KernelFunction


class _Call:
    """A kernel whose parameters are inputs and outputs."""

    def __init__(self, kernel, out):
        primal = getattr(kernel, "__func__", kernel)
        if not isinstance(primal, _native.KernelBase):
            raise say.torch_function_of_no_kernel(kind=type(kernel).__name__)
        self.kernel = kernel
        self.name = primal.__name__
        self._primal = primal
        self._bound = () if primal is kernel else (kernel.__self__,)
        parameters = primal.parameters[len(self._bound) :]
        if primal._returns or any(one.kind is PackParameter for one in parameters):
            raise say.torch_function_of_other_kernel(kernel=self.name)
        self._parameters = [one.name for one in parameters]
        self._arrays = {one.name for one in parameters if one.kind is ArrayParameter}
        if not isinstance(out, dict) or not out:
            raise say.torch_function_without_output(kernel=self.name)
        self.outputs = dict(out)
        self._inputs = [name for name in self._parameters if name not in out]
        for name, like in out.items():
            if name not in self._arrays:
                hint = near(name, self._arrays)
                raise say.torch_output_is_no_array(name=name, kernel=self.name, hint=hint)
            if not callable(like) and not (like in self._inputs and like in self._arrays):
                raise say.torch_output_like_no_input(name=name, like=like)

    def inputs(self, args, kwargs):
        """The inputs of a call by position, as they are now."""
        import torch

        check_not_captured(f"'{self.name}', which PyTorch differentiates,")
        if _native.watcher() is not None:
            raise say.torch_function_in_a_tape(kernel=self.name)
        named = dict(zip(self._inputs, args))
        for name in kwargs:
            if name in named or name in self.outputs:
                raise say.kernel_multiple_values_for_argument(name=name)
        if len(args) > len(self._inputs):
            raise say.kernel_too_many_arguments(
                kernel=self.name, expected=", ".join(self._inputs), given=shown(args)
            )
        named.update(kwargs, **dict.fromkeys(self.outputs))
        values = self._primal._recorded(self._bound, named)
        found = dict(zip(self._parameters, values[len(self._bound) :]))
        for name in self._inputs:
            is_tensor = isinstance(found[name], torch.Tensor)
            if is_tensor != (name in self._arrays):
                kind = type(found[name]).__name__
                raise say.torch_argument_of_wrong_type(name=name, kernel=self.name, kind=kind)
            if is_tensor:
                found[name] = found[name].contiguous()
        return [found[name] for name in self._inputs]

    def run(self, inputs):
        """Runs the kernel. Returns the outputs."""
        import torch

        named = dict(zip(self._inputs, inputs))
        views = dict(named)
        for name in self._arrays.intersection(self._inputs):
            views[name] = _view(named[name], name)
            make_read_only(views[name])  # the kernel's call raises if it writes to it
        outputs = []
        for name, like in self.outputs.items():
            made = like(*inputs) if callable(like) else torch.zeros_like(named[like])
            outputs.append(detached(made))
            view = _view(made, name)
            for other in self._arrays.intersection(views):
                if may_overlap(view, views[other]):
                    raise say.torch_output_shares_memory(name=name, other=other)
            views[name] = view
        self._call(self.kernel, views)
        return tuple(outputs)

    def run_gradient(self, inputs, outputs, gradients, needed):
        """The gradients of the inputs for those of the outputs; None for inputs without one.

        needed: for each input, whether it has one."""
        views, found = {}, []
        for name, value, is_needed in zip(self._inputs, inputs, needed):
            found.append(value.detach().clone().fill_(0) if is_needed else None)
            if name in self._arrays:
                view = _view(value, name, found[-1])
                if any(may_overlap(view, views[n]) for n in self._arrays & set(views)):
                    view = _view(value.detach().clone(), name, found[-1])
                value = view
            views[name] = value
        for name, value, gradient in zip(self.outputs, outputs, gradients):
            # The kernel's gradient clears that of the output, which PyTorch may share.
            own = gradient.clone().contiguous() if value.is_floating_point() else None
            views[name] = _view(value, name, own)
        self._call(self.kernel.grad, views)
        return tuple(found)

    def _call(self, kernel, views):
        values = [views[name] for name in self._parameters]
        kernel(*values)
        release(values)


def _view(tensor, name, gradient=None):
    """What a kernel gets for a tensor with a gradient, its parameter `name`; see array_view."""
    tensor = detached(tensor)
    if gradient is not None:
        tensor.requires_grad = True
        tensor.grad = gradient
    return array_view(tensor, name)


__all__ = ["torch_function"]
