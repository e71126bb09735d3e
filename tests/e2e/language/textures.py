"""Textures: made, filled, read and written by kernels. Taichi runs these cases on Vulkan, for which
Mesa's lavapipe will do (Debian's package mesa-vulkan-drivers)."""

import numpy as np
from harness import case, ti

F = ti.Format
FRACTIONS = "r8 rg8 rgba8 r16 rg16 rgba16".split()
FLOATS = "r16f rg16f rgba16f r32f rg32f rgba32f".split()


def sampled(ndim=2):
    return ti.types.texture(num_dimensions=ndim)


def stored(fmt, ndim=2):
    return ti.types.rw_texture(num_dimensions=ndim, fmt=fmt, lod=0)


def numbered(fmt, shape, start=0):
    """A texture of the numbers from `start` on, in the order of its memory."""
    tex = ti.Texture(fmt, shape)
    dtype, channels = ti.types.texture_type.FORMAT2TY_CH[fmt]
    if channels == 1:
        numbers = ti.ndarray(dtype, shape)
    else:
        numbers = ti.Vector.ndarray(channels, dtype, shape)
    like = numbers.to_numpy()
    numbers.from_numpy(np.arange(start, start + like.size).astype(like.dtype).reshape(like.shape))
    tex.from_ndarray(numbers)
    return tex


def reader(ndim=2):
    """A kernel that returns one texel, in thousandths."""
    whole = ti.types.vector(4, ti.i32)

    if ndim == 1:

        @ti.kernel
        def read(tex: sampled(1), x: ti.i32) -> whole:
            return ti.cast(ti.round(tex.fetch(x, 0) * 1000), ti.i32)

        return read
    if ndim == 3:

        @ti.kernel
        def read(tex: sampled(3), x: ti.i32, y: ti.i32, z: ti.i32) -> whole:
            return ti.cast(ti.round(tex.fetch(ti.Vector([x, y, z]), 0) * 1000), ti.i32)

        return read

    @ti.kernel
    def read(tex: sampled(), x: ti.i32, y: ti.i32) -> whole:
        return ti.cast(ti.round(tex.fetch(ti.Vector([x, y]), 0) * 1000), ti.i32)

    return read


def sampler():
    """A kernel that returns the red between texels, in hundredths."""

    @ti.kernel
    def sample(tex: sampled(), u: ti.f32, v: ti.f32) -> ti.i32:
        return ti.cast(ti.round(tex.sample_lod(ti.Vector([u, v]), 0.0).x * 100), ti.i32)

    return sample


def writer(fmt):
    @ti.kernel
    def write(tex: stored(fmt), x: ti.i32, y: ti.i32, texel: ti.math.vec4):
        tex.store(ti.Vector([x, y]), texel)

    return write


@case()
def formats_of_fractions(show):
    read = reader()
    for name in FRACTIONS:
        fmt = getattr(F, name)
        write = writer(fmt)
        tex = ti.Texture(fmt, (4, 3))
        write(tex, 1, 2, ti.math.vec4(0.25, 0.5, -0.5, 2.0))
        write(tex, 3, 0, ti.math.vec4(0.125, 1.0, 0.75, 0.5))
        show(name, read(tex, 1, 2), read(tex, 3, 0))


@case()
def formats_of_floats(show):
    read = reader()
    for name in FLOATS:
        fmt = getattr(F, name)
        write = writer(fmt)
        tex = ti.Texture(fmt, (4, 3))
        write(tex, 1, 2, ti.math.vec4(0.25, -3.5, 1000.0, 2.5))
        show(name, read(tex, 1, 2))


@case(differs="textures")
def formats_of_integers(show):
    read = reader()
    for name in "r8u r8i rgba8u rgba8i rg16u rg16i r32u rgba32i".split():
        fmt = getattr(F, name)
        write = writer(fmt)
        tex = ti.Texture(fmt, (2, 2))
        write(tex, 1, 0, ti.math.vec4(3.7, 100.0, 7.0, 1.0))
        show(name, read(tex, 1, 0), tex.to_numpy().dtype.name)


@case(differs="textures")
def formats_of_three_channels(show):
    read = reader()
    for name in "rgb16 rgb16f rgb32f rgb32i".split():
        fmt = getattr(F, name)
        write = writer(fmt)
        tex = ti.Texture(fmt, (2, 2))
        write(tex, 1, 1, ti.math.vec4(1.0, 0.0, 1.0, 0.0))
        show(name, read(tex, 1, 1))


@case()
def attributes(show):
    tex = ti.Texture(F.rg16f, (5, 7))
    show(tex.shape, tex.num_dims, str(tex.fmt), tex.fmt == F.rg16f)


@case()
def texels_outside_are_zero(show):
    tex = numbered(F.rgba32f, (4, 3), start=1)
    read = reader()

    @ti.kernel
    def load(tex: stored(F.rgba32f), x: ti.i32, y: ti.i32) -> ti.math.vec4:
        return tex.load(ti.Vector([x, y]))

    for x, y in ((0, 0), (3, 2), (4, 2), (3, 3), (-1, 0), (0, -1), (100, 100), (2**31 - 1, 0)):
        show((x, y), read(tex, x, y), load(tex, x, y))


@case()
def stores_outside_do_nothing(show):
    tex = numbered(F.r32f, (3, 2))

    @ti.kernel
    def write(tex: stored(F.r32f), n: ti.i32):
        for i, j in ti.ndrange((-n, n), (-n, n)):
            if i < 0 or j < 0 or i >= 3 or j >= 2:
                tex.store(ti.Vector([i, j]), ti.Vector([99.0, 0.0, 0.0, 0.0]))

    write(tex, 9)
    read = reader()
    show([read(tex, x, y).x for y in range(2) for x in range(3)])


@case()
def memory_runs_along_the_first_axis(show):
    for shape in ((3, 4), (4, 3)):
        tex = numbered(F.r32f, shape)
        read = reader()
        show([[read(tex, x, y).x for y in range(shape[1])] for x in range(shape[0])])
    tex = numbered(F.r32f, (2, 3, 4))
    read = reader(3)
    show([read(tex, x, y, z).x for x in range(2) for y in range(3) for z in range(4)])


@case(differs="textures")
def ndarrays_fill_textures_of_one_axis(show):
    read = reader(1)
    for fmt in (F.r32f, F.rg32f):
        tex = numbered(fmt, (5,))
        show([list(read(tex, x)) for x in range(5)])


@case()
def fields_fill_textures(show):
    read = reader()
    x = ti.field(ti.f32, shape=(4, 4))
    x.from_numpy(np.arange(16, dtype=np.float32).reshape(4, 4))
    tex = ti.Texture(F.r32f, (4, 4))
    tex.from_field(x)
    show([int(read(tex, i, j).x) // 1000 for i in range(4) for j in range(4)])
    v = ti.Vector.field(4, ti.u8, shape=(2, 2))
    v.from_numpy(np.arange(0, 160, 10, dtype=np.uint8).reshape(2, 2, 4))
    tex = ti.Texture(F.rgba8, (2, 2))
    tex.from_field(v)
    show([list(read(tex, i, j)) for i in range(2) for j in range(2)])


@case()
def samples_are_linear_and_repeat(show):
    tex = numbered(F.r32f, (4, 4))
    sample = sampler()
    for u, v in ((0.125, 0.125), (0.25, 0.125), (0.125, 0.25), (0.5, 0.5), (0.875, 0.875)):
        show((u, v), sample(tex, u, v))
    for u, v in ((0.0, 0.0), (1.0, 1.0), (1.125, 0.125), (-0.875, -3.875), (0.0, 0.5)):
        show((u, v), sample(tex, u, v))


@case()
def samples_of_one_and_three_axes(show):
    @ti.kernel
    def line(tex: sampled(1), u: ti.f32) -> ti.i32:
        return ti.cast(ti.round(tex.sample_lod(u, 0.0).x * 100), ti.i32)

    @ti.kernel
    def block(tex: sampled(3), u: ti.f32, v: ti.f32, w: ti.f32) -> ti.i32:
        return ti.cast(ti.round(tex.sample_lod(ti.Vector([u, v, w]), 0.0).x * 100), ti.i32)

    tex = numbered(F.r32f, (4,))
    show([line(tex, u) for u in (0.0, 0.125, 0.25, 0.75, 1.0)])
    tex = numbered(F.r32f, (2, 2, 2))
    show([block(tex, *place) for place in ((0.0, 0.0, 0.0), (0.25, 0.25, 0.25), (0.5, 0.75, 0.25))])


@case()
def levels_of_detail_do_not_matter(show):
    tex = numbered(F.r32f, (4, 4))

    @ti.kernel
    def sample(tex: sampled(), lod: ti.f32) -> ti.f32:
        return tex.sample_lod(ti.Vector([0.125, 0.375]), lod).x

    show(sample(tex, 0.0), sample(tex, 2.0), sample(tex, -1.5))


@case()
def samples_at_no_place_are_some_texels(show):
    tex = numbered(F.r32f, (4, 4))

    @ti.kernel
    def sample(tex: sampled(), u: ti.f32) -> ti.i32:
        found = tex.sample_lod(ti.Vector([u, 0.125]), 0.0).x
        return ti.cast(found == found and (found < 0 or found > 15), ti.i32)

    show([sample(tex, u) for u in (float("nan"), float("inf"), -float("inf"), 1e30, -1e30)])


@case(differs="textures")
def shapes_in_kernels(show):
    @ti.kernel
    def of_sampled(tex: sampled()) -> ti.types.vector(2, ti.i32):
        return ti.Vector([tex.shape[0], tex.shape[1]])

    @ti.kernel
    def of_stored(tex: stored(F.r8, 3)) -> ti.i32:
        return tex.shape[0] * 100 + tex.shape[1] * 10 + tex.shape[2]

    show(of_sampled(ti.Texture(F.r8, (4, 3))), of_stored(ti.Texture(F.r8, (4, 3, 2))))
    show(of_sampled(ti.Texture(F.r8, (8, 9))))


@case()
def loops_over_textures(show):
    @ti.kernel
    def fill(tex: stored(F.r32f)):
        for i, j in tex:
            tex.store(ti.Vector([i, j]), ti.Vector([i * 10.0 + j, 0.0, 0.0, 0.0]))

    tex = ti.Texture(F.r32f, (3, 2))
    fill(tex)
    read = reader()
    show([int(read(tex, x, y).x) // 1000 for x in range(3) for y in range(2)])


@case()
def loops_over_grouped_textures(show):
    @ti.kernel
    def fill(tex: stored(F.r32f)):
        for I in ti.grouped(tex):  # noqa: E741
            tex.store(I, ti.Vector([I[0] * 10.0 + I[1], 0.0, 0.0, 0.0]))

    tex = ti.Texture(F.r32f, (3, 2))
    fill(tex)
    read = reader()
    show([int(read(tex, x, y).x) // 1000 for x in range(3) for y in range(2)])


@case()
def one_texture_read_and_written(show):
    @ti.kernel
    def step(a: sampled(), b: stored(F.rgba32f)) -> ti.math.vec4:
        b.store(ti.Vector([1, 1]), a.fetch(ti.Vector([0, 0]), 0) + 1.0)
        return b.load(ti.Vector([1, 1]))

    tex = numbered(F.rgba32f, (2, 2))
    show(step(tex, tex))


@case()
def functions_take_textures(show):
    @ti.func
    def by_template(t: ti.template(), i, j):
        return t.fetch(ti.Vector([i, j]), 0)

    @ti.kernel
    def k(tex: sampled()) -> ti.math.vec4:
        return by_template(tex, 1, 0)

    show(k(numbered(F.rgba32f, (2, 2))))


@case(differs="textures")
def functions_take_textures_by_value(show):
    @ti.func
    def plain(t, i, j):
        return t.fetch(ti.Vector([i, j]), 0)

    @ti.func
    def annotated(t: sampled(), i: ti.i32):
        return t.fetch(ti.Vector([i, i]), 0)

    @ti.kernel
    def k(tex: sampled()) -> ti.math.vec4:
        same = tex
        return plain(tex, 1, 0) + annotated(same, 1)

    show(k(numbered(F.rgba32f, (2, 2))))


@case(differs="textures")
def packs_hold_textures(show):
    pack = ti.types.argpack(tex=sampled(), to=stored(F.r32f), x=ti.i32)

    @ti.kernel
    def k(p: pack) -> ti.f32:
        p.to.store(ti.Vector([p.x, 0]), ti.Vector([8.0, 0.0, 0.0, 0.0]))
        return p.tex.fetch(ti.Vector([p.x, 1]), 0).x

    tex, to = numbered(F.r32f, (2, 2)), ti.Texture(F.r32f, (2, 2))
    show(k(pack(tex=tex, to=to, x=1)), to.to_numpy()[..., 0].tolist())


@case(default_fp=ti.f64)
def doubles_and_wide_indices(show):
    tex = numbered(F.r32f, (4, 4))

    @ti.kernel
    def k(tex: sampled(), i: ti.i64) -> ti.f64:
        return ti.cast(tex.fetch(ti.cast(ti.Vector([i, i]), ti.i32), 0).x, ti.f64)

    show(k(tex, 2))


@case(differs="textures")
def places_of_other_types(show):
    tex = numbered(F.r32f, (4, 4))

    @ti.kernel
    def k(tex: sampled(), i: ti.i64, j: ti.u8, u: ti.f64) -> ti.math.vec2:
        a = tex.fetch(ti.Vector([i, i]), 0).x + tex.fetch(ti.Vector([j, j]), 0).x
        return ti.math.vec2(a, tex.sample_lod(ti.Vector([u, u]), 0).x)

    show(k(tex, 2, 1, 0.375), k(tex, 2**32, 255, 0.375))


@case()
def graphs_take_textures(show):
    fmt = F.r32f

    @ti.kernel
    def fill(tex: stored(fmt), value: ti.f32):
        for i, j in ti.ndrange(2, 2):
            tex.store(ti.Vector([i, j]), ti.Vector([value + i + j, 0.0, 0.0, 0.0]))

    @ti.kernel
    def read(tex: sampled(), out: ti.types.ndarray(dtype=ti.f32, ndim=2)):
        for i, j in out:
            out[i, j] = tex.fetch(ti.Vector([i, j]), 0).x

    kinds = ti.graph.ArgKind
    to = ti.graph.Arg(kinds.RWTEXTURE, "to", ndim=2, fmt=fmt)
    tex = ti.graph.Arg(kinds.TEXTURE, "tex", ndim=2)
    out = ti.graph.Arg(kinds.NDARRAY, "out", ti.f32, ndim=2)
    value = ti.graph.Arg(kinds.SCALAR, "value", ti.f32)
    builder = ti.graph.GraphBuilder()
    builder.dispatch(fill, to, value)
    builder.dispatch(read, tex, out)
    graph = builder.compile()
    texture, found = ti.Texture(fmt, (2, 2)), ti.ndarray(ti.f32, (2, 2))
    graph.run({"to": texture, "tex": texture, "out": found, "value": 5.0})
    show(found.to_numpy())


@case(differs="mistakes with textures")
def graphs_refuse_other_textures(show):
    @ti.kernel
    def k(tex: stored(F.r32f)):
        tex.store(ti.Vector([0, 0]), ti.Vector([0.0, 0.0, 0.0, 0.0]))

    kinds = ti.graph.ArgKind
    show.error(ti.graph.Arg, kinds.RWTEXTURE, "a", ndim=2)
    show.error(ti.graph.Arg, kinds.TEXTURE, "a", ndim=2, fmt=F.r8)
    builder = ti.graph.GraphBuilder()
    for arg in (
        ti.graph.Arg(kinds.TEXTURE, "a", ndim=2),
        ti.graph.Arg(kinds.RWTEXTURE, "a", ndim=1, fmt=F.r32f),
        ti.graph.Arg(kinds.RWTEXTURE, "a", ndim=2, fmt=F.r8),
        ti.graph.Arg(kinds.SCALAR, "a", ti.i32),
    ):
        show.error(builder.dispatch, k, arg)
    builder.dispatch(k, ti.graph.Arg(kinds.RWTEXTURE, "a", ndim=2, fmt=F.r32f))
    graph = builder.compile()
    for value in (3, ti.Texture(F.r32f, (2,)), ti.Texture(F.r8, (2, 2))):
        show.error(graph.run, {"a": value})


@case()
def arguments_that_do_not_fit(show):
    read, write = reader(), writer(F.rgba32f)
    show.error(read, np.zeros((3, 3)), 1, 1)
    show.error(read, 3, 1, 1)
    show.error(read, ti.Texture(F.r32f, (8,)), 1, 1)
    show.error(write, ti.Texture(F.r32f, (8,)), 1, 1, ti.math.vec4(0))
    show.error(write, ti.Texture(F.r32f, (8, 8)), 1, 1, ti.math.vec4(0))
    show.error(ti.types.rw_texture, num_dimensions=2)


@case(differs="mistakes with textures")
def textures_that_cannot_be(show):
    for shape in ((0, 8), (-1, 8), (2, 2, 2, 2), (), (1.5, 2), "ab"):
        show.error(ti.Texture, F.r32f, shape)
    for fmt in (ti.f32, F.unknown, F.depth32f, F.bgra8, "rgba8", None):
        show.error(ti.Texture, fmt, (2, 2))


@case(differs="mistakes with textures")
def sources_that_do_not_fit(show):
    tex = ti.Texture(F.rgba32f, (3, 2))
    show.error(tex.from_ndarray, ti.ndarray(ti.f32, (3, 2)))
    show.error(tex.from_ndarray, ti.Vector.ndarray(4, ti.f64, (3, 2)))
    show.error(tex.from_ndarray, ti.Vector.ndarray(4, ti.f32, (2, 3)))
    show.error(tex.from_ndarray, np.zeros(24, np.float32))
    show.error(tex.from_field, ti.ndarray(ti.f32, 24))
    show.error(tex.from_field, ti.Matrix.field(2, 2, ti.f32, (3, 2)))
    show.error(tex.from_field, ti.Struct.field({"a": ti.f32, "b": ti.f32}, shape=(3, 2)))
    show.error(tex.from_image, "picture.png")
    show.error(ti.Texture(F.rgba8, (2,)).to_image)
    show.error(ti.Texture(F.rgba8u, (2, 2)).to_image)


@case(differs="textures")
def copies(show):
    import copy

    tex = numbered(F.r32f, (2, 2))
    same, other = copy.copy(tex), copy.deepcopy(tex)
    writer(F.r32f)(tex, 0, 0, ti.math.vec4(9.0, 0.0, 0.0, 0.0))
    read = reader()
    show(read(same, 0, 0), read(other, 0, 0))
    show(copy.deepcopy(F.r32f) == F.r32f, F.r32f == F.rg32f)
    show.error(lambda: tex[0, 0])


@case(differs="textures")
def real_functions_take_textures(show):
    @ti.real_func
    def at(t: sampled(), i: ti.i32) -> ti.f32:
        return t.fetch(ti.Vector([i, i]), 0).x

    @ti.real_func
    def put(t: stored(F.r32f), i: ti.i32, x: ti.f32):
        t.store(ti.Vector([i, i]), ti.Vector([x, 0.0, 0.0, 0.0]))

    @ti.kernel
    def k(a: sampled(), b: sampled(), c: stored(F.r32f)) -> ti.f32:
        put(c, 1, 7.0)
        return at(a, 1) + 100 * at(b, 0) + 10000 * c.load(ti.Vector([1, 1])).x

    show(k(numbered(F.r32f, (2, 2)), numbered(F.rg32f, (2, 2), 4), numbered(F.r32f, (2, 2))))


@case(differs="mistakes with textures")
def functions_refuse_what_is_no_texture(show):
    @ti.func
    def inlined(t: sampled()):
        return t.fetch(ti.Vector([0, 0]), 0)

    @ti.real_func
    def called(t: stored(F.r32f)) -> ti.f32:
        return t.load(ti.Vector([0, 0])).x

    @ti.kernel
    def a_number() -> ti.math.vec4:
        return inlined(3)

    @ti.kernel
    def written_for_read(t: stored(F.r32f)) -> ti.math.vec4:
        return inlined(t)

    @ti.kernel
    def of_one_axis(t: sampled(1)) -> ti.math.vec4:
        return inlined(t)

    @ti.kernel
    def of_other_format(t: stored(F.rg32f)) -> ti.f32:
        return called(t)

    tex = ti.Texture(F.r32f, (2, 2))
    show.error(a_number)
    show.error(written_for_read, tex)
    show.error(of_one_axis, ti.Texture(F.r32f, 2))
    show.error(of_other_format, ti.Texture(F.rg32f, (2, 2)))


@case(differs="modules of compiled kernels")
def modules_need_a_format(show):
    @ti.kernel
    def k(t: sampled()) -> ti.math.vec4:
        return t.fetch(ti.Vector([0, 0]), 0)

    show.error(ti.aot.Module().add_kernel, k)


@case(differs="mistakes with textures")
def arrays_and_textures_are_not_the_same(show):
    @ti.kernel
    def k(t: ti.types.ndarray()):
        pass

    show.error(k, ti.Texture(F.r32f, (2, 2)))


@case()
def errors_in_kernels(show):
    tex = numbered(F.rgba32f, (2, 2))

    @ti.kernel
    def float_index(tex: sampled()) -> ti.math.vec4:
        return tex.fetch(ti.Vector([1.7, 1.9]), 0)

    @ti.kernel
    def integer_place(tex: sampled()) -> ti.math.vec4:
        return tex.sample_lod(ti.Vector([1, 1]), 0)

    @ti.kernel
    def three_of_two(tex: sampled()) -> ti.math.vec4:
        return tex.sample_lod(ti.Vector([1.0, 1.0, 1.0]), 0.0)

    @ti.kernel
    def one_of_two(tex: sampled()) -> ti.math.vec4:
        return tex.fetch(1, 0)

    @ti.kernel
    def subscript(tex: sampled()) -> ti.f32:
        return tex[0, 0]

    @ti.kernel
    def store(tex: sampled()):
        tex.store(ti.Vector([0, 0]), ti.Vector([7.0, 0.0, 0.0, 0.0]))

    @ti.kernel
    def load(tex: sampled()) -> ti.math.vec4:
        return tex.load(ti.Vector([0, 0]))

    for k in (float_index, integer_place, three_of_two, one_of_two, subscript, store, load):
        show.error(k, tex)


@case()
def errors_of_stores(show):
    tex = numbered(F.rgba32f, (2, 2))
    whole = stored(F.rgba32f)

    @ti.kernel
    def two_channels(tex: whole):
        tex.store(ti.Vector([0, 0]), ti.Vector([7.0, 1.0]))

    @ti.kernel
    def a_number(tex: whole):
        tex.store(ti.Vector([0, 0]), 3.0)

    @ti.kernel
    def integers(tex: whole):
        tex.store(ti.Vector([0, 0]), ti.Vector([1, 2, 3, 4]))

    @ti.kernel
    def fetch(tex: whole) -> ti.math.vec4:
        return tex.fetch(ti.Vector([0, 0]), 0)

    @ti.kernel
    def sample(tex: whole) -> ti.math.vec4:
        return tex.sample_lod(ti.Vector([0.0, 0.0]), 0.0)

    for k in (two_channels, a_number, integers, fetch, sample):
        show.error(k, tex)


@case(differs="mistakes with textures")
def textures_that_are_no_parameters(show):
    tex = numbered(F.rgba32f, (2, 2))

    @ti.kernel
    def by_template(t: ti.template()) -> ti.math.vec4:
        return t.fetch(ti.Vector([0, 0]), 0)

    @ti.kernel
    def by_name() -> ti.math.vec4:
        return tex.fetch(ti.Vector([0, 0]), 0)

    show.error(by_template, tex)
    show.error(by_name)
    show.error(tex.fetch, 0, 0)


@case(debug=True)
def debug_mode_checks_no_texel(show):
    tex = numbered(F.r32f, (3, 2))
    read = reader()
    show(read(tex, 2, 1), read(tex, 3, 1))
