"""`import taichi` after kiln.compat.install() finds every name that programs use."""

import subprocess
import sys

# What programs import; taichi.examples comes with Taichi itself.
NAMES = """taichi taichi.lang taichi.lang.impl taichi.lang.ops taichi.lang.matrix taichi.lang.mesh
taichi.lang.util taichi.lang.misc taichi.lang.exception taichi.lang.enums taichi.lang.simt
taichi.lang.struct taichi.lang.field taichi.lang.snode taichi.lang.kernel_impl
taichi.lang.any_array taichi.lang._ndarray taichi.types taichi.types.primitive_types
taichi.types.annotations taichi.types.ndarray_type taichi.types.compound_types taichi.types.quant
taichi.math taichi.linalg taichi.ad taichi.algorithms taichi.sparse taichi.tools taichi.profiler
taichi.simt taichi.graph taichi.aot taichi.ui taichi.experimental taichi._lib.core taichi._lib.utils
taichi._main taichi._lib.core.taichi_python taichi._snode.snode_tree""".split()


def run(source):
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_module_imports_alone_and_together():
    imports = "\n".join(f"import {name}" for name in NAMES)
    run(f"import kiln.compat\nkiln.compat.install()\nkiln.compat.install()\n{imports}\n")
    for name in NAMES[::5]:
        run(f"import kiln.compat; kiln.compat.install()\nimport {name} as m; assert m")


def test_taichi_is_kiln_and_views_find_its_names():
    run(
        "import kiln, kiln.compat; kiln.compat.install()\n"
        "import taichi as ti, taichi.lang.matrix, taichi.types.primitive_types as p\n"
        "from taichi.lang.matrix import Matrix\n"
        "from taichi.tools import imresize\n"
        "assert ti is kiln and p.f32 is ti.f32 and Matrix is ti.Matrix\n"
    )


def test_what_libraries_ask_to_know_a_version():
    """As stannum, which imports modules first."""
    run(
        "import kiln.compat; kiln.compat.install()\n"
        "import taichi as ti\n"
        "import taichi.lang.field, taichi.lang.impl, taichi.lang.snode, taichi.lang.matrix\n"
        "assert not hasattr(ti, 'snode') and hasattr(ti, '_snode')\n"
        "assert not hasattr(ti, 'matrix') and not hasattr(ti, 'struct')\n"
        "from taichi._lib.core.taichi_python import DataType\n"
        "assert type(ti.f32) is DataType\n"
    )


def test_what_libraries_ask_to_know_a_kernel(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import kiln.compat; kiln.compat.install()\n"
        "import taichi as ti\n"
        "from taichi.lang.kernel_impl import Kernel\n"
        "@ti.data_oriented\n"
        "class C:\n"
        "    @ti.kernel\n"
        "    def kernel(self): pass\n"
        "    @ti.func\n"
        "    def func(self): pass\n"
        "@ti.kernel\n"
        "def kernel(): pass\n"
        "@ti.real_func\n"
        "def real(): pass\n"
        "assert kernel._is_wrapped_kernel and not kernel._is_classkernel\n"
        "assert C.kernel._is_wrapped_kernel and C.kernel._is_classkernel\n"
        "assert real._is_taichi_function and real._is_real_function\n"
        "assert C.func._is_taichi_function and not C.func._is_real_function\n"
        "for kernel in (C.kernel, C().kernel):\n"
        "    assert isinstance(kernel._primal, Kernel) and isinstance(kernel._adjoint, Kernel)\n"
    )
    run(f"import runpy; runpy.run_path({str(program)!r})")


def test_missing_names_say_so():
    out = run(
        "import kiln.compat; kiln.compat.install()\n"
        "import taichi.lang.mesh\n"
        "try:\n    taichi.lang.mesh.no_such_thing\n"
        "except AttributeError as e:\n    print(e)\n"
        "try:\n    import taichi.no_such_module\n"
        "except ModuleNotFoundError as e:\n    print(e)\n"
    )
    assert "'taichi.lang.mesh.no_such_thing' is not supported by Kiln" in out
    assert "No module named 'taichi.no_such_module'" in out


def test_installing_after_taichi_is_imported_is_an_error():
    source = (
        "import sys, types\nsys.modules['taichi'] = types.ModuleType('taichi')\n"
        "import kiln.compat\nkiln.compat.install()\n"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert "call kiln.compat.install() before" in done.stderr


# Made with pickle.dumps(..., 0), when matrix.py and struct.py were at the root of the package:
# ti.Struct({"a": 1, "b": [1, 2]}) and ti.types.vector(2, ti.f32).
_STRUCT = (
    b"ccopy_reg\n_reconstructor\np0\n(ckiln.struct\nStruct\np1\nc__builtin__\nobject\np2\nNtp3\n"
    b"Rp4\n(dp5\nV_type\np6\nNsVmethods\np7\n(dp8\nsVentries\np9\n(dp10\nVa\np11\nI1\nsVb\np12\n"
    b"(lp13\nI1\naI2\nassb."
)
_VECTOR_TYPE = (
    b"ccopy_reg\n_reconstructor\np0\n(ckiln.types.tensor\nVectorType\np1\nc__builtin__\nobject\np2\n"
    b"Ntp3\nRp4\n(dp5\nVn\np6\nI2\nsVm\np7\nI1\nsV_dtype\np8\nckiln.types.scalar\n_by_name\np9\n"
    b"(Vf32\np10\ntp11\nRp12\nsb."
)


def test_pickles_of_builds_with_other_modules_load():
    """In a process that has imported nothing else, as a program that only loads its data."""
    code = (
        "import pickle, kiln as ti\n"
        f"struct, vector = pickle.loads({_STRUCT}), pickle.loads({_VECTOR_TYPE})\n"
        "assert struct.to_dict() == {'a': 1, 'b': [1, 2]}, struct\n"
        "assert type(struct) is ti.Struct\n"
        "value = vector([3, 4])\n"
        "old = pickle.dumps(value, 0).replace(b'kiln.values.matrix', b'kiln.matrix')\n"
        "assert pickle.loads(old).to_list() == [3, 4]\n"
    )
    run(code)
