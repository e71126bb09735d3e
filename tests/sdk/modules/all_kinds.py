"""A module with each kind of SNode, parameter and result."""

import kiln as ti

ti.init(arch=ti.cpu)
dense = ti.Vector.field(3, ti.f32, shape=(5, 2), offset=(-2, 0))
pointer = ti.field(ti.f32)
ti.root.pointer(ti.ij, 4).dense(ti.ij, 4).place(pointer)
bitmasked = ti.field(ti.i32)
ti.root.bitmasked(ti.i, 16).place(bitmasked)
dynamic = ti.field(ti.i32)
_list = ti.root.dynamic(ti.i, 64, chunk_size=8)
_list.place(dynamic)
quantised = ti.field(ti.types.quant.int(6, True))
_word = ti.BitpackedFields(max_num_bits=32)
_word.place(quantised)
ti.root.dense(ti.i, 12).place(_word)
Pair = ti.types.struct(a=ti.f32, b=ti.i32)
Array = ti.types.ndarray(dtype=ti.f32, ndim=1)


@ti.aot.export
@ti.kernel
def fill(count: ti.i32):
    for i, j in dense:
        dense[i, j] += float(i)
    for i in range(3):
        pointer[i, 2 * i] = 1.0
        bitmasked[3 * i] = i
    for i in range(count):
        ti.append(_list, [], i)
    for i in quantised:
        quantised[i] = i


@ti.aot.export
@ti.kernel
def count() -> ti.i32:
    cells = 0
    for i, j in pointer:
        cells += 1
    for i in bitmasked:
        cells += 1
    for i in dynamic:
        cells += 1
    return cells


@ti.aot.export
@ti.kernel
def clear():
    for i, j in pointer.parent().parent():
        ti.deactivate(pointer.parent().parent(), [i, j])


@ti.aot.export
@ti.kernel
def scale(numbers: Array, of: Array, by: ti.f32):
    for i in numbers:
        numbers[i] = by * of[i]


@ti.aot.export
@ti.kernel
def swap(pair: Pair, turn: ti.math.vec3) -> Pair:
    print("swapped", f"{pair.a:.2f}", pair.b)
    return Pair(a=pair.b + turn[0], b=ti.cast(pair.a, ti.i32))


_numbers = ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "numbers", ti.f32, ndim=1)
_by = ti.graph.Arg(ti.graph.ArgKind.SCALAR, "by", ti.f32)
_builder = ti.graph.GraphBuilder()
_builder.dispatch(scale, _numbers, _numbers, _by)
_builder.dispatch(clear)
twice = _builder.compile()
