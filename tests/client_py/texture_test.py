"""Textures beyond the language cases: in modules, captured graphs, tapes, windows, and when memory
or the program's session is gone."""

import copy

import kiln as ti
import numpy as np
import pytest
from kiln import Format
from PIL import Image


@ti.kernel
def fill(tex: ti.types.rw_texture(num_dimensions=2, fmt=Format.rgba8), red: ti.f32):
    for i, j in tex:
        tex.store(ti.Vector([i, j]), ti.Vector([red, i * 0.1, j * 0.1, 1.0]))


@ti.kernel
def corner(tex: ti.types.texture(num_dimensions=2)) -> ti.math.vec4:
    return tex.fetch(ti.Vector([1, 2]), 0) + tex.sample_lod(ti.Vector([0.5, 0.5]), 0.0)


@pytest.fixture(autouse=True)
def initialised():
    ti.init(arch=ti.cpu)
    yield
    ti.reset()


def texture():
    return ti.Texture(Format.rgba8, (3, 3))


def linear(texels, places):
    """What samplers of the modes LINEAR and REPEAT find in an array of numbers."""
    extents = np.array(texels.shape)
    place = (places - np.floor(places)) * extents - 0.5
    low = np.floor(place).astype(int)
    found = np.zeros(len(places))
    for corner in np.ndindex(*[2] * texels.ndim):
        weight = np.prod(np.where(corner, place - low, 1 - (place - low)), axis=1)
        found += weight * texels[tuple(((low + corner) % extents).T)]
    return found


@pytest.mark.parametrize("shape", [(7,), (5, 8), (3, 1, 6)])
def test_samples_are_linear_between_texels(shape):
    ndim = len(shape)
    place_of = ti.types.vector(ndim, ti.f32)

    @ti.kernel
    def sample(
        tex: ti.types.texture(num_dimensions=ndim),
        places: ti.types.ndarray(place_of, 1),
        out: ti.types.ndarray(ti.f32, 1),
    ):
        for i in out:
            out[i] = tex.sample_lod(places[i], 0.0).x

    random = np.random.default_rng(7)
    texels = random.random(shape).astype(np.float32)
    tex = ti.Texture(Format.r32f, shape)
    source = ti.ndarray(ti.f32, shape)
    # Memory of textures varies fastest along their first axis.
    source.from_numpy(texels.ravel(order="F").reshape(shape))
    tex.from_ndarray(source)
    assert (tex.to_numpy()[..., 0] == texels).all()
    places = random.uniform(-3, 3, (500, ndim)).astype(np.float32)
    places[:50] = np.round(places[:50] * 4) / 4
    out = np.zeros(500, np.float32)
    sample(tex, places, out)
    assert np.abs(out - linear(texels, places.astype(np.float64))).max() < 1e-5


def test_modules_take_textures(tmp_path):
    module = ti.aot.Module()
    module.add_kernel(fill)
    module.add_kernel(corner, template_args={"tex": texture()})
    module.save(tmp_path)
    loaded = ti.aot.load(tmp_path / "module.kiln")
    own, other = texture(), texture()
    fill(own, 0.5)
    loaded.fill(other, 0.5)
    assert (own.to_numpy() == other.to_numpy()).all() and other.to_numpy()[1, 2].max() == 255
    assert list(loaded.corner(other)) == list(corner(own))
    # To a module, a texture is the array of its texels.
    array = ti.Vector.ndarray(4, ti.u8, (3, 3))
    loaded.fill(array, 0.5)
    assert (array.to_numpy() == own.to_numpy()).all()
    with pytest.raises(ti.TaichiRuntimeError, match="takes an array of vec4<u8> with 2 axes"):
        loaded.fill(ti.Texture(Format.rgba32f, (3, 3)), 0.5)


@ti.kernel
def red(tex: ti.types.texture(num_dimensions=1)) -> ti.f32:
    return tex.fetch(ti.Vector([1]), 0).x


@pytest.fixture
def reds(tmp_path):
    """A module of `red` for each class of formats with one storage type, and their textures."""
    textures = {name: ti.Texture(getattr(Format, name), 2) for name in ("r8", "r8u")}
    module = ti.aot.Module()
    for name, tex in textures.items():
        tex.from_numpy(np.full((2, 1), 51, np.uint8))
        module.add_kernel(red, template_args={"tex": tex}, name=name)
    module.export(tmp_path / "reds.kiln")
    return ti.aot.load(tmp_path / "reds.kiln"), textures


def test_modules_keep_fractions_apart(reds):
    loaded, textures = reds
    assert loaded.r8.signature == "r8(tex: texture<r8, 1>) -> f32"
    assert loaded.r8u.signature == "r8u(tex: texture<r8u, 1>) -> f32"
    assert loaded.r8(textures["r8"]) == pytest.approx(0.2)
    assert loaded.r8u(textures["r8u"]) == 51
    with pytest.raises(ValueError, match="kernel 'r8', argument 'tex' takes a texture that stores"):
        loaded.r8(textures["r8u"])
    with pytest.raises(ValueError, match="got one that stores fractions"):
        loaded.r8u(copy.copy(textures["r8"]))

    class Picture(ti.Texture):
        """A program's own."""

    with pytest.raises(ValueError, match="got one that stores fractions"):
        loaded.r8u(Picture(Format.r8, 2))
    # Bytes may be either.
    assert loaded.r8u(np.full((2, 1), 7, np.uint8)) == 7


def test_modules_take_textures_in_graphs(tmp_path):
    kind = ti.graph.ArgKind
    tex = ti.graph.Arg(kind.RWTEXTURE, "tex", ndim=2, fmt=Format.rgba8)
    value = ti.graph.Arg(kind.SCALAR, "red", ti.f32)
    builder = ti.graph.GraphBuilder()
    builder.dispatch(fill, tex, value)
    module = ti.aot.Module()
    module.add_graph("paint", builder.compile())
    module.export(tmp_path / "paint.kiln")
    loaded = ti.aot.load(tmp_path / "paint.kiln")
    own, other = texture(), texture()
    fill(own, 0.5)
    loaded.paint.run({"tex": other, "red": 0.5})
    assert (own.to_numpy() == other.to_numpy()).all() and other.to_numpy().max() == 255
    with pytest.raises(ValueError, match="graph 'paint', argument 'tex'"):
        loaded.paint.run({"tex": ti.Texture(Format.rgba8u, (3, 3)), "red": 0.5})


def test_graphs_of_modules_state_formats():
    builder = ti.graph.GraphBuilder()
    builder.dispatch(red, ti.graph.Arg(ti.graph.ArgKind.TEXTURE, "tex", ndim=1))
    with pytest.raises(ti.TaichiCompilationError, match="argument 'tex' takes textures of any"):
        ti.aot.Module().add_graph("any", builder.compile())


def test_captured_graphs_take_textures():
    tex = texture()
    with ti.graph.capture() as graph:
        fill(tex, 1.0)
    assert not tex.to_numpy().any()
    graph.launch()
    assert tex.to_numpy()[0, 0].tolist() == [255, 0, 0, 255]


def test_derivatives_treat_texels_as_constants():
    tex = texture()
    fill(tex, 0.2)
    x, loss = (ti.field(ti.f32, (), needs_grad=True) for _ in range(2))

    @ti.kernel
    def k(tex: ti.types.texture(num_dimensions=2)):
        loss[None] += x[None] * tex.fetch(ti.Vector([0, 0]), 0).x

    x[None] = 3.0
    with ti.ad.Tape(loss):
        k(tex)
    assert x.grad[None] == pytest.approx(0.2) and loss[None] == pytest.approx(0.6)


def test_checkpoints_restore_textures():
    tex = ti.Texture(Format.r32f, 4)
    x, loss = (ti.field(ti.f32, (), needs_grad=True) for _ in range(2))

    @ti.kernel
    def brighten(tex: ti.types.rw_texture(num_dimensions=1, fmt=Format.r32f)):
        for i in tex:
            tex.store(i, tex.load(i) + 1.0)

    @ti.kernel
    def grow(tex: ti.types.texture(num_dimensions=1)):
        x[None] += 0.5 * x[None] * tex.fetch(0, 0).x

    @ti.kernel
    def end():
        loss[None] += x[None]

    def step(_):
        brighten(tex)
        grow(tex)

    def run(loop):
        tex.from_numpy(np.zeros((4, 1)))
        x[None], loss[None] = 2.0, 0.0
        with ti.ad.Tape(loss):
            loop()
            end()
        return x.grad[None]

    growth = 1.5 * 2.0 * 2.5
    assert run(lambda: ti.ad.checkpoint(step, 3, state=[x, tex])) == pytest.approx(growth)
    with pytest.raises(RuntimeError, match="must name all that a step takes over"):
        run(lambda: ti.ad.checkpoint(step, 3, state=[x]))
    # Without: a warning, which names lines of this file.
    with pytest.warns(Warning, match=f"again at {__file__}.* have overwritten at {__file__}"):
        run(lambda: [step(i) for i in range(3)])


def test_whole_textures_cannot_change_in_a_captured_graph():
    tex = texture()
    texels = tex.to_numpy()
    with pytest.raises(ti.TaichiRuntimeError, match="from_numpy"), ti.graph.capture():
        tex.from_numpy(texels)


def test_one_instance_for_all_shapes_and_one_for_each_format():
    @ti.kernel
    def first(tex: ti.types.texture(num_dimensions=2)) -> ti.f32:
        return tex.fetch(ti.Vector([0, 0]), 0).x

    def ones(fmt, shape):
        tex = ti.Texture(fmt, shape)
        bytes = ti.ndarray(ti.u8, shape)
        bytes.fill(255)
        tex.from_ndarray(bytes)
        return tex

    assert first(ones(Format.r8, (2, 2))) == first(ones(Format.r8, (5, 7))) == 1.0
    assert first.num_instances == 1
    # Both store bytes of one channel, which mean other numbers.
    assert first(ones(Format.r8u, (2, 2))) == 255.0
    assert first.num_instances == 2
    assert first(ones(Format.r8, (2, 2))) == 1.0


def test_classes_of_the_program_keep_the_two_apart():
    class Picture(ti.Texture):
        def __init__(self, fmt):
            super().__init__(fmt, (2, 2))
            self.from_numpy(np.full((2, 2, 1), 255))

    @ti.kernel
    def first(tex: ti.types.texture(num_dimensions=2)) -> ti.f32:
        return tex.fetch(ti.Vector([0, 0]), 0).x

    for fmt, texel in ((Format.r8, 1.0), (Format.r8u, 255.0), (Format.r8, 1.0)):
        picture = Picture(fmt)
        assert isinstance(picture, Picture) and first(picture) == texel


def test_canvases_show_textures(monkeypatch):
    monkeypatch.setenv("KILN_GUI", "offscreen")
    window = ti.ui.Window("texture", (9, 9), show_window=False)

    def shown(tex):
        window.get_canvas().set_image(tex)
        return np.round(window.get_image_buffer_as_numpy()[4, 4, :3] * 255).tolist()

    tex = texture()
    fill(tex, 1.0)
    assert shown(tex) == pytest.approx([255, 26, 26], abs=1)
    # One channel is red, as kernels read it.
    red = ti.Texture(Format.r32f, (3, 3))
    ones = ti.ndarray(ti.f32, (3, 3))
    ones.fill(1.0)
    red.from_ndarray(ones)
    assert shown(red) == pytest.approx([255, 0, 0], abs=1)
    window.destroy()


COLORS = np.arange(0, 240, 10, dtype=np.uint8).reshape(4, 2, 3)


def test_pictures():
    tex = ti.Texture(Format.rgba8, (2, 4))
    tex.from_image(Image.fromarray(COLORS))
    # Taichi's: turned to the left, without alpha.
    assert tex.to_numpy()[0].tolist() == [[*COLORS[y, 1], 0] for y in range(4)]
    assert tex.to_image().mode == "RGB" and (np.asarray(tex.to_image()) == COLORS).all()
    with pytest.raises(AssertionError, match=r"of \(2, 4\) texels cannot hold .* of \(4, 2\)"):
        tex.from_image(Image.new("RGB", (4, 2)))


@pytest.mark.parametrize(
    "name, texel, first",
    [
        ("r8", [90], [0, 0, 0]),
        ("rg16", [90 * 257, 100 * 257], [0, 10, 0]),
        ("rgba32f", np.float32([90 / 255, 100 / 255, 110 / 255, 0]), [0, 10, 20]),
        ("rgb16f", np.float16([90 / 255, 100 / 255, 110 / 255]), [0, 10, 20]),
    ],
)
def test_pictures_in_other_formats(name, texel, first):
    tex = ti.Texture(getattr(Format, name), (2, 4))
    tex.from_image(Image.fromarray(COLORS).convert("RGBA"))
    assert tex.to_numpy()[0, 1].tolist() == list(texel)
    assert np.asarray(tex.to_image())[0, 0].tolist() == first


def test_textures_need_memory_and_a_session():
    with pytest.raises(ti.TaichiRuntimeError, match="cannot allocate 17592186044416 bytes"):
        ti.Texture(Format.rgba32f, (2**30, 2**10))
    tex = texture()
    fill(tex, 1.0)
    ti.reset()
    with pytest.raises(ti.TaichiRuntimeError, match="Cannot create texture"):
        texture()
    # As ndarrays do, textures outlive the session.
    ti.init(arch=ti.cpu)
    assert tex.to_numpy()[0, 0, 0] == 255
    fill(tex, 0.0)
    assert tex.to_numpy()[0, 0, 0] == 0
