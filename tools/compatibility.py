#!/usr/bin/python3
"""Runs the example programs of Taichi's wheel under both implementations and writes a table.

    tools/compatibility.py [--taichi-python python]      writes docs/compatibility.md
    tools/compatibility.py simulation/mpm88 …            only shows those rows

tools/compare_with_taichi.py compares fields, images, files, output and exit status, once with Kiln
on the CPU and once on CUDA's emulator. The requirements of a program are found in its source; the
table names those that Kiln does not support yet. It has no figures, so that it changes only when an
outcome does.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import compare_with_taichi  # noqa: E402

# Requirement of a program -> pattern that shows it in the source.
NEEDS = {
    "sparse SNodes": r"\.(pointer|bitmasked|dynamic)\(|ti\.(activate|deactivate|is_active)\b",
    "gradients": r"\bneeds_grad|\.grad\b|ti\.ad\.",
    "graphs": r"ti\.graph\.",
    "textures": compare_with_taichi.TEXTURES,
    "a window of `ti.ui`": r"ti\.ui\.Window",
    "a window": r"ti\.GUI\(|ti\.tools\.imshow",
    "sparse matrices": r"linalg\.Sparse|sparse_matrix_builder",
    "real functions": r"real_func\b",
    "matplotlib": r"import matplotlib|from matplotlib",
    "OpenCV": r"import cv2",
    "a downloaded model": r"import wget",
}
# Requirements that Kiln does not support; such programs are not run.
MISSING = ("a downloaded model",)
# Requirements for which a stand-in suffices to compare the program's results.
STAND_IN = {
    "matplotlib": "plots are left out",
}
# Programs that need a remark, or other options of the comparison.
_ORDER = "the order in which a parallel loop appends is free: compared sorted"
_HASH = "a hash by the fraction of large sines: the last bit of `sin` shows in single pixels"
SPECIAL = {
    "algorithm/marching_squares": ({"unordered": ["field/edges.*"], "clock": True}, _ORDER),
    "algorithm/mciso_advanced": ({"unordered": ["gui/*", "field/main.r"]}, _ORDER),
    "algorithm/mgpcg": (
        {
            "output": False,
            "ignore": ["Ap", "p", "sum_", "alpha", "beta"]
            + [f"{name}.{level}" for name in "rz" for level in range(4)],
        },
        "sums of two million numbers in another order each run: the solution is compared, what is "
        "left of the residual is not",
    ),
    "algorithm/mgpcg_advanced": (
        {"output": False, "ignore": ["solver.sum"]},
        "prints a profile; the converged solver's residual is rounding and not compared",
    ),
    "algorithm/poisson_disk_sampling": ({"outliers": 0.02}, _HASH),
    "graph/mpm88_graph": ({"seeded": ["g_init.run"]}, ""),
    "real_func/algorithm/marching_squares": (
        {"unordered": ["field/edges.*"], "clock": True},
        _ORDER,
    ),
    "real_func/algorithm/poisson_disk_sampling": ({"outliers": 0.02}, _HASH),
    "ggui_examples/mpm3d_ggui": (
        {"tolerance": 5e-3},
        "velocities of bodies at rest come from the rounding of `svd`",
    ),
    "algorithm/print_offset": ({"output": False}, "prints the compiler's stages"),
    "features/gui/gui_image_io": (
        {"images": ("0000", "0001")},
        "the picture read from a JPEG file is another: JPEG encoders differ",
    ),
    "features/sparse/taichi_sparse": (
        {"ignore": ["x"]},
        "cells at the logo's rim fall either way by rounding: compared by the picture",
    ),
    "rendering/oit_renderer": (
        {"ignore": ["colors_in_pixel"]},
        "a list for each pixel, 2,048 elements long: compared by the picture",
    ),
    "rendering/sdf_renderer": ({"frames": 1, "output": False}, "prints its own speed"),
    "simulation/implicit_fem": (
        {"ignore": ["F_mul_ans", "F_p0", "F_r0"], "unordered": ["field/indices"]},
        "residuals of the converged solver are rounding and not compared",
    ),
    "autodiff/minimization": (
        {"ignore": ["L"]},
        "what is left of the loss in the end is rounding: not compared",
    ),
    **{
        name: (
            {"ignore": ["U", "phi"]},
            "the energy of a body that nothing has deformed yet is rounding: not compared",
        )
        for name in ("simulation/fem99", "simulation/fem128", "ggui_examples/fem128_ggui")
    },
    "simulation/mpm_lagrangian_forces": (
        {"ignore": ["C"]},
        "the affine velocities of a body that falls undeformed are rounding: not compared",
    ),
    "simulation/initial_value_problem": ({}, "chaotic: two runs of Taichi differ as much"),
}
_SINES = "the last bit of `sin` is another, and the program takes the fraction of large sines"
# Remarks about programs that do not agree on CUDA.
OTHERWISE_ON_CUDA = {
    "algorithm/marching_squares": _SINES,
    "real_func/algorithm/marching_squares": _SINES,
}
TOO_LONG_ON_CUDA = ("rendering/sdf_renderer",)
_NOISY = "Taichi's own runs differ by the order of atomic additions; compared within that noise"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="*", help="only these, without writing the table")
    parser.add_argument("--taichi-python", default=os.environ.get("TAICHI_PYTHON", "python3"))
    parser.add_argument("--output", default=ROOT / "docs" / "compatibility.md", type=pathlib.Path)
    options = parser.parse_args()
    subprocess.run([ROOT / "kiln", "build", "emulator"], check=True, capture_output=True)
    where = "import os, taichi; print(os.path.dirname(taichi.__file__))"
    done = subprocess.run(
        [options.taichi_python, "-c", where], check=True, capture_output=True, text=True
    )
    examples = pathlib.Path(done.stdout.split()[-1]) / "examples"
    names = sorted(p.relative_to(examples).with_suffix("").as_posix() for p in find(examples))
    rows = []
    for name in options.programs or names:
        rows.append(row_of(name, examples / f"{name}.py", options))
        print(" | ".join(rows[-1]), flush=True)
    if options.programs:
        return 0
    options.output.write_text(document(rows))
    return 0


def find(examples):
    return (p for p in examples.rglob("*.py") if p.name != "__init__.py")


def row_of(name, path, options):
    """(program, needs, runs, agrees, agrees on CUDA, remark)"""
    source = path.read_text()
    needs = [need for need, pattern in NEEDS.items() if re.search(pattern, source)]
    listed = ", ".join(needs) or "–"
    missing = [need for need in needs if need in MISSING]
    if missing:
        return name, listed, "no", "–", "–", f"not there yet: {', '.join(missing)}"
    if "OpenCV" in needs:
        return name, listed, "–", "–", "–", "Debian's Python lacks a package it needs"
    special, remark = SPECIAL.get(name, ({}, ""))
    result = compare_with_taichi.compare(path, comparison(special, options))
    remarks = [remark, *(STAND_IN[need] for need in needs if need in STAND_IN)]
    agrees = verdict(result, special)
    if result["noise"] > 1e-3 and agrees == "yes" and not remark:
        remarks.append(_NOISY)
    remarks += reasons(result) if agrees != "yes" else []
    runs = "yes" if result["exit"][1] == 0 else "no"
    on_cuda = agrees_on_cuda(name, path, special, options, agrees, remarks)
    return name, listed, runs, agrees, on_cuda, "; ".join(filter(None, remarks))


def agrees_on_cuda(name, path, special, options, on_cpu, remarks):
    """The verdict, and a remark if it is not that of the CPU."""
    if name in TOO_LONG_ON_CUDA:
        remarks.append("on CUDA: takes the emulator too long")
        return "–"
    compared = comparison(special, options, compare_with_taichi.ON_CUDA)
    result = compare_with_taichi.compare(path, compared)
    agrees = verdict(result, special)
    if agrees != on_cpu:
        known = OTHERWISE_ON_CUDA.get(name)
        remarks += [f"on CUDA: {why}" for why in ([known] if known else reasons(result))]
    return agrees


def comparison(special, options, environment=types.MappingProxyType({})):
    """Options of the comparison for one program."""
    return types.SimpleNamespace(
        frames=special.get("frames", 2),
        tolerance=special.get("tolerance", 1e-3),
        outliers=special.get("outliers", 2e-3),
        seeded=special.get("seeded", []),
        ignore=special.get("ignore", []),
        unordered=special.get("unordered", []),
        clock=special.get("clock", False),
        timeout=900,
        environment=environment,
        taichi_python=options.taichi_python,
    )


def verdict(result, special):
    """ "yes" or "no"; a dash if Taichi itself fails or there is nothing to compare."""
    if result["exit"][0] != 0:
        return "–"
    wrong = result["wrong"]
    if "images" in special:
        wrong = [w for w in wrong if not is_other_image(w, special["images"])]
    same_output = result["output"] or not special.get("output", True)
    if wrong or not same_output or result["exit"][1] != 0:
        return "no"
    compared = result["fields"] + result["images"] + result["files"] + result["lines"]
    return "yes" if compared else "– (shows nothing)"


def is_other_image(wrong, compared):
    """Whether a difference is in an image whose number is not among the compared ones."""
    found = re.match(r"gui/\d+/(\d+)/", wrong)
    return found is not None and found[1] not in compared


def reasons(result):
    if result["exit"][0] != 0:
        return [f"Taichi ends with status {result['exit'][0]}"]
    found = [f"Kiln ends with status {result['exit'][1]}"] if result["exit"][1] != 0 else []
    names = sorted({re.split(r"[\[:]", wrong)[0] for wrong in result["wrong"]})
    found += [f"differs: {', '.join(names[:4])}"] if names else []
    return found if result["output"] else [*found, "output differs"]


def document(rows):
    ran = [row for row in rows if row[2] == "yes"]
    agreed = [row for row in ran if row[3] == "yes"]
    on_cuda = [row for row in ran if row[4] == "yes"]
    waiting = [row for row in rows if row[5].startswith("not there yet")]
    lines = [
        "# The example programs of Taichi 1.7.4 under Kiln",
        "",
        "`tools/compatibility.py` makes this page. It runs each program of the wheel's `examples`",
        "under Taichi and under Kiln, unchanged. It compares the fields and images they end with,",
        "the files they write and what they print. Random numbers are copied from Taichi's run. A",
        "dash under *agrees* means that there is nothing to agree with. *on CUDA*: whether the",
        "program agrees with `arch=ti.cuda`, on [the emulator](cuda.md#without-a-gpu).",
        "",
        f"{len(rows)} programs: {len(ran)} run, {len(agreed)} of them agree, {len(on_cuda)} on "
        f"CUDA; {len(waiting)} wait for what Kiln does not have yet.",
        "",
        "| program | needs | runs | agrees | on CUDA | remark |",
        "|---|---|---|---|---|---|",
        *("| " + " | ".join(row) + " |" for row in rows),
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
