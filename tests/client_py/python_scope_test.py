"""Vectors, matrices, ti.math and element views in Python, outside of kernels."""

import kiln as ti
import numpy as np
import pytest

# Expression -> text of its value, as the reference prints it.
TEXTS = {
    "v": "[1 2 3]",
    "v / 2": "[0.5 1.  1.5]",
    "1 - v": "[ 0 -1 -2]",
    "v * w": "[1. 1. 6.]",
    "v + [1, 1, 1]": "[2 3 4]",
    "-v": "[-1 -2 -3]",
    "v ** 2": "[1 4 9]",
    "v > 1": "[False  True  True]",
    "v @ w": "8.0",
    "A @ A": "[[ 7 10]\n [15 22]]",
    "A[0, 1]": "2",
    "A[0, :]": "[1 2]",
    "A.transpose()": "[[1 3]\n [2 4]]",
    "A.trace()": "5",
    "v.zyx": "[3 2 1]",
    "v.x": "1",
    "w.norm_sqr()": "5.25",
    "v.dot(w)": "8.0",
    "v.cross(w)": "[ 2.5  1.  -1.5]",
    "(v > 1).any()": "True",
    "(v > 1).all()": "False",
    "v.max()": "3",
    "ti.max(v, 2)": "[2 2 3]",
    "ti.floor(w)": "[1. 0. 2.]",
    "ti.sqrt(w * w)": "[1.  0.5 2. ]",
    "v.to_list()": "[1, 2, 3]",
    "ti.math.vec4(ti.math.vec2(1, 2), 3, 4)": "[1. 2. 3. 4.]",
    "ti.math.ivec3(1.7)": "[1 1 1]",
    "ti.types.vector(2, ti.i32)([1.5, 2.5])": "[1 2]",
    "ti.Vector(np.array([1.0, 2.0]))": "[1. 2.]",
    "ti.f32": "f32",
}


@pytest.mark.parametrize("expression", TEXTS)
def test_prints_as_the_reference(expression):
    names = {
        "v": ti.Vector([1, 2, 3]),
        "w": ti.Vector([1.0, 0.5, 2.0]),
        "A": ti.Matrix([[1, 2], [3, 4]]),
        "ti": ti,
        "np": np,
    }
    assert str(eval(expression, names)) == TEXTS[expression]


def test_element_types_are_numpys():
    assert type(ti.Vector([1, 2])[0]) is np.int64
    assert type(ti.math.vec3(1, 2, 3).x) is np.float32
    assert type(ti.Vector([1.0, 2.0]).norm()) is np.float64


def test_writes_through_swizzles():
    v = ti.Vector([1, 2, 3])
    v.x = 10
    v.yz = [5, 6]
    assert v.to_list() == [10, 5, 6]
    with pytest.raises(ti.TaichiSyntaxError):
        ti.Vector([1, 2]).z  # noqa: B018


def test_elements_of_fields_are_views():
    ti.init(arch=ti.cpu)
    f = ti.Vector.field(2, ti.f32, 2)
    a = f[0]
    f[0] = [9, 8]
    assert list(a) == [9, 8]
    f[0].x = 3
    f[0][1] = 5
    b = f[0] + 1
    f[0] = [0, 0]
    assert list(b) == [4, 6] and list(a) == [0, 0]


def test_math_in_python():
    tm = ti.math
    assert tm.mix(1.0, 3.0, 0.25) == 1.5
    assert tm.clamp(5, 0, 1) == 1
    assert list(tm.cmul(tm.vec2(1, 2), tm.vec2(3, 4))) == [-5, 10]
    assert tm.length(tm.vec2(3, 4)) == 5


def test_decompositions_recompose():
    ti.init(arch=ti.cpu)
    size = 5
    m = ti.Matrix.field(3, 3, ti.f64, size)
    n = ti.Matrix.field(2, 2, ti.f64, size)
    worst = ti.field(ti.f64, size)
    random = np.random.RandomState(0)
    m.from_numpy(random.randn(size, 3, 3))
    n.from_numpy(random.randn(size, 2, 2))

    @ti.func
    def error3(A):
        one = ti.Matrix.identity(ti.f64, 3)
        U, S, V = ti.svd(A, ti.f64)
        R, P = ti.polar_decompose(A, ti.f64)
        symmetric = A + A.transpose()
        w, Q = ti.sym_eig(symmetric, ti.f64)
        W = ti.Matrix([[w[0], 0, 0], [0, w[1], 0], [0, 0, w[2]]], ti.f64)
        b = ti.Vector([1.0, 2.0, 3.0], ti.f64)
        return (
            (U @ S @ V.transpose() - A).norm()
            + (U.transpose() @ U - one).norm()
            + abs(V.determinant() - 1)
            + (R @ P - A).norm()
            + (symmetric @ Q - Q @ W).norm()
            + (A @ ti.solve(A, b, ti.f64) - b).norm()
        )

    @ti.func
    def error2(A):
        U, S, V = ti.svd(A, ti.f64)
        symmetric = A + A.transpose()
        w, Q = ti.sym_eig(symmetric, ti.f64)
        W = ti.Matrix([[w[0], 0], [0, w[1]]], ti.f64)
        b = ti.Vector([1.0, 2.0], ti.f64)
        return (
            (U @ S @ V.transpose() - A).norm()
            + (symmetric @ Q - Q @ W).norm()
            + (A @ ti.solve(A, b, ti.f64) - b).norm()
        )

    @ti.kernel
    def run():
        for i in m:
            worst[i] = error3(m[i]) + error2(n[i])

    run()
    assert worst.to_numpy().max() < 1e-12
