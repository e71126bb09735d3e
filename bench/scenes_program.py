"""Inside of bench/scenes.py: runs a scene. Prints seconds and the state of its bodies as JSON.

Runs under Taichi or Kiln, whichever `import taichi` finds.
"""

import json
import statistics
import sys
import time

import genesis as gs
import numpy as np
import torch

STEPS = 20


def scene_of(sim, **options):
    scene = gs.Scene(sim_options=gs.options.SimOptions(**sim), show_viewer=False, **options)
    scene.add_entity(gs.morphs.Plane())
    return scene


def box(size, pos):
    return gs.morphs.Box(size=(size, size, size), pos=pos)


def make_box():
    scene = scene_of({"dt": 0.01})
    return scene, [scene.add_entity(box(0.2, (0, 0, 0.2)))]


def make_franka():
    scene = scene_of({"dt": 0.01})
    arm = scene.add_entity(gs.morphs.MJCF(file="xml/franka_emika_panda/panda.xml"))
    return scene, [arm, scene.add_entity(box(0.04, (0.65, 0, 0.02)))]


def mpm_options():
    return gs.options.MPMOptions(
        lower_bound=(-0.5, -1, -0.2), upper_bound=(0.5, 1, 1), grid_density=32
    )


def make_mpm():
    scene = scene_of({"dt": 4e-3, "substeps": 10}, mpm_options=mpm_options())
    of, sphere = gs.materials.MPM, gs.morphs.Sphere(pos=(0, 0.5, 0.35), radius=0.1)
    return scene, [
        scene.add_entity(material=of.Elastic(), morph=box(0.2, (0, -0.5, 0.25))),
        scene.add_entity(material=of.Liquid(), morph=box(0.2, (0, 0, 0.25))),
        scene.add_entity(material=of.ElastoPlastic(), morph=sphere),
    ]


def make_fem():
    scene = scene_of({"dt": 5e-4, "substeps": 10}, fem_options=gs.options.FEMOptions(damping=45.0))
    soft = gs.materials.FEM.Muscle(E=3e4, nu=0.45, rho=1000.0, model="stable_neohooken")
    return scene, [
        scene.add_entity(material=soft, morph=gs.morphs.Sphere(pos=(0, 0, 0.3), radius=0.1))
    ]


def make_gradient():
    sim = {"dt": 2e-3, "substeps": 10, "requires_grad": True}
    scene = scene_of(sim, mpm_options=mpm_options())
    elastic = gs.materials.MPM.Elastic(rho=500)
    return scene, [scene.add_entity(material=elastic, morph=box(0.15, (0.2, 0.2, 0.1)))]


def state_of(body):
    """The numbers that say where a body is."""
    if hasattr(body, "get_qpos"):
        return body.get_qpos()
    return body.get_state().pos.detach()


def descend(scene, body, velocity):
    """The gradient of the distance from a place after five steps, for the velocity at first."""
    scene.reset()
    body.set_velocity(velocity)
    for _ in range(5):
        scene.step()
    reached = body.get_state().pos
    torch.pow(reached - gs.tensor([0.5, 0.8, 0.05]), 2).mean().backward()


def main():
    name = sys.argv[1]
    start = time.perf_counter()
    gs.init(backend=gs.cpu, precision="32", logging_level="error", seed=0)
    scene, bodies = globals()[f"make_{name}"]()
    scene.build()
    if name == "franka":
        wanted = [0.5, -0.3, 0.2, -1.5, 0.1, 1.2, 0.3, 0.02, 0.02]
        bodies[0].control_dofs_position(np.array(wanted, np.float32))
    step = scene.step
    if name == "gradient":
        velocity = gs.tensor([0.0, 1.0, 0.0], requires_grad=True)
        step = lambda: descend(scene, bodies[0], velocity)  # noqa: E731
    step()
    first = time.perf_counter() - start
    times = []
    for _ in range(STEPS - 1):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    found = [velocity.grad / STEPS] if name == "gradient" else [state_of(body) for body in bodies]
    if name == "franka":
        place, turn = np.array([0.65, 0, 0.25]), np.array([0, 1, 0, 0])
        found.append(bodies[0].inverse_kinematics(bodies[0].get_link("hand"), pos=place, quat=turn))
    state = np.concatenate([np.asarray(one.cpu()).ravel() for one in found])
    print(json.dumps({"first": first, "step": statistics.median(times), "state": state.tolist()}))


main()
