"""Reduces a failing program on trees: removes parts as long as it still fails."""

import copy


def reduce(program, fails, rounds=60):
    """A smaller program. fails(programs): returns the first program that still fails, or None."""
    for _ in range(rounds):
        found = list(candidates(program))
        smaller = None
        for start in range(0, len(found), 24):
            smaller = fails(found[start : start + 24])
            if smaller is not None:
                break
        if smaller is None:
            return program
        program = smaller
    return program


def candidates(program):
    """Programs with one part less, the largest parts first."""
    steps = program["steps"]
    for start, end in [(len(steps) // 2, len(steps)), (0, len(steps) // 2)]:
        if end - start > 1:
            yield {**program, "steps": steps[:start] + steps[end:]}
    for n in range(len(steps)):
        yield {**program, "steps": steps[:n] + steps[n + 1 :]}
    yield from _without_fields(program)
    yield from _without_nodes(program)
    for n, step in enumerate(steps):
        for key in ("items", "terms"):
            for k in range(len(step.get(key, ()))):
                changed = {**step, key: step[key][:k] + step[key][k + 1 :]}
                if changed[key] or key == "terms":
                    yield {**program, "steps": [*steps[:n], changed, *steps[n + 1 :]]}
    for n, field in enumerate(program["fields"]):
        for key, plain in (("offset", None), ("type", "i32")):
            if field[key] != plain:
                changed = copy.deepcopy(program)
                changed["fields"][n][key] = plain
                yield changed


def _without_fields(program):
    """The program without a field that no step uses."""
    keys = ("field", "dest", "over", "from", "to")
    for n in range(len(program["fields"])):
        used = any(
            n in [step.get(key) for key in keys] or n in [term[0] for term in step.get("terms", ())]
            for step in program["steps"]
        )
        if used:
            continue
        changed = copy.deepcopy(program)
        del changed["fields"][n]
        for step in changed["steps"]:
            for key in keys:
                if step.get(key) is not None and step[key] > n:
                    step[key] -= 1
            for term in step.get("terms", ()):
                term[0] -= term[0] > n
        yield changed


def _without_nodes(program):
    """The program without an empty node that no step uses."""
    for n in range(1, len(program["nodes"])):
        held = any(node.get("parent") == n for node in program["nodes"])
        placed = any(n in field["places"] for field in program["fields"])
        if held or placed or any(step.get("node") == n for step in program["steps"]):
            continue
        changed = copy.deepcopy(program)
        del changed["nodes"][n]
        for node in changed["nodes"]:
            if node.get("parent", 0) > n:
                node["parent"] -= 1
        for field in changed["fields"]:
            field["places"] = [place - (place > n) for place in field["places"]]
        for step in changed["steps"]:
            if step.get("node", 0) > n:
                step["node"] -= 1
        yield changed
