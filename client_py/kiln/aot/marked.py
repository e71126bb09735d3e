"""Marks the kernels that `kiln export` puts into a module."""

from ..diagnostics import say
from ..kernel import Kernel

# (name, kernel, its template arguments), in the order of the decorators.
marked = []


def export_as(name, *, template_types=None):
    """A decorator of kernels that `kiln export` is to put into a module.

    name: of the kernel in the module. template_types: {parameter: the value or type for which the
    kernel is compiled}, for parameters whose annotation does not say it. ti.template() takes
    values, numbers and fields. ti.types.ndarray() without dtype and ndim takes a type that has
    both. Raises TypeError for anything but a kernel.

        @ti.aot.export_as("fill_all")
        @ti.kernel
        def fill(a: ti.types.ndarray(dtype=ti.f32, ndim=1), k: ti.f32):
            for i in a:
                a[i] = k
    """

    def mark(kernel):
        if not isinstance(kernel, Kernel):
            raise say.export_of_no_kernel(kind=type(kernel).__name__)
        marked.append((name, kernel, dict(template_types or {})))
        return kernel

    return mark


def export(kernel):
    """The decorator `export_as` with the kernel's own name.

    kernel: the kernel. Raises TypeError for anything else.

        @ti.aot.export
        @ti.kernel
        def double(x: ti.types.ndarray(dtype=ti.f32, ndim=1)):
            for i in x:
                x[i] *= 2.0
    """
    return export_as(getattr(kernel, "__name__", ""))(kernel)
