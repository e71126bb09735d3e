"""Singular values of matrices close to the identity, or close to singular matrices."""

import kiln as ti
import numpy as np
import pytest

EPSILON = {"f32": 2.0**-23, "f64": 2.0**-52}
NUMPY = {"f32": "f4", "f64": "f8"}


def _decompose(matrices, dtype):
    """U, S, V of each."""
    count, n, _ = matrices.shape
    element = getattr(ti, dtype)
    fields = [ti.Matrix.field(n, n, element, count) for _ in range(4)]
    given, u, s, v = fields
    given.from_numpy(matrices)

    @ti.kernel
    def run():
        for i in given:
            u[i], s[i], v[i] = ti.svd(given[i], element)

    run()
    return [f.to_numpy().astype("f8") for f in fields]


def _rotations(n, count, seed):
    random = np.random.default_rng(seed)
    q, r = np.linalg.qr(random.normal(size=(count, n, n)))
    return q * np.sign(np.einsum("kii->ki", r))[:, None, :]


def _with_values(values, seed):
    """Matrices with these singular values, and random directions."""
    values = np.asarray(values, "f8")
    count, n = values.shape
    return np.einsum(
        "kij,kj,klj->kil", _rotations(n, count, seed), values, _rotations(n, count, seed + 1)
    )


def _cases(n):
    random = np.random.default_rng(7)
    exponents = np.repeat(-np.arange(0, 20.0), 8)[:, None, None]
    noise = random.normal(size=(160, n, n)) * 10**exponents
    identity = np.eye(n)
    last = np.repeat(10.0 ** -np.arange(0, 20.0), 8)
    singular = np.ones((160, n))
    singular[:, -1] = last
    repeated = np.repeat(random.uniform(0.1, 10, size=(100, 1)), n, axis=1)
    repeated[50:, -1] *= 0.5
    reflection = np.diag([1.0] * (n - 1) + [-1.0])
    return {
        "near identity": identity + noise,
        "near reflections": reflection + noise,
        "near singular": _with_values(singular, 1),
        "rank one": _with_values(np.eye(1, n).repeat(50, 0), 3),
        "repeated": _with_values(repeated, 5),
        "repeated, reflected": _with_values(repeated, 7) @ reflection,
        "large": 1e12 * random.normal(size=(100, n, n)),
        "small": 1e-12 * random.normal(size=(100, n, n)),
        "permutations": np.array(
            [identity[list(p)] for p in np.ndindex(*[n] * n) if len(set(p)) == n]
        ),
        "zero": np.zeros((1, n, n)),
    }


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("case", list(_cases(2)))
def test_svd_reconstructs_to_rounding(n, dtype, case):
    ti.init(arch=ti.cpu)
    f, u, s, v = _decompose(_cases(n)[case].astype(NUMPY[dtype]), dtype)
    scale = np.abs(f).max(axis=(1, 2))
    allowed = 24 * EPSILON[dtype]
    error = np.abs(np.einsum("kij,kjl,kml->kim", u, s, v) - f).max(axis=(1, 2))
    assert (error <= allowed * np.maximum(scale, 1e-300)).all()
    for rotation in (u, v):
        product = np.einsum("kij,kil->kjl", rotation, rotation)
        assert np.abs(product - np.eye(n)).max() <= allowed
    values = np.sort(np.abs(np.einsum("kii->ki", s)))[:, ::-1]
    known = np.linalg.svd(f, compute_uv=False)
    # Small values come from a product of the matrix with itself.
    assert (np.abs(values - known) <= np.sqrt(allowed) * np.maximum(scale, 1e-300)[:, None]).all()


# Rounding in the decomposition must not produce stress in an undeformed body.
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("n", [2, 3])
def test_svd_of_the_identity_with_rounding_is_exact(n, dtype):
    ti.init(arch=ti.cpu)
    small = [0.0, 3e-17, 1e-12, 1e-10, 1e-9]
    if dtype == "f64":
        small = [0.0, 3e-17, 1e-16]
    matrices = np.eye(n)[None].repeat(len(small), 0)
    matrices[:, 1, 0] = small
    f, u, _, v = _decompose(matrices.astype(NUMPY[dtype]), dtype)
    error = np.abs(f - np.einsum("kij,klj->kil", u, v)).max(axis=(1, 2))
    assert (error <= 1.001 * np.array(small)).all()
