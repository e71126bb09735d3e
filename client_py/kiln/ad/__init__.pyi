# fmt: off
# ruff: noqa
# mypy: disable-error-code="override, misc"
# Written by tools/stubs/make.py: `./kiln python tools/stubs/make.py` writes it again.
"""`ti.ad`: derivatives of what kernels compute.

Reverse mode (`Tape`) computes the gradient of one number by everything that it depends on. Forward
mode (`FwdMode`) computes the derivatives of everything by one direction.
"""

from typing import Any
class FwdMode:
    """Computes how fields change along a direction of one of them, or of several.

    loss: a field, or a list of fields, whose derivatives the program wants; they are in `loss.dual`
    afterwards. param: the field that changes, or a list of them. seed: the direction, a flat list
    with one number for each component of `param`; of several fields, a list of such lists. May be
    left out if each field has one element. clear_gradients: whether to clear the duals of all
    fields first.

    Raises RuntimeError without a seed, and AssertionError for one of another length.

        x = ti.field(ti.f32, shape=2, needs_dual=True)
        y = ti.field(ti.f32, shape=2, needs_dual=True)

        @ti.kernel
        def square():
            for i in x:
                y[i] = x[i] ** 2

        x.fill(3.0)
        with ti.ad.FwdMode(loss=y, param=x, seed=[1, 0]):
            square()
        print(y.dual)  # prints: [6. 0.]
    """
    def __init__(self, loss: Any, param: Any, seed: Any = None, clear_gradients: Any = True) -> None: ...
    def __enter__(self) -> Any: ...
    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None: ...
    calls: Any
    clear_gradients: Any
    def clear_seed(self) -> Any:
        """Sets the dual of `param` to zero; the end of the block does so."""
    entered: Any
    def insert(self, func: Any) -> Any:
        """Marks a kernel as one that computes derivatives until the block ends.

        func: the kernel.
        """
    kernels_recovered: Any
    loss: Any
    modes: Any
    param: Any
    def recover_kernels(self) -> Any:
        """Undoes the marks of `insert`; the end of the block does so."""
    seed: Any
class Tape:
    """Computes the gradients of a loss by everything that kernels computed it from.

    loss: a field with one element, an ndarray or a tensor; with a gradient. None: the program sets
    gradients itself and calls `grad()`. clear_gradients: whether to clear the gradients of all
    fields first. validation: whether to check, element by element, what kernels overwrite. A launch
    raises TaichiAssertionError if it overwrites what it, or an earlier one, has read from a field
    with a gradient. Only in debug mode; otherwise a warning says so. grad_check: a list of fields
    of f64, whose gradients are compared with finite differences; raises AssertionError if they
    differ. access: what happens if a gradient needs values that the kernel of a later call may have
    overwritten: "warn", "error" (a RuntimeError) or "ignore".

    Raises RuntimeError for a loss without a gradient or with several elements, and for a tape
    within another one. If the body raises, no gradients are computed.

        x = ti.field(ti.f32, shape=(), needs_grad=True)
        loss = ti.field(ti.f32, shape=(), needs_grad=True)

        @ti.kernel
        def square():
            loss[None] += x[None] ** 2

        x[None] = 3.0
        with ti.ad.Tape(loss):
            square()
        print(x.grad)  # prints: 6.0
    """
    def __init__(self, loss: Any = None, clear_gradients: Any = True, validation: Any = False, grad_check: Any = None, access: Any = "warn") -> None: ...
    def __enter__(self) -> Any: ...
    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None: ...
    access: Any
    calls: Any
    clear_gradients: Any
    entered: Any
    eval_on_exit: Any
    def grad(self) -> Any:
        """Runs the gradients of the recorded calls, the last one first. The end of the `with` block
        does so if the tape has a loss.
        """
    grad_checker: Any
    gradient_evaluated: Any
    def insert(self, func: Any, args: Any) -> Any:
        """Records a call that the tape has not seen.

        func: a kernel, or a function with an attribute `grad`. args: its arguments.

            with ti.ad.Tape() as tape:
                pass
            tape.insert(print, ("not run",))
            print(len(tape.calls))  # prints: 1
        """
    loss: Any
    @property
    def modes(self) -> Any:
        """What each recorded function computes without the tape: a member of AutodiffMode."""
    validation: Any
def check_grad(f: Any, loss: Any, inputs: Any, tolerance: Any = None) -> Any:
    """Compares gradients with finite differences along random directions. Leaves all fields as `f`
    leaves them.

    f: a function without parameters that runs kernels, which compute the loss. loss: a field or
    ndarray with one element and a gradient. inputs: those whose gradients are compared, one or a
    list. tolerance: the largest relative error; by default 1e-5 if all are of f64, 0.02 otherwise.
    Raises AssertionError for a larger one.

        x = ti.field(ti.f64, shape=2, needs_grad=True)
        loss = ti.field(ti.f64, shape=(), needs_grad=True)

        @ti.kernel
        def total():
            for i in x:
                loss[None] += ti.sin(x[i])

        ti.ad.check_grad(total, loss, x)
        print(x.grad)  # prints: [1. 1.]
    """
def checkpoint(step: Any, n: Any, state: Any = None, slots: Any = None) -> Any:
    """Runs a loop of steps that overwrite their fields. A Tape computes its gradient from a few
    copies of the state, and runs steps again.

    step: a function that runs the kernels of a step; its parameter is the number of the step, from
    0 to n - 1. state: a list of the fields, ndarrays and textures that a step takes over from the
    one before. What else a step writes, it writes anew before it reads it. slots: the largest
    number of copies of the state at one time. By default, enough to run each step at most three
    times. Without a Tape, the steps just run.

    Raises TypeError or ValueError for other arguments, and RuntimeError if `state` is not complete.
    The gradient raises RuntimeError if steps that ran again gave other values.

        x = ti.field(ti.f32, shape=(), needs_grad=True)
        y = ti.field(ti.f32, shape=(), needs_grad=True)
        loss = ti.field(ti.f32, shape=(), needs_grad=True)

        @ti.kernel
        def half():
            y[None] = 0.5 * x[None] ** 2

        @ti.kernel
        def total():
            loss[None] += x[None]

        def step(i):
            half()
            x.copy_from(y)

        x[None] = 1.0
        with ti.ad.Tape(loss):
            ti.ad.checkpoint(step, 3, state=[x], slots=2)
            total()
        print(x.grad)  # prints: 0.0625
    """
def clear_all_gradients(gradient_type: Any = ...) -> Any:
    """Sets the gradients of all fields to zero; of sparse fields, those of active elements.

    gradient_type: ADJOINT for gradients, DUAL for duals (members of lang.enums.SNodeGradType).

        x = ti.field(ti.f32, shape=2, needs_grad=True)
        x.grad.fill(1.0)
        ti.ad.clear_all_gradients()
        print(x.grad)  # prints: [0. 0.]
    """
def grad_for(primal: Any) -> Any:
    """Decorator of a function that computes the gradient of another one.

    primal: the function whose gradient it is, decorated by `grad_replaced`. Raises RuntimeError for
    a kernel, and for any other function. Both functions have the same parameters.

        @ti.ad.grad_replaced
        def forward():
            pass

        @ti.ad.grad_for(forward)
        def backward():
            print("backward")

        forward.grad()  # prints: backward
    """
def grad_replaced(func: Any) -> Any:
    """Decorator of a function whose gradient is another function, which `grad_for` decorates.

    func: a function or method that runs kernels. A Tape records a call of it instead of the calls
    of the kernels.

        x = ti.field(ti.f32, shape=(), needs_grad=True)
        loss = ti.field(ti.f32, shape=(), needs_grad=True)

        @ti.kernel
        def square():
            loss[None] += x[None] ** 2

        @ti.ad.grad_replaced
        def forward():
            square()

        @ti.ad.grad_for(forward)
        def backward():
            x.grad[None] = 10 * loss.grad[None]

        with ti.ad.Tape(loss):
            forward()
        print(x.grad)  # prints: 10.0
    """
def hvp(f: Any, loss: Any, x: Any, v: Any) -> Any:
    """The product of the Hessian of a loss by `x` and a vector, as a NumPy array.

    f: a function without parameters that runs kernels, which compute the loss. loss: a field with
    one element. x: a field. All fields of floats through which the loss depends on `x` need
    gradients and duals. v: an array of the form of `x.to_numpy()`. Returns an array of that form.
    Sets the loss to zero first, and clears all gradients and duals. Raises RuntimeError for a field
    with a gradient but no dual, and inside a tape.

    Each kernel runs once with its duals, then the derivative of its gradient runs. This is about
    four times the work of a gradient, for any number of parameters (Pearlmutter, Fast exact
    multiplication by the Hessian, 1994).

        x = ti.field(ti.f32, shape=2, needs_grad=True, needs_dual=True)
        loss = ti.field(ti.f32, shape=(), needs_grad=True, needs_dual=True)

        @ti.kernel
        def product():
            loss[None] += x[0] ** 2 * x[1]

        x.from_numpy(np.array([1, 2], np.float32))
        print(ti.ad.hvp(product, loss, x, np.array([1, 0], np.float32)))  # prints: [4. 2.]
    """
def jacobian(f: Any, y: Any, x: Any) -> Any:
    """The Jacobian of `y` by `x`, a NumPy array of the forms of `y.to_numpy()` and `x.to_numpy()`,
    one after the other. Takes one run of the gradients for each number in `y`.

    f: a function without parameters that runs kernels, which compute `y` from `x`. y, x: fields or
    ndarrays with gradients. Clears all gradients.

        x = ti.field(ti.f32, shape=2, needs_grad=True)
        y = ti.field(ti.f32, shape=2, needs_grad=True)

        @ti.kernel
        def square():
            for i in x:
                y[i] = x[i] ** 2

        x.from_numpy(np.array([1, 2], np.float32))
        print(ti.ad.jacobian(square, y, x))
        # prints: [[2. 0.]
        # prints:  [0. 4.]]
    """
def no_grad(func: Any) -> Any:
    """Decorator of a function without gradients: a Tape skips the kernels that it runs.

    func: a function or method.

        @ti.ad.no_grad
        def show(x):
            print(x)

        show(1)  # prints: 1
    """
def torch_function(kernel: Any, out: Any) -> Any:
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
def vjp(f: Any, y: Any, x: Any, v: Any) -> Any:
    """The product of a vector and the Jacobian of `y` by `x`, as NumPy arrays.

    f: a function without parameters that runs kernels, which compute `y`. y: a field or ndarray
    with a gradient. x: another one, or a list of them. v: an array of the form of `y.to_numpy()`.
    Returns an array of the form of `x.to_numpy()`, or a list of them. Clears all gradients.

        x = ti.field(ti.f32, shape=2, needs_grad=True)
        y = ti.field(ti.f32, shape=2, needs_grad=True)

        @ti.kernel
        def square():
            for i in x:
                y[i] = x[i] ** 2

        x.from_numpy(np.array([1, 2], np.float32))
        print(ti.ad.vjp(square, y, x, np.array([1, 10], np.float32)))  # prints: [ 2. 40.]
    """
