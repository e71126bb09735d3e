"""The stubs that the compiler links with (server/compiler/codegen/cpu/glibc_stubs.py)."""

import ctypes
import importlib.util
import pathlib
import platform

CPU = pathlib.Path(__file__).resolve().parent.parent / "server" / "compiler" / "codegen" / "cpu"


def test_glibc_has_each_symbol_in_the_version_that_the_stub_states():
    spec = importlib.util.spec_from_file_location("glibc_stubs", CPU / "glibc_stubs.py")
    stubs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stubs)
    find = ctypes.CDLL(None).dlvsym
    find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_void_p, *[ctypes.c_char_p] * 2]
    minor = int(platform.libc_ver()[1].split(".")[1])
    checked = 0
    for library, versions in stubs.libraries((CPU / "vector_functions.inc").read_text()).items():
        handle = ctypes.CDLL(library)._handle
        for version, symbols in versions.items():
            if int(version.split(".")[1]) > minor:
                continue
            for symbol in symbols:
                assert find(handle, symbol.encode(), f"GLIBC_{version}".encode()), symbol
                checked += 1
    assert checked > 100
