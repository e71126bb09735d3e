"""`dir()` of the package, its modules and its classes shows Taichi's names, and all of them exist.
Names that Kiln does not implement raise an error when they are used."""

import importlib
import sys

import kiln
import public_names
import pytest

RECORDED = public_names.recorded()
# Attributes that the reference gives to objects, and that are properties of the class here.
OF_OBJECTS = {"GUI": {"img"}, "ad.Tape": {"modes"}}
# Names of Kiln's own.
ADDED = {
    "": {"kiln_version"},
    "aot": {"LoadedModule", "load"},
    "aot.Module": {"export"},
    "graph": {"CapturedGraph", "capture"},
    "ad": {"check_grad", "checkpoint", "hvp", "jacobian", "torch_function", "vjp"},
}


def test_the_package_shows_187_names():
    assert len(RECORDED[""]) == 187


def test_a_matrix_shows_30_methods_and_1020_swizzles():
    assert len(public_names.SWIZZLES) == 1020
    assert len(RECORDED["Matrix"] - public_names.SWIZZLES) == 30


@pytest.mark.parametrize("path", RECORDED)
def test_shows_what_the_reference_shows(path):
    found = public_names.find(kiln, path) if path else kiln
    shown = set(public_names.names_of(found, path))
    extra = OF_OBJECTS.get(path, set()) | ADDED.get(path, set())
    assert shown - extra == RECORDED[path]


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


# Internal names of the reference that programs import, by module.
INSIDE = """
_funcs: field_fill_taichi_scope polar_decompose
_kernels: fill_field tensor_to_ext_arr ext_arr_to_tensor
algorithms._algorithms: PrefixSumExecutor parallel_sort
aot._export: export export_as
graph._graph: Arg ArgKind Graph GraphBuilder
lang.common_ops: TaichiOperations
lang.enums: AutodiffMode Layout SNodeGradType
lang.expr: Expr make_expr_group
lang.impl: Expr current_cfg field get_runtime static
lang.util: cook_dtype has_pytorch in_python_scope is_matrix_class is_taichi_class to_numpy_type
lang.util: to_pytorch_type to_taichi_type python_scope taichi_scope warning
math._complex: cconj cdiv cexp cinv clog cmul cpow csqrt
math.mathimpl: vec3 mix dot
profiler.kernel_profiler: get_default_kernel_profiler
sparse._sparse_grid: grid usage
types.compound_types: CompoundType matrix struct vector
types.primitive_types: all_types integer_type_ids integer_types real_type_ids real_types
ui.camera: Camera
ui.canvas: Canvas
ui.scene: Scene
ui.utils: euler_to_vec vec_to_euler
ui.window: Window
"""


def test_names_of_the_references_inside_can_be_imported(run_python):
    rows = [line.split(": ") for line in INSIDE.split("\n") if line]
    lines = [f"from taichi.{module} import {', '.join(names.split())}" for module, names in rows]
    run_python("\n".join(["import kiln.compat", "kiln.compat.install()", *lines]))


def test_names_of_the_references_inside_work(ti):
    import numpy as np
    from kiln import _funcs, lang, ui
    from kiln import types as ti_types

    for dtype in (np.float32, np.dtype("f4"), "float32", ti.f32):
        assert lang.util.to_taichi_type(dtype) is ti.f32
    assert lang.util.to_taichi_type(np.bool_) is ti.u1
    assert [lang.util.to_numpy_type(t) for t in (ti.f16, ti.u1)] == [np.float16, np.bool_]
    assert lang.util.is_taichi_class(ti.Vector([1])) and not lang.util.is_taichi_class(1)
    assert isinstance(ti.math.vec3, ti_types.CompoundType)
    assert isinstance(ti.types.struct(a=ti.i32), ti_types.CompoundType)
    assert ui.vec_to_euler(ui.euler_to_vec(0.3, 0.2)) == pytest.approx((0.3, 0.2))
    x = ti.field(ti.i32, 3)

    @ti.kernel
    def fill():
        _funcs.field_fill_taichi_scope(x, 3)

    fill()
    assert x.to_numpy().tolist() == [3, 3, 3]


def test_types_of_structs_make_filled_and_converted_ones(ti):
    inner = ti.types.struct(n=ti.i32, v=ti.math.vec2)
    outer = ti.types.struct(a=ti.f32, part=inner)
    assert outer.filled_with_scalar(2).to_dict() == {"a": 2.0, "part": {"n": 2, "v": [2.0, 2.0]}}
    assert inner.cast(ti.Struct(n=1.5, v=[1, 2])).to_dict() == {"n": 1, "v": [1.0, 2.0]}


def test_dir_lists_members_for_completion(ti):
    @ti.dataclass
    class Ball:
        radius: ti.f32
        center: ti.math.vec3

        @ti.func
        def area(self):
            return self.radius**2

    balls = Ball.field(shape=3)
    assert {"radius", "center", "to_numpy"} <= set(dir(balls))
    for element in (balls[0], Ball(1.0)):
        assert {"radius", "center", "area", "to_dict"} <= set(dir(element))
    assert {"impl", "util", "field", "kernel"} <= set(dir(ti.lang))


@pytest.mark.parametrize(
    "use",
    [
        lambda ti: ti.lang.expr.make_expr_group(),
        lambda ti: importlib.import_module("kiln._kernels").fill_field(None, 0),
        lambda ti: ti.profiler.kernel_profiler.get_default_kernel_profiler(),
    ],
)
def test_missing_features_raise_when_they_are_used(use):
    kiln.init(arch=kiln.cpu)
    with pytest.raises(kiln.TaichiRuntimeError, match="not supported"):
        use(kiln)


def test_helpers_are_hidden_not_gone():
    assert "cfg" not in dir(kiln) and kiln.cfg is not None
    assert "grad" not in dir(kiln.Field) and hasattr(kiln.Field, "grad")
    assert sys.modules["kiln.field"].Field is kiln.Field
