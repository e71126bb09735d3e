"""Sparse matrices and solvers, against dense NumPy."""

import kiln as ti
import numpy as np
import pytest

N = 24


@pytest.fixture(params=["f32", "f64"])
def dtype(request):
    ti.init(arch=ti.cpu)
    return getattr(ti, request.param)


def spd(n=N, seed=0):
    """A symmetric positive definite matrix with many zeros."""
    random = np.random.default_rng(seed)
    dense = random.random((n, n)) * (random.random((n, n)) < 0.2)
    return dense @ dense.T + n * np.eye(n)


@ti.kernel
def insert(builder: ti.types.sparse_matrix_builder(), dense: ti.types.ndarray()):
    for i, j in dense:
        if dense[i, j] != 0:
            # In two triplets, which are added up.
            builder[i, j] += 2 * dense[i, j]
            builder[i, j] -= dense[i, j]


def sparse(dense, dtype=ti.f32):
    builder = ti.linalg.SparseMatrixBuilder(
        *dense.shape, max_num_triplets=2 * dense.size, dtype=dtype
    )
    insert(builder, dense)
    return builder.build()


def dense_of(matrix):
    return np.array([[matrix[i, j] for j in range(matrix.m)] for i in range(matrix.n)])


def near(dtype):
    return {"rtol": 1e-5, "atol": 1e-5} if dtype is ti.f32 else {"rtol": 1e-12, "atol": 1e-12}


# --- building


def test_triplets_add_up_and_leave_the_builder_empty(dtype):
    dense = spd()
    builder = ti.linalg.SparseMatrixBuilder(N, N, max_num_triplets=2 * N * N, dtype=dtype)
    insert(builder, dense)
    first = builder.build()
    assert first.shape == (N, N) and first.dtype is dtype
    np.testing.assert_allclose(dense_of(first), dense, **near(dtype))
    assert not dense_of(builder.build()).any()
    insert(builder, dense)
    np.testing.assert_allclose(dense_of(builder.build()), dense, **near(dtype))


def test_parallel_insertions_lose_nothing(dtype):
    n = 200_000
    builder = ti.linalg.SparseMatrixBuilder(100, 100, max_num_triplets=n, dtype=dtype)

    @ti.kernel
    def count(to: ti.types.sparse_matrix_builder()):
        for i in range(n):
            to[i % 100, i % 7] += 1

    count(builder)
    matrix = builder.build()
    expected = np.zeros((100, 100))
    np.add.at(expected, (np.arange(n) % 100, np.arange(n) % 7), 1)
    np.testing.assert_array_equal(dense_of(matrix), expected)


def test_print_triplets(dtype, capfd):
    builder = ti.linalg.SparseMatrixBuilder(3, 2, max_num_triplets=5, dtype=dtype)
    insert(builder, np.array([[0, 0], [1.5, 0], [0, 0.0]]))
    builder.print_triplets()
    assert capfd.readouterr().out == (
        "n=3, m=2, num_triplets=2 (max=5)\n[1, 0] = 3\n[1, 0] = -1.5\n"
    )


def test_more_triplets_than_fit_is_an_error_and_writes_nothing_else():
    ti.init(arch=ti.cpu)
    builder = ti.linalg.SparseMatrixBuilder(4, 4, max_num_triplets=3)
    insert(builder, np.eye(4))
    with pytest.raises(ti.TaichiRuntimeError, match="8 triplets .* room for 3"):
        builder.build()
    assert not dense_of(builder.build()).any()


def test_triplet_outside_the_matrix():
    ti.init(arch=ti.cpu)
    builder = ti.linalg.SparseMatrixBuilder(3, 3, max_num_triplets=100)
    insert(builder, np.eye(4))
    with pytest.raises(ti.TaichiRuntimeError, match=r"\[3, 3\], outside .* \(3, 3\)"):
        builder.build()


def test_code_does_not_depend_on_the_capacity():
    ti.init(arch=ti.cpu)
    before = insert.num_instances
    for capacity in (10, 1000):
        insert(ti.linalg.SparseMatrixBuilder(2, 2, max_num_triplets=capacity), np.eye(2))
    assert insert.num_instances <= before + 1


@pytest.mark.parametrize(
    "statement, error, text",
    [
        ("b[0, 0] = 1.0", ti.TaichiSyntaxError, "cannot be assigned"),
        ("b[0, 0] *= 2.0", ti.TaichiCompilationError, "`\\+=` and `-=`"),
        ("x = b[0, 0]", ti.TaichiTypeError, "cannot be read"),
        ("b[0] += 1.0", ti.TaichiCompilationError, "2 indices, got 1"),
        ("b[0, 1.5] += 1.0", ti.TaichiCompilationError, "an integer, not a"),
        ("b[0, 0] += ti.Vector([1.0, 2.0])", ti.TaichiTypeError, "a number, not a"),
    ],
)
def test_errors_of_builders_in_kernels(statement, error, text, tmp_path):
    ti.init(arch=ti.cpu)
    path = tmp_path / "program.py"
    path.write_text(
        "import kiln as ti\n@ti.kernel\ndef k(b: ti.types.sparse_matrix_builder()):\n"
        f"    {statement}\n"
    )
    scope = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    with pytest.raises(error, match=text):
        scope["k"](ti.linalg.SparseMatrixBuilder(2, 2, max_num_triplets=4))


def test_only_builders_are_builder_arguments():
    ti.init(arch=ti.cpu)
    insert(ti.linalg.SparseMatrixBuilder(2, 2, max_num_triplets=9), np.eye(2))
    # An array of a builder's word type; the fast path must not accept it as a builder.
    for wrong in (np.zeros(28, np.int32), ti.ndarray(ti.i32, 28), 3):
        with pytest.raises(ti.TaichiRuntimeTypeError, match="SparseMatrixBuilder"):
            insert(wrong, np.eye(2))


def test_build_from_ndarray(dtype):
    triplets = np.array([[0, 1, 5.5], [1, 0, 2], [1, 0, 3]], dtype.numpy_name)
    for array in (ti.Vector.ndarray(3, dtype, 3), ti.ndarray(dtype, 9)):
        array.from_numpy(triplets.reshape(array.to_numpy().shape))
        matrix = ti.linalg.SparseMatrix(2, 2, dtype=dtype)
        matrix.build_from_ndarray(array)
        np.testing.assert_array_equal(dense_of(matrix), [[0, 5.5], [5, 0]])
    with pytest.raises(ti.TaichiRuntimeError, match="divisible by 3"):
        matrix.build_from_ndarray(ti.ndarray(dtype, 10))
    with pytest.raises(ti.TaichiRuntimeError, match="only supports building from"):
        matrix.build_from_ndarray(triplets)


# --- arithmetic


def test_arithmetic(dtype):
    a, b = spd(), spd(seed=1)
    a[0, 3] = 7  # no longer symmetric
    x, y = sparse(a, dtype), sparse(b, dtype)
    close = near(dtype)
    np.testing.assert_allclose(dense_of(x + y), a + b, **close)
    np.testing.assert_allclose(dense_of(x - y), a - b, **close)
    np.testing.assert_allclose(dense_of(x * y), a * b, **close)
    np.testing.assert_allclose(dense_of(x @ y), a @ b, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(dense_of(2.5 * x), 2.5 * a, **close)
    np.testing.assert_allclose(dense_of(x * 3), 3 * a, **close)
    np.testing.assert_allclose(dense_of(x.transpose()), a.T, **close)
    z = x
    z += y
    np.testing.assert_allclose(dense_of(x), a + b, **close)
    z -= y
    np.testing.assert_allclose(dense_of(x), a, rtol=1e-5, atol=1e-5)
    assert (x + y).dtype is dtype


def test_products_with_vectors(dtype):
    dense = spd()[:, :20].copy()
    matrix = sparse(dense, dtype)
    vector = np.arange(20.0)
    want = dense @ vector
    got = matrix @ vector
    assert got.dtype == dtype.numpy_name
    np.testing.assert_allclose(got, want, rtol=1e-5)
    np.testing.assert_allclose(matrix @ np.arange(20), want, rtol=1e-5)
    field = ti.field(dtype, 20)
    field.from_numpy(vector.astype(dtype.numpy_name))
    np.testing.assert_allclose(matrix @ field, want, rtol=1e-5)
    array = ti.ndarray(dtype, 20)
    array.from_numpy(vector.astype(dtype.numpy_name))
    product = matrix @ array
    assert isinstance(product, ti.Ndarray) and product.shape == (N,)
    np.testing.assert_allclose(product.to_numpy(), want, rtol=1e-5)


def test_mismatches():
    ti.init(arch=ti.cpu)
    a, b = ti.linalg.SparseMatrix(4), ti.linalg.SparseMatrix(4, 3)
    for wrong in (lambda: a + b, lambda: a - b, lambda: a * b, lambda: b @ a):
        with pytest.raises(AssertionError, match="Dimension mismatch"):
            wrong()
    with pytest.raises(AssertionError, match=r"\(4, 4\) and vector \(\(5,\)\)"):
        a @ np.ones(5)
    with pytest.raises(ti.TaichiRuntimeError, match="vector"):
        a @ ti.ndarray(ti.f32, 5)
    with pytest.raises(ti.TaichiRuntimeError, match="does not support <class 'list'>"):
        a @ [1, 2, 3, 4]
    with pytest.raises(TypeError):
        a @ np.ones((4, 2))
    with pytest.raises(TypeError, match="f32 and f64"):
        a + ti.linalg.SparseMatrix(4, dtype=ti.f64)


def test_elements_text_and_file(dtype, tmp_path):
    matrix = ti.linalg.SparseMatrix(2, 3, dtype=dtype)
    matrix[0, 0] = 1 / 3
    matrix[1, 2] = -123456.789
    assert matrix[1, 2] == pytest.approx(-123456.789) and matrix[0, 1] == 0
    assert str(matrix) == (
        "[    0.3333,          0,          0]\n[         0,          0, -1.235e+05]"
    )
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 1"):
        matrix[0, 3]
    with pytest.raises(IndexError, match="two indices"):
        matrix[0]
    matrix.mmwrite(tmp_path / "m.mtx")
    header, comment, shape, *rows = (tmp_path / "m.mtx").read_text().splitlines()
    assert header == "%%MatrixMarket matrix coordinate real general" and comment == "%"
    assert shape == "2 3 2"
    values = [dtype.numpy_name and float(row.split()[2]) for row in rows]
    number = np.dtype(dtype.numpy_name).type
    np.testing.assert_array_equal(np.array(values, number), [number(1 / 3), number(-123456.789)])


# --- solvers


@pytest.mark.parametrize("ordering", ["AMD", "COLAMD"])
@pytest.mark.parametrize("kind", ["LLT", "LDLT", "LU"])
def test_direct_solvers(dtype, kind, ordering):
    dense = spd()
    if kind == "LU":
        dense[2, 5] += 3
    b = np.arange(N, dtype=dtype.numpy_name)
    solver = ti.linalg.SparseSolver(dtype=dtype, solver_type=kind, ordering=ordering)
    solver.analyze_pattern(sparse(dense, dtype))
    for scale in (1.0, 2.0):  # one pattern, several matrices
        solver.factorize(sparse(scale * dense, dtype))
        assert solver.info() is True
        want = np.linalg.solve(scale * dense, b)
        x = solver.solve(b)
        assert x.dtype == dtype.numpy_name
        np.testing.assert_allclose(x, want, rtol=1e-3, atol=1e-5)
    field = ti.field(dtype, N)
    field.from_numpy(b)
    np.testing.assert_array_equal(solver.solve(field), x)
    array = ti.ndarray(dtype, N)
    array.from_numpy(b)
    np.testing.assert_array_equal(solver.solve(array).to_numpy(), x)


def test_solver_errors(dtype):
    solver = ti.linalg.SparseSolver(dtype=dtype)
    with pytest.raises(ti.TaichiRuntimeError, match="call compute"):
        solver.solve(np.ones(N))
    with pytest.raises(ti.TaichiRuntimeError, match="solver type QR"):
        ti.linalg.SparseSolver(solver_type="QR")
    with pytest.raises(ti.TaichiRuntimeError, match="f32 or f64"):
        ti.linalg.SparseSolver(dtype=ti.i32)
    with pytest.raises(ti.TaichiRuntimeError, match="not supported in linear solvers"):
        solver.compute(np.eye(3))
    other = ti.f64 if dtype is ti.f32 else ti.f32
    with pytest.raises(ti.TaichiRuntimeError, match="not consistent"):
        solver.compute(sparse(spd(), other))
    with pytest.raises(ti.TaichiRuntimeError, match="square"):
        solver.compute(sparse(spd()[:, :5].copy(), dtype))
    solver.compute(sparse(-spd(), dtype))
    assert solver.info() is False
    with pytest.raises(ti.TaichiRuntimeError, match="positive definite"):
        solver.solve(np.ones(N))
    solver.compute(sparse(spd(), dtype))
    with pytest.raises(ti.TaichiRuntimeError, match="Dimension mismatch"):
        solver.solve(np.ones(N - 1))
    with pytest.raises(ti.TaichiRuntimeError, match="<class 'list'>"):
        solver.solve([1.0] * N)


def test_conjugate_gradients(dtype, capfd):
    dense, b = spd(), np.arange(N, dtype=dtype.numpy_name)
    matrix = sparse(dense, dtype)
    want = np.linalg.solve(dense, b)
    x, converged = ti.linalg.SparseCG(matrix, b).solve()
    assert converged is True and x.dtype == dtype.numpy_name
    np.testing.assert_allclose(x, want, rtol=1e-3, atol=1e-5)
    assert capfd.readouterr().out.startswith("#iterations:     ")
    # From a good guess, one iteration is enough; from zero it is not.
    x, converged = ti.linalg.SparseCG(matrix, b, x0=want + 1e-9, max_iter=1).solve()
    assert converged
    assert not ti.linalg.SparseCG(matrix, b, max_iter=1).solve()[1]
    with pytest.raises(ti.TaichiRuntimeError, match="Dimension mismatch"):
        ti.linalg.SparseCG(matrix, np.ones(3)).solve()


@ti.kernel
def laplace_1d(x: ti.template(), Ax: ti.template()):
    for i in x:
        left = x[i - 1] if i > 0 else 0.0
        right = x[i + 1] if i + 1 < x.shape[0] else 0.0
        Ax[i] = 2.5 * x[i] - left - right


@ti.kernel
def skewed_2d(x: ti.template(), Ax: ti.template()):
    for i, j in x:
        left = x[i - 1, j] if i > 0 else 0.0
        right = x[i + 1, j] if i + 1 < x.shape[0] else 0.0
        Ax[i, j] = 4.0 * x[i, j] - 0.5 * left - 1.5 * right


def solve_matrix_free(method, operator, dtype, shape, **options):
    """(the method's result, |A x - b|)"""
    x, b, check = (ti.field(dtype, shape) for _ in range(3))
    b.from_numpy(np.random.default_rng(0).random(shape).astype(dtype.numpy_name))
    converged = method(ti.linalg.LinearOperator(operator), b, x, **options)
    operator(x, check)
    return converged, np.linalg.norm(check.to_numpy() - b.to_numpy())


def test_matrix_free(dtype, capsys):
    cg, bicgstab = ti.linalg.MatrixFreeCG, ti.linalg.MatrixFreeBICGSTAB
    tol = 1e-4 if dtype is ti.f32 else 1e-10
    for method, operator, shape in (
        (cg, laplace_1d, (64,)),
        (bicgstab, laplace_1d, (64,)),
        (bicgstab, skewed_2d, (16, 8)),
    ):
        converged, residual = solve_matrix_free(method, operator, dtype, shape, tol=tol)
        assert converged is True and residual < 10 * tol
    assert capsys.readouterr().out == ""
    converged, _ = solve_matrix_free(cg, laplace_1d, dtype, (64,), tol=tol, maxiter=2, quiet=False)
    assert converged is False
    text = capsys.readouterr().out
    assert text.startswith(">>> Initial residual = ") and "failed to converge in 2" in text


def test_matrix_free_errors():
    ti.init(arch=ti.cpu)
    operator = ti.linalg.LinearOperator(laplace_1d)
    x, y = ti.field(ti.f32, 4), ti.field(ti.f32, 5)
    with pytest.raises(ti.TaichiRuntimeError, match="Dimension mismatch"):
        operator.matvec(x, y)
    with pytest.raises(ti.TaichiRuntimeError, match="Dimension mismatch"):
        ti.linalg.MatrixFreeCG(operator, x, y)
    with pytest.raises(ti.TaichiTypeError, match="Dtype mismatch"):
        ti.linalg.MatrixFreeCG(operator, x, ti.field(ti.f64, 4))
    integers = ti.field(ti.i32, 4)
    with pytest.raises(ti.TaichiTypeError, match="Not supported dtype"):
        ti.linalg.MatrixFreeCG(operator, integers, integers)


# --- without NumPy: a version of NumPy that the native module does not know must not matter


def test_the_native_module_takes_buffers_of_any_library(run_python):
    printed = run_python(
        """
import sys
sys.modules["numpy"] = None
from array import array
import kiln._linalg as native

A = native.MatrixF64(2, 2, array("i", [0, 1, 1]), array("i", [0, 0, 1]), array("d", [2, 1, 4]))
x = array("d", [0, 0])
A.multiply_vector(array("d", [1, 2]), x)
print(x.tolist())
solver = native.SolverF64(symmetric=False, diagonal=False, colamd=False)
solver.analyze_pattern(A)
solver.factorize(A)
solver.solve(array("d", [2, 9]), x)
print(x.tolist())
"""
    )
    assert printed == "[2.0, 9.0]\n[1.0, 2.0]\n"


def test_the_native_module_refuses_other_buffers():
    from kiln import _linalg

    indices, one = np.zeros(1, np.int32), np.ones(1, np.float32)
    A = _linalg.MatrixF32(1, 1, indices, indices, one)
    two, wide = np.ones(2, np.float32), np.ones(1, np.float64)
    frozen = one.copy()
    frozen.flags.writeable = False
    A.multiply_vector(frozen, one)
    for wrong, error in (
        ((two, one), ValueError),
        ((one, two), ValueError),
        ((wide, one), TypeError),
        ((one, wide), TypeError),
        ((one.reshape(1, 1), one), TypeError),
        ((one.astype(">f4"), one), TypeError),
        (([1.0], one), TypeError),
        ((one, frozen), (ValueError, BufferError)),
        ((np.ones(2, np.float32)[::2], np.ones(4, np.float32)[::3]), ValueError),
    ):
        with pytest.raises(error):
            A.multiply_vector(*wrong)
    with pytest.raises(TypeError):
        _linalg.MatrixF32(1, 1, np.zeros(1, np.int64), indices, one)
