"""`dir()` of the package, its modules and its classes shows what Taichi's shows, and all of it is
there; what Kiln has no implementation of says so at its use."""

import sys

import kiln
import public_names
import pytest

RECORDED = public_names.recorded()


def test_the_package_shows_187_names():
    assert len(RECORDED[""]) == 187


def test_a_matrix_shows_30_methods_and_1020_swizzles():
    assert len(public_names.SWIZZLES) == 1020
    assert len(RECORDED["Matrix"] - public_names.SWIZZLES) == 30


@pytest.mark.parametrize("path", RECORDED)
def test_shows_what_the_reference_shows(path):
    found = public_names.find(kiln, path) if path else kiln
    assert set(public_names.names_of(found, path)) == RECORDED[path]


@pytest.mark.parametrize("path", RECORDED)
def test_every_name_is_there(path):
    found = public_names.find(kiln, path) if path else kiln
    for name in RECORDED[path] - public_names.SWIZZLES:
        assert hasattr(found, name), name


def test_every_module_is_importable_under_the_references_name(run_python):
    modules = (
        "lang lang.cpu lang.cuda lang.gpu lang.impl lang.ops lang.matrix lang.mesh lang.util "
        "lang.misc lang.exception lang.enums lang.simt lang.struct lang.field lang.snode "
        "lang.kernel_impl lang.any_array lang._ndarray types types.primitive_types "
        "types.annotations types.ndarray_type types.compound_types types.quant math linalg ad "
        "algorithms sparse tools profiler simt graph aot ui experimental _lib.core _lib.utils "
        "_main examples"
    ).split()
    lines = [f"import taichi.{name}" for name in modules]
    run_python("\n".join(["import kiln.compat", "kiln.compat.install()", *lines]))


@pytest.mark.parametrize(
    "use",
    [
        lambda ti: ti.Mesh(),
        lambda ti: ti.MeshInstance(),
        lambda ti: ti.Texture(ti.Format.r32f, (4, 4)),
        lambda ti: ti.Texture.from_image(None),
        lambda ti: ti.ad.Tape(None),
        lambda ti: ti.ad.FwdMode(None, None),
        lambda ti: ti.ad.grad_replaced(lambda: None),
        lambda ti: ti.ad.no_grad(lambda: None),
        lambda ti: ti.ad.clear_all_gradients(),
        lambda ti: ti.aot.Module(),
        lambda ti: ti.aot.export(None),
        lambda ti: ti.graph.GraphBuilder(),
        lambda ti: ti.graph.Arg(ti.graph.ArgKind.SCALAR, "a", ti.i32),
        lambda ti: ti.types.texture(2),
        lambda ti: ti.types.rw_texture(2),
        lambda ti: ti.mesh_patch_idx(),
    ],
)
def test_what_is_missing_says_so_at_its_use(use):
    kiln.init(arch=kiln.cpu)
    with pytest.raises(kiln.TaichiRuntimeError, match="not supported"):
        use(kiln)


def test_helpers_are_hidden_not_gone():
    assert "cfg" not in dir(kiln) and kiln.cfg is not None
    assert "grad" not in dir(kiln.Field) and hasattr(kiln.Field, "grad")
    assert sys.modules["kiln.field"].Field is kiln.Field
