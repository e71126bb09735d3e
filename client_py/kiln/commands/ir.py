"""`kiln ir`: shows a kernel after each stage of the compiler.

The command compiles the recorded kernel again. It runs the program only if the program left no
record or has changed since. The target is that which the program requested, or that of `--cpu` or
`--target`.
"""

import os

from ..warm import manifest, program
from .common import failure, home, print_json, session
from .options import BadOption, any_target, parse, target

_OPTIONS = {"--cpu": "", "--json": False, "--stage": "", "--target": ""}


def main(argv):
    from . import warm

    options, rest = parse(argv, _OPTIONS)
    if not rest or len(rest) > 2:
        raise BadOption("ir of which kernel? A name or the start of a key, then a program")
    wanted = _target(options)
    if len(rest) == 2 and not os.path.isfile(rest[1]):
        raise BadOption(f"{rest[1]}: no such file")
    try:
        known = [warm.manifest_of(rest[1])] if len(rest) == 2 else _all_manifests()
    except manifest.BadManifest as error:
        return failure(f"{rest[1]}: {error}")
    known = [one for one in known if one is not None]
    found = _find(known, rest[0])
    if not found:
        return failure(_no_such_kernel(known, *rest))
    made_of, unit = found[0]
    recorded = manifest.recorded_of(made_of, home(), unit)
    if recorded is None:
        return failure(f"kernel '{unit.kernel}': what it was compiled from is not known any more")
    try:
        done = session().warm(recorded, wanted or warm.target_of(unit), print_ir=True)
    except (ValueError, RuntimeError, OSError) as error:
        return failure(f"kernel '{unit.kernel}': {error}")
    return _show(unit, found, done, options)


def _target(options):
    """The target that the options name; "": none."""
    if options["cpu"] and options["target"]:
        raise BadOption("--cpu and --target are two targets; a kernel's stages are those of one")
    if options["target"]:
        return any_target(options["target"])
    return options["cpu"] and target(options["cpu"])


def _show(unit, found, done, options):
    from . import warm

    key, _, _, _, diagnostics, stages = done
    errors = warm.errors_of(diagnostics)
    if errors:
        return failure(f"kernel '{unit.kernel}': {'; '.join(errors)}")
    stage = options["stage"]
    stages = _named(stages)
    names = [name for name, *_ in stages]
    if stage and stage not in names:
        from ..diagnostics import near

        hint = near(stage, names)
        return failure(f"no stage '{stage}'.{hint} The stages are: {', '.join(names)}")
    wanted = [s for s in stages if stage in ("", s[0])]
    if options["json"]:
        rows = [{"stage": n, "seconds": seconds, "ir": ir} for n, seconds, ir in wanted]
        print_json({"kernel": unit.kernel, "key": key, "stages": rows})
    elif stage:
        ir = wanted[0][2]
        if not ir:
            return failure(f"stage '{stage}' leaves no IR")
        print(ir, end="" if ir.endswith("\n") else "\n")
    else:
        print(f"kernel {unit.kernel}  key {key}")
        for name, seconds, ir in wanted:
            print(f"  {name:28} {seconds * 1e3:8.1f} ms {len(ir.splitlines()):7} lines")
    others = {other.key for _, other in found} - {unit.key}
    if others:
        failure(
            f"{len(others)} more instances of '{unit.kernel}'; name one by the start of its key:"
        )
        failure("  " + " ".join(sorted(key[:12] for key in others)))
    return 0


def _named(stages):
    """[(name, seconds, IR)]; the second run of a pass is named NAME#2."""
    seen = {}
    found = []
    for name, seconds, ir, _ in stages:
        seen[name] = seen.get(name, 0) + 1
        found.append((name if seen[name] == 1 else f"{name}#{seen[name]}", seconds, ir))
    return found


def _find(known, wanted):
    """[(manifest, unit)] of the kernels whose name is `wanted` or whose key begins with it."""
    found = [(one, u) for one in known for u in one.units if u.kernel == wanted]
    if found or len(wanted) < 6:
        return found
    return [(one, u) for one in known for u in one.units if u.key.startswith(wanted.lower())]


def _no_such_kernel(known, wanted, subject=""):
    from ..diagnostics import near

    names = {unit.kernel for one in known for unit in one.units}
    where = f"{subject} has" if subject else "the programs that ran have"
    return f"{where} no kernel '{wanted}'.{near(wanted, names)}"


def _all_manifests():
    """The manifests of all programs that ran with this home, the latest first. In a notebook, its
    own is before them."""
    folder = os.path.join(home(), "warm", "programs")
    try:
        entries = [e for e in os.scandir(folder) if not e.name.endswith(".tmp")]
    except OSError:
        entries = []
    entries.sort(key=lambda entry: entry.stat(follow_symlinks=False).st_mtime, reverse=True)
    found = [program.read(home(), f"warm/programs/{entry.name}") for entry in entries]
    found.insert(0, program.current(latest_first=True))
    return [one for one in found if one is not None]
