"""A program to export, with data of each kind. It also runs its kernels, and prints what those of
the module have to print."""

import kiln as ti

ti.init(arch=ti.cpu)

n, particles = 32, 500
height = ti.field(ti.f32, shape=(n, n))
mass = ti.field(ti.f32, shape=(n, n))
place = ti.Vector.field(2, ti.f32, shape=particles)
smoke = ti.field(ti.i32)
ti.root.pointer(ti.ij, 4).bitmasked(ti.ij, 8).place(smoke)
small = ti.field(ti.types.quant.int(6))
packed = ti.BitpackedFields(max_num_bits=32)
packed.place(small)
ti.root.dense(ti.i, 16).place(packed)
x = ti.field(ti.f32, shape=8, needs_grad=True)
loss = ti.field(ti.f32, shape=(), needs_grad=True)


@ti.aot.export
@ti.kernel
def fill(k: ti.f32):
    for i, j in height:
        height[i, j] = k * i + j


@ti.aot.export
@ti.kernel
def total() -> ti.f64:
    result = ti.cast(0, ti.f64)
    for i, j in height:
        result += height[i, j]
    return result


# As particles and their grid in the material point method: many additions to few cells.
@ti.aot.export
@ti.kernel
def scatter():
    for i, j in mass:
        mass[i, j] = 0
    for p in place:
        place[p] = ti.Vector([p * 7 % n + 0.25, p * 13 % n + 0.5])
        cell = ti.cast(place[p], ti.i32)
        for offset in ti.static(ti.ndrange(2, 2)):
            at = (cell + ti.Vector(offset)) % n
            mass[at] += 0.25


@ti.aot.export
@ti.kernel
def most() -> ti.f32:
    result = 0.0
    for i, j in mass:
        ti.atomic_max(result, mass[i, j])
    return result


@ti.aot.export
@ti.kernel
def burn(count: ti.i32) -> ti.i32:
    for i in range(count):
        smoke[i * 3 % n, i * 5 % n] += i
    result = 0
    for i, j in smoke:
        result += smoke[i, j] + 1000
    return result


@ti.aot.export
@ti.kernel
def pack() -> ti.i32:
    for i in small:
        small[i] = 3 * i - 20
    result = 0
    for i in small:
        result += small[i] * i
    return result


@ti.aot.export
@ti.kernel
def square():
    for i in x:
        loss[None] += x[i] ** 2 * i


@ti.aot.export
@ti.kernel
def norms(v: ti.types.ndarray(dtype=ti.math.vec3, ndim=1), k: ti.math.vec3) -> ti.math.vec3:
    result = ti.Vector([0.0, 0.0, 0.0])
    for i in v:
        v[i] *= k
        result += v[i]
    return result


@ti.aot.export
@ti.kernel
def add(a: ti.types.ndarray(dtype=ti.i32, ndim=1), k: ti.i32):
    for i in a:
        a[i] += k


@ti.aot.export
@ti.kernel
def sum_of(a: ti.types.ndarray(dtype=ti.i32, ndim=1)) -> ti.f32:
    result = 0.0
    for i in a:
        result += a[i]
    return result


@ti.aot.export
@ti.kernel
def shift(a: ti.types.ndarray(dtype=ti.f32, ndim=2)):
    for i, j in height:
        height[i, j] = a[i, j] + 1


@ti.aot.export
@ti.kernel
def speak(k: ti.i32):
    print("k is", k, ti.Vector([k, 2 * k]))


ti.aot.export_as("square_grad")(square.grad)

_array = ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "a", ti.i32, ndim=1)
_amount = ti.graph.Arg(ti.graph.ArgKind.SCALAR, "k", ti.i32)
_builder = ti.graph.GraphBuilder()
_builder.dispatch(add, _array, _amount)
_builder.dispatch(add, _array, 100)
twice = _builder.compile()

fill(2.0)
scatter()
for i in range(8):
    x[i] = i
loss.grad[None] = 1.0
square.grad()
vectors = ti.Vector.ndarray(3, ti.f32, 4)
vectors.fill(1.5)
numbers = ti.ndarray(ti.i32, 3)
twice.run({"a": numbers, "k": 5})
print(f"total {total():g}")
print(f"most {most():g}")
print(f"burn {burn(20)}")
print(f"pack {pack()}")
print(f"grad {x.grad[3]:g}")
print("norms", *(f"{one:g}" for one in norms(vectors, [1.0, 2.0, 3.0])))
print(f"vector {vectors[1][2]:g}")
print(f"twice {numbers[2]}")
speak(3)
