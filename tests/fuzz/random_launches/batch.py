"""Runs programs of launches in one process and prints their results, one JSON line before and after
each.

python -m random_launches.batch kiln FILE OPTIONS...      FILE: JSON list of [name, program]
"""

import contextlib
import copy
import ctypes
import gc
import json
import os
import pathlib
import sys
import threading

import kiln as ti
import numpy

from . import kernels

EMULATOR = pathlib.Path(__file__).resolve().parents[3] / ".kiln" / "bin" / "libcuda-emulator.so"
DRIVER = os.environ.get("KILN_CUDA_DRIVER")


class Wrong(Exception):
    """Kiln and NumPy differ."""


def main(package, path, *options):
    with open(path) as file:
        programs = json.load(file)
    for name, program in programs:
        for number, one in enumerate(options):
            print(json.dumps({"begins": name, "run": number}), flush=True)
            found = outcome(json.loads(program), json.loads(one))
            print(json.dumps({"ends": name, "run": number, "found": found}), flush=True)


def outcome(program, options):
    ti.init(arch=getattr(ti, os.environ.get("TI_ARCH", "cpu")), log_level=ti.ERROR, **options)
    try:
        Run(program).all()
    except Wrong as wrong:
        return {"wrong": str(wrong)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return {}


class Run:
    """One run of a program, with arrays of NumPy beside all objects."""

    def __init__(self, program):
        self.program = program
        self.on_cuda = os.environ.get("TI_ARCH") == "cuda"
        self.objects, self.trees, self.streams = {}, {}, {}
        template, array = ti.template(), ti.types.ndarray()
        self.kernels = {
            kinds: kernels.make(ti, *(template if kind == "field" else array for kind in kinds))
            for kinds in (("field", "field"), ("field", "array"), ("array", "field"))
        }
        self.kernels["array", "array"] = kernels.make(ti, array, array)
        self.models = {name: self.zeros(one) for name, one in program["objects"].items()}
        for name in self.models:
            self.make(name)

    def all(self):
        for number, step in enumerate(self.program["steps"]):
            try:
                self.take(step)
            except Wrong as wrong:
                raise Wrong(f"step {number}, {step['op']}: {wrong}") from None
        for name in self.objects:
            self.look({"on": name})

    def take(self, step):
        getattr(self, step["op"])(step)

    # --- Objects

    @staticmethod
    def zeros(one):
        vector = (one["vector"],) if one["vector"] else ()
        return numpy.zeros(tuple(one["shape"]) + vector, NUMPY[one["type"]])

    def make(self, name):
        one = self.program["objects"][name]
        type, shape = getattr(ti, one["type"]), tuple(one["shape"])
        if one["kind"] == "numpy":
            made = self.zeros(one)
        elif one["kind"] == "ndarray":
            made = (
                ti.Vector.ndarray(one["vector"], type, shape)
                if one["vector"]
                else ti.ndarray(type, shape)
            )
        else:
            made = self.field(name, one, type, shape)
        self.objects[name] = made

    def field(self, name, one, type, shape):
        new = (
            ti.field
            if not one["vector"]
            else lambda *a, **k: ti.Vector.field(one["vector"], *a, **k)
        )
        if one["layout"] == "plain" or not shape:
            return new(type, shape)
        if one["layout"] == "soa" and one["vector"]:
            return new(type, shape, layout=ti.Layout.SOA)
        field, axes = new(type), getattr(ti, "ijkl"[: len(shape)])
        builder = ti.FieldsBuilder() if one["layout"] == "tree" else ti.root
        if one["layout"] == "blocks" and all(n % 2 == 0 for n in shape):
            builder.dense(axes, tuple(n // 2 for n in shape)).dense(axes, 2).place(field)
        else:
            builder.dense(axes, shape).place(ti.field(ti.i8), field, ti.field(ti.i16))
        if one["layout"] == "tree":
            self.trees[name] = builder.finalize()
        return field

    # --- Steps

    def launch(self, step):
        model, _, _ = kernels.TABLE[step["kernel"]]
        wanted = model(*(self.models[name] for name in step["on"]), *step["numbers"])
        kinds = tuple(
            "field" if self.program["objects"][name]["kind"] == "field" else "array"
            for name in step["on"]
        )
        kernel = self.kernels[(kinds * 2)[:2]][step["kernel"]]
        found = kernel(*(self.objects[name] for name in step["on"]), *step["numbers"])
        if step["kernel"] in kernels.RETURNING:
            found = list(found) if isinstance(wanted, list) else found
            if found != wanted:
                raise Wrong(f"{step['kernel']}({step['on']}) gives {found}, not {wanted}")

    def fill(self, step):
        self.objects[step["on"]].fill(step["value"])
        self.models[step["on"]][...] = step["value"]

    def set(self, step):
        at = tuple(step["at"]) or None
        vector = self.program["objects"][step["on"]]["vector"]
        self.objects[step["on"]][at] = [step["value"]] * vector if vector else step["value"]
        self.models[step["on"]][tuple(step["at"])] = step["value"]

    def get(self, step):
        found = self.objects[step["on"]][tuple(step["at"]) or None]
        wanted = self.models[step["on"]][tuple(step["at"])].tolist()
        if (list(found) if isinstance(wanted, list) else found) != wanted:
            raise Wrong(f"{step['on']}{step['at']} is {found}, not {wanted}")

    def from_numpy(self, step):
        model = self.models[step["on"]]
        low = 0 if model.dtype.kind == "u" else -100
        values = numpy.random.RandomState(step["seed"]).randint(low, 100, model.shape)
        values = values.astype(model.dtype)
        if step["form"] == "fortran" and values.ndim:
            values = numpy.asfortranarray(values)
        elif step["form"] == "strided" and values.ndim:
            values = numpy.repeat(values, 2, axis=0)[::2]
        self.objects[step["on"]].from_numpy(values)
        model[...] = values

    def copy_from(self, step):
        to, of = step["on"]
        self.objects[to].copy_from(self.objects[of])
        self.models[to][...] = self.models[of]

    def look(self, step):
        found, wanted = self.objects[step["on"]], self.models[step["on"]]
        found = found if isinstance(found, numpy.ndarray) else found.to_numpy()
        if found.dtype != wanted.dtype or found.shape != wanted.shape:
            raise Wrong(f"{step['on']} is {found.dtype}{found.shape}")
        if not (found == wanted).all():
            at = tuple(map(int, numpy.argwhere(found != wanted)[0]))
            raise Wrong(
                f"{step['on']}{list(at)} is {found[at]}, not {wanted[at]}; "
                f"{(found != wanted).sum()} of {found.size} differ"
            )

    def again(self, step):
        name = step["on"]
        del self.objects[name]
        if name in self.trees:
            self.trees.pop(name).destroy()
        self.make(name)
        self.models[name][...] = 0

    def copy(self, step):
        self.objects[step["on"]] = copy.deepcopy(self.objects[step["on"]])

    def sync(self, step):
        gc.collect()
        ti.sync()

    def graph(self, step):
        models = {name: model.copy() for name, model in self.models.items()}
        with ti.graph.capture() as graph:
            for one in step["steps"]:
                self.launch(one)
        for name, model in models.items():
            self.models[name][...] = model
        for _ in range(step["times"]):
            graph.launch()
            for one in step["steps"]:
                model, _, _ = kernels.TABLE[one["kernel"]]
                model(*(self.models[name] for name in one["on"]), *one["numbers"])

    def threads(self, step):
        problems = []

        def run(part):
            try:
                for one in part:
                    self.take(one)
            except Exception as error:
                problems.append(error)

        threads = [threading.Thread(target=run, args=(part,)) for part in step["parts"]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for problem in problems:
            raise problem

    def stream(self, step):
        with self.stream_of(step["number"]) if self.on_cuda else contextlib.nullcontext():
            for one in step["steps"]:
                self.take(one)

    def stream_of(self, number):
        if number not in self.streams:
            driver = ctypes.CDLL(str(EMULATOR) if DRIVER == "emulator" else DRIVER)
            handle = ctypes.c_void_p()
            if driver.cuStreamCreate(ctypes.byref(handle), 0):
                raise RuntimeError("the driver makes no stream")
            self.streams[number] = handle.value
        return ti.cuda.stream(self.streams[number])


NUMPY = {
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    "f32": "float32",
    "f64": "float64",
}

if __name__ == "__main__":
    main(*sys.argv[1:])
