"""Lists the public names of Taichi, which `dir()` shows for its modules and classes.

Where Taichi is installed, `python public_names.py` records them in tests/e2e/language/names.json;
names_test.py compares Kiln with that."""

import importlib
import json
import pathlib
from itertools import product

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RECORD = ROOT / "tests" / "e2e" / "language" / "names.json"
GROUPS = ("xyzw", "rgba", "stpq")
SWIZZLES = frozenset(
    "".join(word) for group in GROUPS for n in (1, 2, 3, 4) for word in product(group, repeat=n)
)

MODULES = (
    "ad aot algorithms experimental graph linalg math profiler simt simt.block simt.grid "
    "simt.subgroup simt.warp sparse tools types types.quant ui"
).split()
CLASSES = (
    "ArgPack BitpackedFields Field FieldsBuilder GUI Layout Matrix MatrixField MatrixNdarray Mesh "
    "MeshInstance Ndarray SNode ScalarField ScalarNdarray Struct StructField Texture Vector "
    "VectorNdarray TaichiAssertionError TaichiCompilationError TaichiNameError TaichiRuntimeError "
    "TaichiRuntimeTypeError TaichiSyntaxError TaichiTypeError linalg.MatrixFreeCG "
    "linalg.MatrixFreeBICGSTAB linalg.SparseCG linalg.SparseMatrix linalg.SparseMatrixBuilder "
    "linalg.SparseSolver ad.FwdMode ad.Tape tools.PLYWriter tools.VideoManager aot.Module "
    "graph.Arg graph.ArgKind graph.Graph graph.GraphBuilder algorithms.PrefixSumExecutor "
    "types.NdarrayType types.MatrixType"
).split()


# Names that Taichi's own imports leave in its modules.
LEFT_BEHIND = frozenset(
    "TaichiRuntimeError TaichiTypeError arch_uses_spv conventions get_bool_environ i32 impl "
    "GfxRuntime140 make_expr_group module sqrt taichi taichi_scope ti utils warnings".split()
)


def names_of(thing, path):
    """The names that `dir()` shows, without those with underscores and those of imports."""
    names = sorted(name for name in dir(thing) if not name.startswith("_"))
    is_module = isinstance(thing, type(json)) or not isinstance(thing, type)
    if path != "" and path != "types" and (is_module or path == "GUI"):
        return [name for name in names if name not in LEFT_BEHIND]
    return names


def find(package, path):
    """The object `package.path`, importing modules as needed; None if it does not exist."""
    found = package
    for name in path.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            try:
                found = importlib.import_module(f"{found.__name__}.{name}")
            except ImportError:
                return None
    return found


def record():
    import taichi

    table = {"": names_of(taichi, "")}
    for path in (*MODULES, *CLASSES):
        found = find(taichi, path)
        if found is not None:
            table[path] = names_of(found, path)
    for path, names in table.items():
        if set(names) >= SWIZZLES:
            table[path] = ["SWIZZLES", *sorted(set(names) - SWIZZLES)]
    return table


def recorded():
    """{path: set of names}; the path of the package itself is empty."""
    table = {path: set(names) for path, names in json.loads(RECORD.read_text()).items()}
    for names in table.values():
        if "SWIZZLES" in names:
            names.remove("SWIZZLES")
            names |= SWIZZLES
    return table


if __name__ == "__main__":
    RECORD.write_text(json.dumps(record(), indent=1) + "\n")
