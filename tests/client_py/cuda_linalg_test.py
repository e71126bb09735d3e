"""Sparse matrices on CUDA, on the emulator: products and conjugate gradients of ndarrays are made
on the device, and are those of NumPy."""

START = """
random = np.random.default_rng(0)


def sparse(dense, dtype):
    made = ti.linalg.SparseMatrix(*dense.shape, dtype=dtype)
    triplets = ti.ndarray(dtype, 3 * max(np.count_nonzero(dense), 1))
    rows, columns = np.nonzero(dense)
    if len(rows):
        numbers = np.stack([rows, columns, dense[rows, columns]], 1).reshape(-1)
        triplets.from_numpy(numbers.astype("f4" if dtype is ti.f32 else "f8"))
    made.build_from_ndarray(triplets)
    return made


def vector(numbers, dtype):
    made = ti.ndarray(dtype, len(numbers))
    made.from_numpy(np.asarray(numbers, "f4" if dtype is ti.f32 else "f8"))
    return made
"""

PRODUCTS = (
    START
    + """
for dtype in ti.f32, ti.f64:
    for of_vector in ti.f32, ti.f64:
        for shape in (30, 20), (1, 1), (5, 40), (40, 5):
            dense = random.random(shape) * (random.random(shape) < 0.3)
            A = sparse(dense, dtype)
            x = random.random(shape[1])
            given = vector(x, of_vector)
            y = A @ given
            assert isinstance(y, ti.ScalarNdarray) and y.dtype is of_vector
            np.testing.assert_allclose(y.to_numpy(), dense @ x, rtol=1e-5, atol=1e-6)
            A[0, 0] = 3.0
            dense[0, 0] = 3.0
            np.testing.assert_allclose((A @ given).to_numpy(), dense @ x, rtol=1e-5, atol=1e-6)
            shared = ti.linalg.SparseMatrix(sm=A.matrix)
            shared[0, 0] = dense[0, 0] = 5.0
            np.testing.assert_allclose((A @ given).to_numpy(), dense @ x, rtol=1e-5, atol=1e-6)
            A += A
            y = (A @ given).to_numpy()
            np.testing.assert_allclose(y, 2 * dense @ x, rtol=1e-5, atol=1e-6)
            ti.sync()
            seen = calls_of(lambda: A @ given)
            assert seen.count("cuLaunchKernel") == 1, seen
            assert not any(call.startswith("cuMemcpy") for call in seen), seen
empty = sparse(np.zeros((3, 4)), ti.f64)
assert not (empty @ vector(np.ones(4), ti.f64)).to_numpy().any()
whole = ti.ndarray(ti.i32, 4)
whole.from_numpy(np.arange(4, dtype=np.int32))
dense = np.eye(4)
assert (sparse(dense, ti.f32) @ whole).to_numpy().tolist() == [0, 1, 2, 3]
try:
    empty @ vector(np.ones(3), ti.f64)
except ti.TaichiRuntimeError as error:
    print(error)
A, x = sparse(np.eye(3), ti.f32), vector([1, 2, 3], ti.f32)
A @ x
ti.init(arch=ti.cuda, cuda_device=1)
print((A @ vector([1, 2, 3], ti.f32)).to_numpy().tolist())
ti.init(arch=ti.cpu)
print((A @ vector([1, 2, 3], ti.f32)).to_numpy().tolist())
"""
)


def test_products(run_on_emulator):
    out = run_on_emulator(PRODUCTS, "devices=2")
    assert out == (
        "Dimension mismatch between sparse matrix (3, 4) and vector ((3,))\n"
        "[1.0, 2.0, 3.0]\n[1.0, 2.0, 3.0]\n"
    )


SOLVED = (
    START
    + """
n = 40
dense = random.random((n, n)) * (random.random((n, n)) < 0.2)
dense = dense @ dense.T + n * np.eye(n) * (1 + np.arange(n))
expected = random.random(n)
for dtype, near in (ti.f32, 1e-4), (ti.f64, 1e-9):
    A = sparse(dense, dtype)
    b = vector(dense @ expected, dtype)
    atol = 1e-6 if dtype is ti.f32 else 1e-12
    x, converged = ti.linalg.SparseCG(A, b, max_iter=60, atol=atol).solve()
    assert isinstance(x, ti.ScalarNdarray) and x.dtype is dtype and converged
    np.testing.assert_allclose(x.to_numpy(), expected, atol=near)
    # From the solution, and of zero.
    x, converged = ti.linalg.SparseCG(A, b, x0=x, atol=1e-3).solve()
    np.testing.assert_allclose(x.to_numpy(), expected, atol=near)
    x, converged = ti.linalg.SparseCG(A, vector(np.zeros(n), dtype), x0=x).solve()
    assert converged and not x.to_numpy().any()
    x, converged = ti.linalg.SparseCG(A, b, max_iter=1, atol=1e-12).solve()
    assert not converged
    # As the host does it.
    on_host, converged = ti.linalg.SparseCG(A, b.to_numpy(), max_iter=60, atol=atol).solve()
    assert converged and isinstance(on_host, np.ndarray)
    np.testing.assert_allclose(on_host, expected, atol=near)
"""
)


def test_conjugate_gradients(run_on_emulator):
    out = run_on_emulator(SOLVED, "check=race,init")
    lines = [line.split(":")[1].strip() for line in out.splitlines() if line.startswith("#")]
    of_type = len(lines) // 2
    for told in lines[:of_type], lines[of_type:]:
        assert abs(int(told[0]) - int(told[4])) <= 1, told  # the device, the host
        assert told[1] == told[2] == "0" and told[3] == "1", told
