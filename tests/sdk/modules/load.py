"""Loads a module of sim.py, and prints what sim.py prints: `load.py MODULE TARGET`. The module has
to be loaded for TARGET."""

import sys

import kiln as ti
import numpy as np

m = ti.aot.load(sys.argv[1])
assert m.target == sys.argv[2], m.target
m.fill(2.0)
m.scatter()
m.x.from_numpy(range(8))
m["loss.grad"].from_numpy(1.0)
m.square_grad()
print(f"total {m.total():g}")
print(f"most {m.most():g}")
print(f"burn {m.burn(20)}")
print(f"pack {m.pack()}")
print(f"grad {m['x.grad'].to_numpy()[3]:g}")
v = np.full((4, 3), 1.5, np.float32)
print("norms", *(f"{one:g}" for one in m.norms(v, [1.0, 2.0, 3.0])))
print(f"vector {v[1][2]:g}")
a = np.zeros(3, np.int32)
m.twice.run({"a": a, "k": 5})
print(f"twice {a[2]}")
m.speak(3)
