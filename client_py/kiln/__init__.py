"""Kiln: the Taichi language, compiled by a server and cached. `import kiln as ti`.

To keep the import cheap, each public name's module is imported when the name is first used. Only
modules that share their name with a function (`ti.func`, `ti.kernel`, `ti.static`) are imported
here: a later import would replace the function by the module.
"""

import os
import sys

__version__ = (1, 7, 4)  # of the language, as programs compare it


def _add_native_path():
    """Adds the folders that may contain `_native.so` to the package's path."""
    here = os.path.dirname(os.path.abspath(__file__))
    checkout = os.path.dirname(os.path.dirname(here))
    candidates = [
        os.environ.get("KILN_LIB"),
        os.environ.get("KILN_BIN"),
        os.path.join(checkout, ".kiln", "bin"),
        os.path.join(checkout, ".kiln", "lib"),
    ]
    __path__.extend(path for path in candidates if path and path not in __path__)


_add_native_path()


def _why_not_native():
    """Explains why this Python cannot import kiln._native; None if the import's own error does."""
    folders = [path for path in __path__ if os.path.exists(os.path.join(path, "_native.so"))]
    if not folders:
        return (
            "Kiln's native module is not built: run `./kiln build` in the checkout, or set "
            "KILN_LIB to its folder"
        )
    own = "%d.%d" % sys.version_info[:2]
    try:
        with open(os.path.join(folders[0], "python")) as file:
            built_for = file.read().split()[0]
    except (OSError, IndexError):
        return None
    if built_for == own:
        return None
    return f"Kiln is built for Python {built_for}, and this is Python {own} ({sys.executable})"


try:
    from . import _native
except ImportError:
    _why = _why_not_native()
    if _why is None:
        raise
    raise ImportError(_why) from None

kiln_version = _native.version()  # Kiln's own, in the form of PEP 440 (common/wire/version.h)

from . import provided  # noqa: E402
from .forks import held_off  # noqa: E402
from .func import func  # noqa: E402
from .kernel import kernel  # noqa: E402
from .static import static  # noqa: E402

# Public name -> the module that has it.
_NAMES = {}


def _offer(module, names):
    for name in names.split():
        _NAMES[name] = module


_offer("values.decompose", "eig polar_decompose solve svd sym_eig")
_offer("errors", "TaichiAssertionError TaichiCompilationError TaichiNameError TaichiRuntimeError")
_offer("errors", "TaichiRuntimeTypeError TaichiSyntaxError TaichiTypeError")
_offer("data.bitpacked", "BitpackedFields")
_offer("data.field", "Field ScalarField")
_offer("data.making", "field")
_offer("data.matrix_field", "MatrixField")
_offer("func", "pyfunc real_func")
_offer("gui", "GUI hex_to_rgb rgb_to_hex")
_offer("values.argpack", "ArgPack")
_offer("kernel", "data_oriented")
_offer("values.matrix", "Matrix Vector")
_offer("compat.misc", "DeviceCapability extension")
_offer("data.mesh", "Mesh MeshInstance")
_offer("data.texture", "Texture")
_offer("types.texture_format", "Format")
_offer("data.ndarray", "MatrixNdarray Ndarray ScalarNdarray VectorNdarray from_dlpack ndarray")
_offer("notebook", "load_ipython_extension")
_offer("ops", "frexp one randn random stop_grad zero")
# Every op of the language but Python's operators, functions of ti.math alone, and parts of frexp.
_ELSEWHERE = "clz frexp_exponent frexp_mantissa isinf isnan popcnt".split()
_NAMES.update(
    (name, "ops")
    for name, (_, token) in _native.OP_FACTS.items()
    if name == "pow" or not (token or name in _ELSEWHERE)
)
_offer("arch", "amdgpu arm64 cpu cuda dx11 dx12 gles gpu metal opengl vulkan x64 x86_64")
_offer("runtime", "CRITICAL DEBUG ERROR INFO TRACE WARN is_logging_effective set_logging_level")
_offer("runtime", "cfg init reset sync")
_offer("compat.simt.block", "global_thread_idx")
_offer("data.axes", "axes i ij ijk ijkl ijl ik ikl il j jk jkl jl k kl l")
_offer("data.snode", "SNode")
_offer("data.trees", "FieldsBuilder deactivate_all_snodes root")
_offer("frontend.snode_ops", "activate append deactivate get_addr is_active length rescale_index")
_offer("frontend.snode_ops", "no_activate")
_offer("frontend.mesh", "mesh_patch_idx")
_offer(
    "static", "assume_in_range block_local cache_read_only grouped loop_config mesh_local ndrange"
)
_offer("static", "static_assert static_print")
_offer("values.struct", "Struct dataclass")
_offer("data.struct_field", "StructField")
_offer(
    "types",
    "Layout f16 f32 f64 float16 float32 float64 i16 i32 i64 i8 int16 int32 int64 int8 u1 u16",
)
_offer("types", "u32 u64 u8 uint1 uint16 uint32 uint64 uint8 template ref sparse_matrix_builder")

# Submodules that are public under their own names.
_MODULES = frozenset(
    "ad algorithms aot argpack compat errors experimental graph lang linalg math profiler simt "
    "sparse tools types ui".split()
)

__all__ = sorted(
    {*_NAMES, "func", "kernel", "math", "static", "tools", "types"}
    - {"cfg", "from_dlpack", "Layout", "load_ipython_extension", "StructField"}
)


def __getattr__(name):
    module = _NAMES.get(name)
    if module is None:
        return _submodule(name)
    try:
        value = getattr(_load(module), name)
    except AttributeError:
        raise AttributeError(f"'ti.{name}' is not supported by Kiln yet") from None
    # Caching is safe for every name: `cfg` and `root` are single objects that change in place.
    globals()[name] = value
    return value


def _load(module):
    # Does what importlib.import_module does, without the milliseconds of importing importlib.
    full = f"{__name__}.{module}"
    with held_off:
        __import__(full)
    return sys.modules[full]


# What later rooms provide to earlier ones (provided.py).
provided.register(
    _load,
    {
        "ArgPack": "values.argpack",
        "AutodiffMode": "compat.misc",
        "Matrix": "values.matrix",
        "MatrixView": "values.matrix",
        "SNodePointer": "compat.snode_pointer",
        "SparseMatrixBuilder": "linalg.sparse_matrix",
        "StreamScope": "streams",
        "Struct": "values.struct",
        "Texture": "data.texture",
        "Vector": "values.matrix",
        "begin_gradient": "ad.ahead",
        "check_matrix_options": "data.making",
        "enforce_hits": "misses",
        "entries_of": "frontend.struct_value",
        "field_html": "notebook",
        "instantiate": "values.matrix",
        "make_argpack": "values.argpack",
        "make_instance": "instance",
        "make_matrix_field": "data.making",
        "make_matrix_ndarray": "data.ndarray",
        "make_struct_field": "data.struct_field",
        "make_struct_ndarray": "data.ndarray",
        "make_vector_field": "data.making",
        "make_vector_ndarray": "data.ndarray",
        "mesh_for": "frontend.mesh",
        "start_profiler": "profiler.kernel_profiler",
    },
)


# Modules with other names, from Taichi or from pickles of earlier builds: name -> real package.
_OTHER_NAMES = {
    **dict.fromkeys("bitpacked field interop making ndarray snode struct_field".split(), "data"),
    **dict.fromkeys("argpack decompose matrix matrix_ops struct".split(), "values"),
    **dict.fromkeys("_funcs _kernels absent experimental lang misc simt ui".split(), "compat"),
    "quant": "types",
}


class _OtherNames:
    """An importer for the names in _OTHER_NAMES, as in `import kiln.ad`."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        package, _, below = name.partition(".")
        room = _OTHER_NAMES.get(below.partition(".")[0])
        if package != __name__ or room is None:
            return None
        file = os.path.join(os.path.dirname(__file__), room, *below.split("."))
        if not (os.path.isdir(file) or os.path.exists(f"{file}.py")):
            return None
        return type(__spec__)(name, _OtherNames, is_package=True)

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        name = module.__spec__.name
        below = name.partition(".")[2]
        # The import system returns the module that sys.modules holds when this function ends.
        sys.modules[name] = _load(f"{_OTHER_NAMES[below.partition('.')[0]]}.{below}")


class _Stand(type(sys)):
    """A module with the names of the module data.NAME, which it imports when one is requested."""

    def __getattr__(self, name):
        return getattr(_load(f"data.{self.__name__.rpartition('.')[2]}"), name)

    def __dir__(self):
        return sorted(self.__getattr__("__dict__"))


sys.meta_path.insert(0, _OtherNames)
# Importing these by their old names would replace the function of the same name by the module.
for _name in ("field", "ndarray"):
    sys.modules[f"{__name__}.{_name}"] = _Stand(f"{__name__}.{_name}")


def _submodule(name):
    if name in _MODULES:
        try:
            return _load(name)
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    if name in _MODULES:
        raise AttributeError(f"'ti.{name}' is not supported by Kiln yet")
    text = f"module '{__name__}' has no attribute '{name}'"
    raise AttributeError(text, name=name, obj=sys.modules[__name__])  # Python adds the near name


def __dir__():
    return sorted(
        {*_NAMES, *_MODULES, "Layout", "func", "kernel", "kiln_version", "static"}
        - {"cfg", "compat", "errors", "from_dlpack", "load_ipython_extension"}
    )
