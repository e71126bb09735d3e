"""Decompositions of 2x2 and 3x3 matrices in kernels: svd, polar_decompose, eig,
sym_eig, solve. Written in the language itself and inlined.

Symmetric 3x3 matrices are diagonalised by a fixed number of sweeps of Jacobi rotations. Convergence
is quadratic: five sweeps are exact in f32, eight in f64. A rotation is skipped if its element is
only rounding error compared with the diagonal. Between equal diagonal elements it would rotate by
45 degrees, and its own rounding would be a thousand times larger than the error that it removes.
"""

from .. import ops, originals
from .. import types as _types
from ..diagnostics import say
from ..func import func
from ..static import loop_config, static
from .matrix import Matrix, Vector


@func
def _is_rounding(x, a, b, dt: _types.template()):
    """Whether an element is negligible compared with two elements of the diagonal."""
    epsilon = ops.cast(static(2.0**-52 if dt.bits == 64 else 2.0**-23), dt)
    return ops.abs(x) <= epsilon * ops.min(ops.abs(a), ops.abs(b))


@func
def _rotate(
    S: _types.template(),
    V: _types.template(),
    p: _types.template(),
    q: _types.template(),
    dt: _types.template(),
):
    """One Jacobi rotation, which makes S[p, q] zero; V accumulates the rotations."""
    if not _is_rounding(S[p, q], S[p, p], S[q, q], dt):
        theta = (S[q, q] - S[p, p]) / (2 * S[p, q])
        t = 1 / (ops.abs(theta) + ops.sqrt(theta * theta + 1))
        if theta < 0:
            t = -t
        c = 1 / ops.sqrt(t * t + 1)
        s = t * c
        # Vector units only estimate reciprocal roots. Without this Newton step, the errors of
        # fifteen rotations would add up to a matrix that is visibly too short.
        short = 0.5 * (1 - c * c - s * s)
        c += c * short
        s += s * short
        for k in static(range(3)):
            vp, vq = V[k, p], V[k, q]
            V[k, p] = c * vp - s * vq
            V[k, q] = s * vp + c * vq
            sp, sq = S[k, p], S[k, q]
            S[k, p] = c * sp - s * sq
            S[k, q] = s * sp + c * sq
        for k in static(range(3)):
            sp, sq = S[p, k], S[q, k]
            S[p, k] = c * sp - s * sq
            S[q, k] = s * sp + c * sq


@func
def _jacobi(A, dt: _types.template(), sweeps: _types.template()):
    """Eigenvalues (diagonal) and eigenvectors (columns) of a symmetric 3x3 matrix."""
    S = ops.cast(A, dt)
    V = Matrix.identity(dt, 3)
    loop_config(serialize=True)
    for _ in range(sweeps):
        _rotate(S, V, 0, 1, dt)
        _rotate(S, V, 0, 2, dt)
        _rotate(S, V, 1, 2, dt)
    return S, V


@func
def _swap_columns(
    V: _types.template(),
    B: _types.template(),
    n: _types.template(),
    p: _types.template(),
    q: _types.template(),
):
    """Moves the longer column to the front. One column changes its sign, so that V stays a
    rotation."""
    if n[p] < n[q]:
        n[p], n[q] = n[q], n[p]
        for k in static(range(3)):
            V[k, p], V[k, q] = V[k, q], -V[k, p]
            B[k, p], B[k, q] = B[k, q], -B[k, p]


@func
def _givens(
    R: _types.template(),
    U: _types.template(),
    p: _types.template(),
    q: _types.template(),
    dt: _types.template(),
):
    """Rotates rows p and q so that R[q, p] becomes zero and R[p, p] positive; U accumulates the
    inverse rotations."""
    a, b = R[p, p], R[q, p]
    r = ops.sqrt(a * a + b * b)
    if r > 0 and not (a > 0 and _is_rounding(b, a, a, dt)):
        c, s = a / r, b / r
        for k in static(range(3)):
            rp, rq = R[p, k], R[q, k]
            R[p, k] = c * rp + s * rq
            R[q, k] = c * rq - s * rp
            up, uq = U[k, p], U[k, q]
            U[k, p] = c * up + s * uq
            U[k, q] = c * uq - s * up


@func
def _svd3(A, dt: _types.template(), sweeps: _types.template()):
    F = ops.cast(A, dt)
    _, V = _jacobi(F.transpose() @ F, dt, sweeps)
    B = F @ V
    n = Vector([B[0, i] ** 2 + B[1, i] ** 2 + B[2, i] ** 2 for i in static(range(3))])
    _swap_columns(V, B, n, 0, 1)
    _swap_columns(V, B, n, 0, 2)
    _swap_columns(V, B, n, 1, 2)
    # B = U R. The columns of B are orthogonal, so R is diagonal.
    U = Matrix.identity(dt, 3)
    _givens(B, U, 0, 1, dt)
    _givens(B, U, 0, 2, dt)
    _givens(B, U, 1, 2, dt)
    S = Matrix.zero(dt, 3, 3)
    for i in static(range(3)):
        S[i, i] = B[i, i]
    return U, S, V


@func
def _polar2(A, dt: _types.template()):
    F = ops.cast(A, dt)
    U = Matrix.identity(dt, 2)
    P = F
    if F[0, 0] != 0 or F[0, 1] != 0 or F[1, 0] != 0 or F[1, 1] != 0:
        det = F.determinant()
        # Add the cofactor matrix, with the sign that keeps the sum invertible.
        sign = ops.select(det < 0, ops.cast(-1, dt), ops.cast(1, dt))
        B = F + sign * Matrix([[F[1, 1], -F[1, 0]], [-F[0, 1], F[0, 0]]])
        k = 1 / ops.sqrt(ops.abs(B.determinant()))
        # Vector units only estimate reciprocal roots, hence a Newton step: a rotation that is too
        # short by one bit would produce stress in an undeformed material.
        k += 0.5 * k * (1 - (B[0, 0] * B[0, 0] + B[1, 0] * B[1, 0]) * k * k)
        U = B * k
        P = (F.transpose() @ F + ops.abs(det) * Matrix.identity(dt, 2)) * k
    return U, P


@func
def _svd2(A, dt: _types.template()):
    R, S = _polar2(A, dt)
    c, s = ops.cast(1, dt), ops.cast(0, dt)
    s1, s2 = S[0, 0], S[1, 1]
    if not _is_rounding(S[0, 1], S[0, 0], S[1, 1], dt):
        tau = (S[0, 0] - S[1, 1]) / 2
        w = ops.sqrt(tau * tau + S[0, 1] * S[0, 1])
        t = S[0, 1] / (tau + ops.select(tau > 0, w, -w))
        c = 1 / ops.sqrt(t * t + 1)
        s = -t * c
        s1 = c * c * S[0, 0] - 2 * c * s * S[0, 1] + s * s * S[1, 1]
        s2 = s * s * S[0, 0] + 2 * c * s * S[0, 1] + c * c * S[1, 1]
    V = Matrix([[c, s], [-s, c]])
    if s1 < s2:
        s1, s2 = s2, s1
        V = Matrix([[-s, c], [-c, -s]])
    zero = ops.cast(0, dt)
    return R @ V, Matrix([[s1, zero], [zero, s2]]), V


@func
def _polar3(A, dt: _types.template(), sweeps: _types.template()):
    U, S, V = _svd3(A, dt, sweeps)
    return U @ V.transpose(), V @ S @ V.transpose()


@func
def _eigenvector2(A, value, dt: _types.template()):
    """An eigenvector of a real 2x2 matrix with two different eigenvalues: the longer column of
    A - value * I, where `value` is the other eigenvalue. It points as the first column does."""
    a = Vector([A[0, 0] - value, A[1, 0]])
    b = Vector([A[0, 1], A[1, 1] - value])
    b = ops.select(a.dot(b) < 0, -b, b)
    v = ops.select(a.norm_sqr() < b.norm_sqr(), b, a)
    return ops.cast(v.normalized(), dt)


@func
def _sym_eig2(A, dt: _types.template()):
    F = ops.cast(A, dt)
    half = (F[0, 0] + F[1, 1]) / 2
    difference = (F[0, 0] - F[1, 1]) / 2
    root = ops.sqrt(difference * difference + F[0, 1] * F[0, 1])
    values = Vector([half + root, half - root])
    first = Vector([ops.cast(0, dt), ops.cast(1, dt)])
    second = Vector([ops.cast(1, dt), ops.cast(0, dt)])
    if root > 0:
        first = _eigenvector2(F, values[1], dt)
        second = _eigenvector2(F, values[0], dt)
    return values, Matrix.cols([first, second])


@func
def _sym_eig3(A, dt: _types.template(), sweeps: _types.template()):
    S, Q = _jacobi(A, dt, sweeps)
    values = Vector([S[0, 0], S[1, 1], S[2, 2]])
    for p, q in static(((0, 1), (0, 2), (1, 2))):
        if values[q] < values[p]:
            values[p], values[q] = values[q], values[p]
            for k in static(range(3)):
                Q[k, p], Q[k, q] = Q[k, q], Q[k, p]
    F = ops.cast(A, dt)
    for i in static((0, 2)):
        along = _null_vector3(F, values[i])
        if along.dot(Q[:, i]) < 0:
            Q[:, i] = -Q[:, i]
    if Q[:, 2].cross(Q[:, 0]).dot(Q[:, 1]) < 0:
        Q[:, 1] = -Q[:, 1]
    return values, Q


@func
def _null_vector3(A, value):
    """The cross product of the first two columns of A - value * I. The reference's eigenvectors of
    the least and of the greatest eigenvalue point along it, so those of `sym_eig` do, too."""
    x, y = A[0, 0] - value, A[1, 1] - value
    off = A[0, 1]
    return Vector([off * A[1, 2] - A[0, 2] * y, A[0, 2] * off - A[1, 2] * x, x * y - off * off])


@func
def _eig2(A, dt: _types.template()):
    F = ops.cast(A, dt)
    zero = ops.cast(0, dt)
    trace = F[0, 0] + F[1, 1]
    gap = trace * trace - 4 * F.determinant()
    l1 = Vector([trace, zero]) / 2
    l2 = l1
    v1 = Vector([zero, zero, zero + 1, zero])
    v2 = Vector([zero + 1, zero, zero, zero])
    root = ops.sqrt(ops.abs(gap)) / 2
    if gap > 0:
        l1[0] += root
        l2[0] -= root
        a = _eigenvector2(F, l2[0], dt)
        b = _eigenvector2(F, l1[0], dt)
        v1 = Vector([a[0], zero, a[1], zero])
        v2 = Vector([b[0], zero, b[1], zero])
    elif gap < 0:
        l1[1] = root
        l2[1] = -root
        x = F[0, 0] - l1[0]
        v1 = Vector([x, root, F[1, 0], zero]).normalized()
        v2 = Vector([x, -root, F[1, 0], zero]).normalized()
    return Matrix.rows([l1, l2]), Matrix.cols([v1, v2])


@func
def _solve(A, b, dt: _types.template(), n: _types.template()):
    """Gaussian elimination with row pivoting."""
    M = ops.cast(A, dt)
    y = ops.cast(b, dt)
    for i in static(range(n)):
        for j in static(range(i + 1, n)):
            if ops.abs(M[j, i]) > ops.abs(M[i, i]):
                for k in static(range(n)):
                    M[i, k], M[j, k] = M[j, k], M[i, k]
                y[i], y[j] = y[j], y[i]
        assert M[i, i] != 0, "Matrix is singular in linear solve."
        for j in static(range(i + 1, n)):
            scale = M[j, i] / M[i, i]
            for k in static(range(i + 1, n)):
                M[j, k] -= M[i, k] * scale
            y[j] -= y[i] * scale
    for i in static(range(n - 1, -1, -1)):
        for k in static(range(i + 1, n)):
            y[i] -= M[i, k] * y[k]
        y[i] /= M[i, i]
    return y


def _sweeps(dtype):
    return 5 if dtype.bits < 64 else 8


def _prepared(A, dt, what, sizes=(2, 3)):
    """(size, scalar type) of a matrix; raises if `what` does not support it."""
    shape = A.get_shape()
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] not in sizes:
        raise say.only_supports_matrices(what=what, sizes=" and ".join((f"{n}D" for n in sizes)))
    return shape[0], _types.cook_dtype(float if dt is None else dt)


def polar_decompose(A, dt=None):
    """(U, P) with A = U @ P: U is orthogonal, P symmetric. For kernels.

    A: a 2x2 or 3x3 matrix; raises ValueError for others. dt: ti.f32 or ti.f64; by default the
    default float.

        @ti.kernel
        def k() -> ti.f32:
            U, P = ti.polar_decompose(ti.Matrix([[0.0, -2.0], [2.0, 0.0]]))
            return P[0, 0]

        print(k())  # prints: 2.0
    """
    n, dtype = _prepared(A, dt, "Polar decomposition")
    return _polar2(A, dtype) if n == 2 else _polar3(A, dtype, _sweeps(dtype))


def svd(A, dt=None):
    """(U, S, V) with A = U @ S @ V.transpose(): S is diagonal, U and V are orthogonal. For kernels.

    The elements of S are sorted, the largest first. For a 3x3 matrix, U and V are rotations, and
    the last element of S has the sign of the determinant. A: a 2x2 or 3x3 matrix; raises ValueError
    for others. dt: ti.f32 or ti.f64; by default the default float.

        @ti.kernel
        def k() -> ti.math.vec2:
            U, S, V = ti.svd(ti.Matrix([[3.0, 0.0], [0.0, 4.0]]))
            return ti.Vector([S[0, 0], S[1, 1]])

        print(ti.round(k()))  # prints: [4. 3.]
    """
    n, dtype = _prepared(A, dt, "SVD")
    return _svd2(A, dtype) if n == 2 else _svd3(A, dtype, _sweeps(dtype))


def eig(A, dt=None):
    """(values, vectors): the eigenvalues and eigenvectors of a real 2x2 matrix. For kernels.

    values: each row is an eigenvalue (real part, imaginary part). vectors: each column is an
    eigenvector, with a real and an imaginary part for each element. A: a 2x2 matrix; raises
    ValueError for others. dt: ti.f32 or ti.f64; by default the default float.

        @ti.kernel
        def k() -> ti.f32:
            values, vectors = ti.eig(ti.Matrix([[2.0, 0.0], [0.0, 1.0]]))
            return values[0, 0]

        print(k())  # prints: 2.0
    """
    _, dtype = _prepared(A, dt, "Eigen solver", (2,))
    return _eig2(A, dtype)


def sym_eig(A, dt=None):
    """(values, vectors): the eigenvalues of a symmetric matrix, and its eigenvectors as columns.
    For kernels.

    The eigenvalues of a 2x2 matrix are sorted from the largest to the smallest, those of a 3x3
    matrix from the smallest to the largest. A: a symmetric 2x2 or 3x3 matrix; raises ValueError for
    others. dt: ti.f32 or ti.f64; by default the default float.

        @ti.kernel
        def k() -> ti.math.vec2:
            values, vectors = ti.sym_eig(ti.Matrix([[1.0, 0.0], [0.0, 2.0]]))
            return values

        print(k())  # prints: [2. 1.]
    """
    n, dtype = _prepared(A, dt, "Symmetric eigen solver")
    return _sym_eig2(A, dtype) if n == 2 else _sym_eig3(A, dtype, _sweeps(dtype))


def solve(A, b, dt=None):
    """The vector `x` with A @ x = b. For kernels.

    A: a 2x2 or 3x3 matrix; raises ValueError for others. In debug mode, a singular matrix fails an
    assert. b: a vector with an element for each row of A. dt: ti.f32 or ti.f64; by default the
    default float.

        @ti.kernel
        def k() -> ti.math.vec2:
            return ti.solve(ti.Matrix([[2.0, 0.0], [0.0, 4.0]]), ti.Vector([2.0, 2.0]))

        print(k())  # prints: [1.  0.5]
    """
    n, dtype = _prepared(A, dt, "Solver")
    if tuple(b.get_shape()) != (n,):
        raise say.matrix_and_vector_dimension_dismatch()
    return _solve(A, b, dtype, n)


__all__ = ["eig", "polar_decompose", "solve", "svd", "sym_eig"]

originals.keep(globals())
