"""Conjugate gradients and BiCGSTAB for operators that are kernels, on fields of 1 to 3 dimensions.

Each call places its vectors in a separate tree and destroys it at the end. Kernels take the fields
as templates; a call with other fields of the same shape compiles nothing.
"""

from math import sqrt

from .. import types as ti_types
from ..data.axes import axes
from ..data.making import field
from ..data.trees import FieldsBuilder
from ..errors import TaichiRuntimeError, TaichiTypeError
from ..kernel import data_oriented, kernel
from ..static import grouped

template = ti_types.template


@data_oriented
class LinearOperator:
    """A matrix that is defined by a kernel for its product with a vector.

    matvec_kernel: a kernel `matvec_kernel(x, Ax)` that writes the product of the matrix and the
    field `x` to the field `Ax`.

        @ti.kernel
        def double(x: ti.template(), Ax: ti.template()):
            for i in x:
                Ax[i] = 2 * x[i]

        A = ti.linalg.LinearOperator(double)
        b, x = ti.field(ti.f32, 4), ti.field(ti.f32, 4)
        b.fill(6.0)
        ti.linalg.MatrixFreeCG(A, b, x)
        print(x)  # prints: [3. 3. 3. 3.]
    """

    def __init__(self, matvec_kernel):
        self._matvec = matvec_kernel

    def matvec(self, x, Ax):
        """Computes Ax = A x; both fields have the same shape."""
        if x.shape != Ax.shape:
            raise TaichiRuntimeError(f"Dimension mismatch x.shape{x.shape} != Ax.shape{Ax.shape}.")
        self._matvec(x, Ax)


@kernel
def _dot_f32(a: template(), b: template()) -> ti_types.f32:
    total = ti_types.f32(0.0)
    for at in grouped(a):
        total += a[at] * b[at]
    return total


@kernel
def _dot_f64(a: template(), b: template()) -> ti_types.f64:
    total = ti_types.f64(0.0)
    for at in grouped(a):
        total += a[at] * b[at]
    return total


@kernel
def _subtract(out: template(), a: template(), b: template()):
    for at in grouped(out):
        out[at] = a[at] - b[at]


# y += factor * x, and y = x + factor * y. The factor is a field so that it keeps its type.
@kernel
def _add_scaled(y: template(), factor: template(), x: template()):
    for at in grouped(y):
        y[at] += factor[None] * x[at]


@kernel
def _scale_add(y: template(), factor: template(), x: template()):
    for at in grouped(y):
        y[at] = x[at] + factor[None] * y[at]


def MatrixFreeCG(A, b, x, tol=1e-6, maxiter=5000, quiet=True):
    """Solves A x = b for a symmetric positive definite operator. Returns whether it converged.

    A: a LinearOperator. b: the right-hand side, a field of f32 or f64. x: a field of the same form,
    with the initial guess; receives the result. tol: stops when |A x - b| < tol. maxiter: the most
    iterations. quiet: False prints the residual of each iteration.

        @ti.kernel
        def double(x: ti.template(), Ax: ti.template()):
            for i in x:
                Ax[i] = 2 * x[i]

        b, x = ti.field(ti.f32, 4), ti.field(ti.f32, 4)
        b.fill(6.0)
        print(ti.linalg.MatrixFreeCG(ti.linalg.LinearOperator(double), b, x))  # prints: True
    """
    with _Vectors("MatrixFreeCG", b, x, "p r Ap", "step") as v:
        v.residual(A, v.r, v.Ap)
        v.p.copy_from(v.r)
        old = v.dot(v.r, v.r)
        _say(quiet, f"Initial residual = {old:e}")
        if sqrt(old) < tol:
            return True
        for iteration in range(maxiter):
            A._matvec(v.p, v.Ap)
            curvature = v.dot(v.p, v.Ap)
            if curvature == 0:
                break
            step = old / curvature
            v.add_scaled(x, step, v.p)
            v.add_scaled(v.r, -step, v.Ap)
            new = v.dot(v.r, v.r)
            if sqrt(new) < tol:
                _say(quiet, "Conjugate Gradient method converged.")
                _say(quiet, f"#iterations {iteration}")
                return True
            v.scale_add(v.p, new / old, v.r)
            old = new
            _say(quiet, f"Iter = {iteration + 1:4}, Residual = {sqrt(new):e}")
        _say(
            quiet,
            f"Conjugate Gradient method failed to converge in {maxiter} iterations: "
            f"Residual = {sqrt(old):e}",
        )
        return False


def MatrixFreeBICGSTAB(A, b, x, tol=1e-6, maxiter=5000, quiet=True):
    """Solves A x = b for any operator by the stabilised biconjugate gradient method. Returns
    whether it converged.

    A, b, x, tol, maxiter, quiet: as for `MatrixFreeCG`.

        @ti.kernel
        def double(x: ti.template(), Ax: ti.template()):
            for i in x:
                Ax[i] = 2 * x[i]

        b, x = ti.field(ti.f32, 4), ti.field(ti.f32, 4)
        b.fill(6.0)
        print(ti.linalg.MatrixFreeBICGSTAB(ti.linalg.LinearOperator(double), b, x))  # prints: True
    """
    with _Vectors("MatrixFreeBICGSTAB", b, x, "p r shadow s t Ap", "step") as v:
        v.residual(A, v.r, v.Ap)
        v.shadow.copy_from(b)
        squared = v.dot(v.r, v.r)
        _say(quiet, f"Initial residual = {squared:e}")
        if sqrt(squared) < tol:
            return True
        before = alpha = omega = 1.0
        for iteration in range(maxiter):
            rho = v.dot(v.r, v.shadow)
            if rho == 0:
                _say(quiet, "BICGSTAB failed because r@r_tld = 0.")
                return False
            if iteration == 0:
                v.p.copy_from(v.r)
            else:
                v.add_scaled(v.p, -omega, v.Ap)
                v.scale_add(v.p, (rho / before) * (alpha / omega), v.r)
            A._matvec(v.p, v.Ap)
            alpha = _ratio(rho, v.dot(v.shadow, v.Ap))
            v.s.copy_from(v.r)
            v.add_scaled(v.s, -alpha, v.Ap)
            A._matvec(v.s, v.t)
            omega = _ratio(v.dot(v.t, v.s), v.dot(v.t, v.t))
            v.add_scaled(x, alpha, v.p)
            v.add_scaled(x, omega, v.s)
            v.r.copy_from(v.s)
            v.add_scaled(v.r, -omega, v.t)
            squared = v.dot(v.r, v.r)
            _say(quiet, f"Iter = {iteration + 1:4}, Residual = {sqrt(squared):e}")
            if sqrt(squared) < tol:
                _say(quiet, f"BICGSTAB method converged at #iterations {iteration}")
                return True
            before = rho
        _say(
            quiet,
            f"BICGSTAB failed to converge in {maxiter} iterations: Residual = {sqrt(squared):e}",
        )
        return False


class _Vectors:
    """The fields of one call, in trees that are destroyed at its end."""

    def __init__(self, name, b, x, vectors, scalar):
        dtype = b.dtype
        if dtype != x.dtype:
            raise TaichiTypeError(f"Dtype mismatch b.dtype({b.dtype}) != x.dtype({x.dtype}).")
        if dtype not in (ti_types.f32, ti_types.f64):
            raise TaichiTypeError(f"Not supported dtype: {b.dtype}")
        if b.shape != x.shape:
            raise TaichiRuntimeError(f"Dimension mismatch b.shape{b.shape} != x.shape{x.shape}.")
        if not 1 <= len(b.shape) <= 3:
            raise TaichiRuntimeError(
                f"{name} only support 1D, 2D, 3D inputs; your inputs is {len(b.shape)}-D."
            )
        self.b, self.x = b, x
        builder = FieldsBuilder()
        names = vectors.split()
        for each in names:
            setattr(self, each, field(dtype))
        indices = axes(*range(len(b.shape)))
        builder.dense(indices, b.shape).place(*(getattr(self, each) for each in names))
        factor_builder = FieldsBuilder()
        self._factor = field(dtype)
        factor_builder.place(self._factor)
        self._trees = [builder.finalize(), factor_builder.finalize()]
        self.dot = _dot_f32 if dtype is ti_types.f32 else _dot_f64

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for tree in self._trees:
            tree.destroy()

    def residual(self, A, out, scratch):
        """out = b - A x"""
        A._matvec(self.x, scratch)
        _subtract(out, self.b, scratch)

    def add_scaled(self, y, factor, x):
        self._factor[None] = factor
        _add_scaled(y, self._factor, x)

    def scale_add(self, y, factor, x):
        self._factor[None] = factor
        _scale_add(y, self._factor, x)


def _ratio(a, b):
    return a / b if b != 0 else a / 1e-16


def _say(quiet, text):
    if not quiet:
        print(f">>> {text}")


__all__ = ["LinearOperator", "MatrixFreeBICGSTAB", "MatrixFreeCG"]
