"""Kiln: the Taichi language, compiled by a server and cached. `import kiln as ti`.

Importing costs as little as possible: a name's module is imported when the name is first used.
Only modules that share their name with a function (`ti.field`, `ti.kernel`, …) are imported here:
their import must not overwrite the function later.
"""

import os
import sys


def _add_native_path():
    """Where `kiln._native` may lie: beside this file, in a checkout's .kiln, or as told."""
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
    """In words: why this Python cannot import kiln._native; None if the import's error says it."""
    folders = [path for path in __path__ if os.path.exists(os.path.join(path, "_native.so"))]
    if not folders:
        return (
            "Kiln's native module is not built: run `./kiln build` in the checkout, or say with "
            "KILN_LIB where it is"
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
    from . import _native  # noqa: F401
except ImportError:
    _why = _why_not_native()
    if _why is None:
        raise
    raise ImportError(_why) from None

from . import provided  # noqa: E402
from .forks import held_off  # noqa: E402
from .func import func  # noqa: E402
from .kernel import kernel  # noqa: E402
from .making import field  # noqa: E402
from .ndarray import ndarray  # noqa: E402
from .static import static  # noqa: E402

__version__ = (1, 7, 4)  # of the language; Kiln's own is _native.version()

# Public name -> the module that has it.
_NAMES = {}


def _offer(module, names):
    for name in names.split():
        _NAMES[name] = module


_offer("absent", "Mesh MeshInstance Texture mesh_patch_idx")
_offer("decompose", "eig polar_decompose solve svd sym_eig")
_offer("errors", "TaichiAssertionError TaichiCompilationError TaichiNameError TaichiRuntimeError")
_offer("errors", "TaichiRuntimeTypeError TaichiSyntaxError TaichiTypeError")
_offer("bitpacked", "BitpackedFields")
_offer("field", "Field MatrixField ScalarField")
_offer("func", "pyfunc real_func")
_offer("gui", "GUI hex_to_rgb rgb_to_hex")
_offer("argpack", "ArgPack")
_offer("kernel", "data_oriented")
_offer("matrix", "Matrix Vector")
_offer("misc", "CRITICAL DEBUG DeviceCapability ERROR Format INFO TRACE WARN extension")
_offer("misc", "is_logging_effective set_logging_level")
_offer("ndarray", "MatrixNdarray Ndarray ScalarNdarray VectorNdarray from_dlpack")
_offer(
    "ops", "abs acos asin atan2 atomic_add atomic_and atomic_max atomic_min atomic_mul atomic_or"
)
_offer(
    "ops", "atomic_sub atomic_xor bit_cast bit_shr cast ceil cos exp floor frexp log max min one"
)
_offer(
    "ops", "pow randn random raw_div raw_mod round rsqrt select sin sqrt stop_grad tan tanh zero"
)
_offer("arch", "amdgpu arm64 cpu cuda dx11 dx12 gles gpu metal opengl vulkan x64 x86_64")
_offer("runtime", "cfg init reset sync")
_offer("simt.block", "global_thread_idx")
_offer("snode", "FieldsBuilder SNode axes i ij ijk ijkl ijl ik ikl il j jk jkl jl k kl l root")
_offer("snode", "deactivate_all_snodes")
_offer("frontend.snode_ops", "activate append deactivate get_addr is_active length rescale_index")
_offer("frontend.snode_ops", "no_activate")
_offer(
    "static", "assume_in_range block_local cache_read_only grouped loop_config mesh_local ndrange"
)
_offer("static", "static_assert static_print")
_offer("struct", "Struct dataclass")
_offer("struct_field", "StructField")
_offer(
    "types",
    "Layout f16 f32 f64 float16 float32 float64 i16 i32 i64 i8 int16 int32 int64 int8 u1 u16",
)
_offer("types", "u32 u64 u8 uint1 uint16 uint32 uint64 uint8 template ref sparse_matrix_builder")

# Modules that are names of the package themselves.
_MODULES = frozenset(
    "ad algorithms aot compat errors experimental graph lang linalg math profiler simt sparse "
    "tools types ui".split()
)
# Names of the language that Kiln does not have yet.
_MISSING = frozenset(["argpack"])

__all__ = sorted(
    {*_NAMES, "field", "func", "kernel", "math", "ndarray", "static", "tools", "types"}
    - {"cfg", "from_dlpack", "Layout", "StructField"}
)


def __getattr__(name):
    module = _NAMES.get(name)
    if module is None:
        return _submodule(name)
    try:
        value = getattr(_load(module), name)
    except AttributeError:
        raise AttributeError(f"'ti.{name}' is not supported by Kiln yet") from None
    # `cfg` and `root` are single objects that change in place, so every name can be kept.
    globals()[name] = value
    return value


def _load(module):
    # As importlib.import_module, without the milliseconds of importing importlib.
    full = f"{__name__}.{module}"
    with held_off:
        __import__(full)
    return sys.modules[full]


# What rooms provide to those below them (provided.py): name -> module.
provided.by(
    _load,
    {
        "ArgPack": "argpack",
        "Matrix": "matrix",
        "MatrixView": "matrix",
        "SparseMatrixBuilder": "linalg.sparse_matrix",
        "Struct": "struct",
        "Vector": "matrix",
        "check_matrix_options": "making",
        "enforce_hits": "misses",
        "entries_of": "frontend.struct_value",
        "instantiate": "matrix",
        "make_argpack": "argpack",
        "make_instance": "instance",
        "make_matrix_field": "making",
        "make_matrix_ndarray": "ndarray",
        "make_struct_field": "struct_field",
        "make_struct_ndarray": "ndarray",
        "make_vector_field": "making",
        "make_vector_ndarray": "ndarray",
        "start_profiler": "profiler.kernel_profiler",
    },
)


def _submodule(name):
    if name in _MODULES:
        try:
            return _load(name)
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    if name in _MODULES or name in _MISSING:
        raise AttributeError(f"'ti.{name}' is not supported by Kiln yet")
    text = f"module '{__name__}' has no attribute '{name}'"
    raise AttributeError(text, name=name, obj=sys.modules[__name__])  # Python adds the near name


def __dir__():
    return sorted(
        {*_NAMES, *_MODULES, *_MISSING, "Layout", "field", "func", "kernel", "ndarray", "static"}
        - {"cfg", "compat", "errors", "from_dlpack"}
    )
