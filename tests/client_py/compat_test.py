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
taichi._main""".split()


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
