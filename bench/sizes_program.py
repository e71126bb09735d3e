"""The first call of one large kernel. Prints JSON: {"seconds": of compiling and the call}.

argv: implementation, kind of kernel, its size n, folder for the kernel's source [Taichi's cache].
The process and the compiler are warm.
"""

import json
import pathlib
import sys
import time

X = "x = ti.field(ti.f32, 16)"
# kind -> (what is before the kernel, its loop's body for iteration i), n times: `{j}` counts, and
# `{next}` is the number after j. In the last kind, the kernel is a list of loops.
KINDS = {
    "statements": (X, "x[i] = ti.sin(x[i]) * 1.5 + {j}"),
    "products of 4 x 4": ("x = ti.Matrix.field(4, 4, ti.f32, 16)\nn = 3", "x[i] = x[i] @ x[n]"),
    "fields": ("f = [ti.field(ti.f32, 16) for _ in range(N)]", "f[{j}][i] = f[{next}][i] + 1.0"),
    "sparse trees": (
        "f = [ti.field(ti.f32) for _ in range(N)]\n"
        "for one in f:\n    ti.root.pointer(ti.i, 4).dense(ti.i, 4).place(one)",
        "f[{j}][i] += 1.0",
    ),
    "members of a struct": (
        "S = ti.types.struct(**{{f'm{{j}}': ti.f32 for j in range(N)}})\nx = S.field(shape=16)",
        "x[i].m{j} = x[i].m{next} + 1.0",
    ),
    "branches": (
        X,
        "if x[i] > {j}:\n            x[i] += {next}\n        else:\n            x[i] -= 3",
    ),
    "vectors updated in branches": (
        "v = ti.Vector.field(3, ti.f32, 16)",
        "if v[i][{j} % 3] < {j}:\n            v[i][{next} % 3] = {j}",
    ),
    "inner loops": (X, "for q in range(i):\n            x[i] += q * {j}"),
    "functions": (X + "\n@ti.func\ndef g(a, b):\n    return ti.sqrt(a) * b", "x[i] = g(x[i], {j})"),
    "atomic sums": (X + "\ny = ti.field(ti.f32, ())", "y[None] += x[i] * {j}"),
    "parallel loops": (X, "x[i] += {j}"),
}
LOOP = "    for i in range(16):\n"


def text(kind, n):
    before, line = KINDS[kind]
    lines = [f"        {line.format(j=j, next=(j + 1) % n)}\n" for j in range(n)]
    body = LOOP + (LOOP if kind == "parallel loops" else "").join(lines)
    return f"{before.format()}\n\n\n@ti.kernel\ndef k():\n{body}"


def main(implementation, kind, n, folder, cache=""):
    if implementation == "kiln":
        import kiln as ti
    else:
        import taichi as ti

    options = {"offline_cache_file_path": cache} if cache else {}
    ti.init(arch=ti.cpu, log_level=ti.ERROR, unrolling_limit=0, **options)
    one = ti.field(ti.f32, 4)

    @ti.kernel
    def warm_up():
        for i in one:
            one[i] = ti.sqrt(float(i))

    warm_up()
    # Kernels are read from their file.
    path = pathlib.Path(folder) / "kernel.py"
    path.write_text(text(kind, int(n)))
    names = {"ti": ti, "N": int(n)}
    exec(compile(path.read_text(), path, "exec"), names)
    begin = time.perf_counter()
    names["k"]()
    ti.sync()
    print(json.dumps({"seconds": time.perf_counter() - begin}))


if __name__ == "__main__":
    main(*sys.argv[1:])
