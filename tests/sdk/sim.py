"""The module of docs/cpp.md."""

import kiln as ti

ti.init(arch=ti.cpu)
x = ti.field(ti.f32, shape=(8, 4))
v = ti.Vector.field(3, ti.f32, shape=5)
smoke = ti.field(ti.f32)
ti.root.pointer(ti.ij, 4).dense(ti.ij, 4).place(smoke)


@ti.aot.export
@ti.kernel
def step(dt: ti.f32):
    for i, j in x:
        x[i, j] += dt
    for i in v:
        v[i] += dt * ti.Vector([1.0, 2.0, 3.0])


@ti.aot.export
@ti.kernel
def energy() -> ti.f32:
    total = 0.0
    for i, j in x:
        total += x[i, j]
    return total


@ti.aot.export
@ti.kernel
def saxpy(
    y: ti.types.ndarray(dtype=ti.f32, ndim=1), x: ti.types.ndarray(dtype=ti.f32, ndim=1), a: ti.f32
):
    for i in y:
        y[i] += a * x[i]


@ti.aot.export
@ti.kernel
def shade(image: ti.types.ndarray(dtype=ti.math.vec3, ndim=2), light: ti.math.vec3):
    for i, j in image:
        image[i, j] = light * (10 * i + j)


@ti.aot.export
@ti.kernel
def middle(a: ti.math.vec3) -> ti.math.vec3:
    print("middle of", a)
    return a / 2


@ti.aot.export
@ti.kernel
def count_smoke() -> ti.i32:
    count = 0
    for i, j in smoke:
        count += 1
    return count


_y = ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "y", ti.f32, ndim=1)
_x = ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "x", ti.f32, ndim=1)
_dt = ti.graph.Arg(ti.graph.ArgKind.SCALAR, "dt", ti.f32)
_builder = ti.graph.GraphBuilder()
_builder.dispatch(saxpy, _y, _x, _dt)
_builder.dispatch(step, _dt)
update = _builder.compile()
