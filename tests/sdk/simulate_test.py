"""A program in C++ runs a module that Python exported, without the daemon and the compiler."""

import pytest

from tests.sdk.conftest import ROOT, run

HERE = ROOT / "tests" / "sdk"


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    from tests.conftest import Kiln

    folder = tmp_path_factory.mktemp("module")
    kiln = Kiln(folder / "home")
    kiln("export", HERE / "sim.py", "-o", folder / "sim.kiln", timeout=600)
    kiln("stop", check=False)
    return folder / "sim.kiln"


@pytest.fixture(scope="module")
def said(module, package):
    program = module.parent / "simulate"
    library = package / "lib"
    run(
        *["g++", "-std=c++17", "-g", "-fsanitize=address,undefined", f"-I{package / 'include'}"],
        *[HERE / "simulate.cc", f"-L{library}", "-lkiln", f"-Wl,-rpath,{library}", "-o", program],
    )
    return run(program, module, env={"KILN_HOME": "/nowhere"})


def test_simulate(said):
    assert said == (HERE / "simulate.txt").read_text()
