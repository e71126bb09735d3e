"""Finds in PTX what LLVM 19 may do wrong in silence, and what nvJitLink does not refuse.

problems() returns one line for each breach of these rules:

ordered     No atomic or fence has an order or a scope of its own (.acquire, .release, .acq_rel,
            .sc, .sys): LLVM 19 forgets some of them. Relaxed ones suffice, since launches order
            memory; where they do not, the device library has a membar.
published   On every path from a plain store to a volatile one (a flag) there is a membar. There is
            one directly before a lock is given back, one after it was taken, and one before a
            compare-and-exchange that publishes what volatile stores prepare.
awaited     In a function that waits for a flag, there is a membar directly before the atomic by
            which a thread arrives, before the store that ends the waits, and after a wait.
looked at   A mark that is cleared comes behind a membar after the stores before. A thread that
            reads the mark and what those wrote does so in this order, with a membar between.
counted     There is a membar between the stores of a block and the increment (atom.inc) by which
            the last block knows that it is, and between that and its volatile loads.
handed over What a thread finds through shared memory and writes to is behind a membar with a
            barrier, and another membar with a barrier follows.
converged   Threads come to barriers, votes and shuffles together: whether they do depends on no
            condition that may differ between threads, unless those that do not come to none later.
complete    All functions that are called are defined.

In the runtime's own kernels (`is_runtime`), what all threads of a block read from one address is
the same for them: barriers of the grid separate it from the writes.
"""

import re
from collections import namedtuple

# targets: indices of the blocks that may follow.
Block = namedtuple("Block", "name instructions targets")
Instruction = namedtuple("Instruction", "line guard opcode operands")

_LABEL = re.compile(r"^(\$?[\w$]+):$")
_INSTRUCTION = re.compile(r"^(?:@(!?%\w+)\s+)?([a-z][\w.]*)\s*(.*?);$")
_ORDERS = re.compile(r"\.(acquire|release|acq_rel|sc|sys)\b")
_TOGETHER = re.compile(r"^(bar\.(sync|red|warp)|barrier|vote\.sync|shfl\.sync|match\.\w+\.sync)")
_DIVERGENT = re.compile(r"%(tid|laneid)\b")
_SEEN_BY_ALL = ("ld.param", "ld.const")


def problems(text, is_runtime=False):
    found = []
    functions = list(_functions(text))
    fences = {name for name, body in functions if any("membar" in line for line in body)}
    graphs = {name: _blocks(_with_fences(body, fences)) for name, body in functions}
    marks = {mark for blocks in graphs.values() for mark in _marks(blocks)}
    for name, blocks in graphs.items():
        faults = [*_ordered(blocks), *_published(blocks), *_awaited(blocks)]
        faults += [*_looked_at(blocks, marks), *_counted(blocks), *_handed_over(blocks)]
        faults += _converged(blocks, is_runtime)
        found += [f"{name}: {fault}" for fault in faults]
    return found + _incomplete(text)


def _functions(text):
    """The names and lines of the functions that the text defines."""
    for match in re.finditer(r"\.(?:entry|func)\b([^;{]*?)\n\{\n(.*?)\n\}", text, re.S):
        names = re.findall(r"([\w$]+)\s*\(", re.sub(r"\(\.param[^()]*\)\s+(?=\w)", "", match[1]))
        yield names[0] if names else "?", match[2].splitlines()


def _with_fences(lines, functions):
    """The lines, with a membar in place of each call of a function that has one."""
    lines = iter(lines)
    for line in lines:
        yield line
        if not line.strip().startswith("call"):
            continue
        call = [line]
        while not call[-1].strip().endswith(";"):
            call.append(next(lines))
        yield from call[1:]
        if not functions.isdisjoint(re.findall(r"[\w$]+", " ".join(call))):
            yield "membar.gl;"


def _blocks(lines):
    named, blocks = {}, [("", [])]
    for line in lines:
        line = line.split("//")[0].strip()
        label = _LABEL.match(line)
        if label:
            blocks.append((label[1], []))
            continue
        match = _INSTRUCTION.match(line)
        if not match:
            continue  # declarations, and the pieces of calls
        instructions = blocks[-1][1]
        instructions.append(Instruction(line, match[1], match[2], match[3]))
        if match[2].split(".")[0] in ("bra", "ret", "exit", "trap"):
            blocks.append(("", []))
    for number, (name, _) in enumerate(blocks):
        named[name] = number
    made = []
    for number, (name, instructions) in enumerate(blocks):
        last = instructions[-1] if instructions else None
        kind = last.opcode.split(".")[0] if last else ""
        targets = [named[last.operands]] if kind == "bra" else []
        if kind not in ("bra", "ret", "exit", "trap") or last.guard:
            targets.append(number + 1)
        made.append(Block(name, instructions, [t for t in targets if t < len(blocks)]))
    return made


def _ordered(blocks):
    for block in blocks:
        for one in block.instructions:
            kind = one.opcode.split(".")[0]
            if kind == "fence" or (kind != "membar" and _ORDERS.search(one.opcode)):
                yield f"an order that LLVM may forget: {one.line}"


def _is_access(one):
    kind = one.opcode.split(".")[0]
    is_own = re.search(r"\.(param|local|shared|const)\b", one.opcode) or "[%SP" in one.operands
    return kind in ("ld", "st", "atom", "red") and not is_own


def _address(one):
    return re.search(r"\[([^\]]*)\]", one.operands)[1]


def _before(blocks, number, index):
    """What comes before an instruction, on all paths back to a membar or the start."""
    above = [[] for _ in blocks]
    for source, block in enumerate(blocks):
        for target in block.targets:
            above[target].append(source)
    seen, pending = set(), [(number, index)]
    while pending:
        number, index = pending.pop()
        for one in reversed(blocks[number].instructions[:index]):
            if one.opcode.startswith("membar"):
                break
            yield one
        else:
            for source in above[number]:
                if source not in seen:
                    seen.add(source)
                    pending.append((source, len(blocks[source].instructions)))


def _constants(blocks):
    """The registers that have one value, a number, and that value."""
    values = {}
    for block in blocks:
        for one in block.instructions:
            target, _, value = one.operands.partition(", ")
            if target.startswith("%"):
                is_number = one.opcode.startswith("mov") and re.fullmatch(r"-?\d+", value)
                values[target] = value if is_number and target not in values else None
    return values


def _published(blocks):
    waiting = [
        number
        for number, block in enumerate(blocks)
        if any(one.opcode.startswith("nanosleep") for one in block.instructions)
    ]
    constants = _constants(blocks)
    for number, block in enumerate(blocks):
        for index, one in enumerate(block.instructions):
            if not _is_access(one):
                continue
            before = list(_before(blocks, number, index))
            if one.opcode.startswith("st.volatile"):
                above = block.instructions[:index]
                yield from _stored(one, before, above, constants, bool(waiting))
            elif ".cas" in one.opcode:
                prepared = [a for a in before if a in block.instructions and _is_volatile_store(a)]
                if prepared:
                    yield f"no membar between {prepared[0].line} and {one.line}"
                # Locks are words of 32 bits.
                ahead = _reachable(blocks, number)
                is_lock = ".b32" in one.opcode and any(
                    wait in ahead and number in _reachable(blocks, wait) for wait in waiting
                )
                if is_lock and not any(_begins_with_membar(blocks, t) for t in block.targets):
                    yield f"no membar after a lock was taken: {one.line}"


def _stored(one, before, above, constants, has_locks):
    """Faults of a volatile store. above: what comes before it in its block."""
    # A mark that something happened is looked at first, and leads nowhere.
    if _is_mark(one, above + before):
        return
    accesses = [a for a in before if _is_access(a)]
    plain = [a for a in accesses if a.opcode.startswith("st.") and not _is_volatile_store(a)]
    if plain:
        yield f"no membar between {plain[0].line} and {one.line}"
    value = one.operands.rpartition(", ")[2]
    if has_locks and constants.get(value, value) == "0" and accesses:
        yield f"no membar before a lock is given back: {one.line}"


def _is_volatile_store(one):
    return one.opcode.startswith("st.volatile")


def _is_mark(one, before):
    """Whether a volatile store is to a word that was looked at."""
    looks = [a for a in before if a.opcode.startswith("ld.volatile")]
    return any(_address(a) == _address(one) for a in looks)


def _waits(blocks):
    """The loops that wait for a flag alone, and take no lock: sets of blocks."""
    for number, block in enumerate(blocks):
        if not any(one.opcode.startswith("nanosleep") for one in block.instructions):
            continue
        ahead = _reachable(blocks, number)
        loop = {n for n in ahead if number in _reachable(blocks, n)}
        if not any(".cas" in one.opcode for n in loop for one in blocks[n].instructions):
            yield loop


def _awaited(blocks):
    for loop in _waits(blocks):
        inside = [one for n in loop for one in blocks[n].instructions]
        flags = {_address(one) for one in inside if one.opcode.startswith("ld.volatile")}
        for target in {t for n in loop for t in blocks[n].targets} - loop:
            if not _begins_with_membar(blocks, target):
                yield f"no membar after a wait: {inside[0].line}"
        for number, block in enumerate(blocks):
            arrives = not loop.isdisjoint(_reachable(blocks, number))
            for index, one in enumerate(block.instructions):
                is_end = _is_volatile_store(one) and _address(one) in flags
                if not is_end and not (arrives and one.opcode.startswith("atom")):
                    continue
                if any(_is_access(a) for a in _before(blocks, number, index)):
                    yield f"no membar before {one.line}, for which threads wait"


def _place(one):
    """The width and offset of an access, which tell members of a struct apart."""
    offset = re.search(r"\+(\d+)\]", one.operands)
    return one.opcode.rpartition(".")[2], int(offset[1]) if offset else 0


def _clears(blocks):
    """Volatile stores of zero to marks: their block, index in it, and the store."""
    constants = _constants(blocks)
    for number, block in enumerate(blocks):
        for index, one in enumerate(block.instructions):
            value = one.operands.rpartition(", ")[2]
            if _is_volatile_store(one) and constants.get(value, value) == "0":
                if _is_mark(one, [*block.instructions[:index], *_behind(blocks, number)]):
                    yield number, index, one


def _behind(blocks, number):
    """The instructions of the blocks that lead directly to a block."""
    for block in blocks:
        if number in block.targets:
            yield from block.instructions


def _marks(blocks):
    """The places of marks that are cleared, each with that of what was written before."""
    for number, index, one in _clears(blocks):
        for other in blocks[number].instructions[:index]:
            if _is_volatile_store(other):
                yield _place(one), _place(other)


def _looked_at(blocks, marks):
    for number, index, one in _clears(blocks):
        for other in _before(blocks, number, index):
            if _is_volatile_store(other) and _address(other) != _address(one):
                yield f"no membar between {other.line} and {one.line}"
                break
    for number, block in enumerate(blocks):
        for index, one in enumerate(block.instructions):
            first = {mark for mark, written in marks if written == _place(one)}
            if not one.opcode.startswith("ld.volatile") or not first:
                continue
            for other in _before(blocks, number, index):
                if other.opcode.startswith("ld.volatile") and _place(other) in first:
                    yield f"no membar between {other.line} and {one.line}"
                    break


def _counted(blocks):
    for number, block in enumerate(blocks):
        for index, one in enumerate(block.instructions):
            if one.opcode.startswith("atom.inc"):
                before = ("st.",)
            elif one.opcode.startswith("ld.volatile"):
                before = ("atom.inc",)
            else:
                continue
            for other in _before(blocks, number, index):
                if _is_access(other) and other.opcode.startswith(before):
                    yield f"no membar between {other.line} and {one.line}"
                    break


def _found_in_shared(blocks):
    """The registers with addresses that were in shared memory, or with a sum of one."""
    found, grows = set(), True
    while grows:
        grows = False
        for one in (one for block in blocks for one in block.instructions):
            target, _, sources = one.operands.partition(", ")
            is_sum = one.opcode.startswith("add") and not found.isdisjoint(sources.split(", "))
            if (one.opcode == "ld.shared.u64" or is_sum) and target not in found:
                found.add(target)
                grows = True
    return found


def _handed_over(blocks):
    found = _found_in_shared(blocks)
    for number, block in enumerate(blocks):
        for index, one in enumerate(block.instructions):
            if not one.opcode.startswith("st.u") or _address(one).partition("+")[0] not in found:
                continue
            barriers = {
                *_barriers_before(blocks, number, index),
                *_barriers_after(blocks, number, index),
            }
            for barrier in barriers:
                before = _before(blocks, *barrier)
                if any(_is_access(a) or a.opcode.startswith("st.shared") for a in before):
                    yield f"no membar at a barrier beside {one.line}"


def _barriers_before(blocks, number, index):
    """The last barriers, as (block, index), on the ways to an instruction."""
    seen, pending = set(), [(number, index)]
    while pending:
        number, index = pending.pop()
        barriers = [i for i in _barriers(blocks[number]) if i < index]
        if barriers:
            yield number, barriers[-1]
            continue
        for source, block in enumerate(blocks):
            if number in block.targets and source not in seen:
                seen.add(source)
                pending.append((source, len(block.instructions)))


def _barriers_after(blocks, number, index):
    """The first ones on the ways from it."""
    seen, pending = set(), [(number, index)]
    while pending:
        number, index = pending.pop()
        barriers = [i for i in _barriers(blocks[number]) if i > index]
        if barriers:
            yield number, barriers[0]
            continue
        for target in blocks[number].targets:
            if target not in seen:
                seen.add(target)
                pending.append((target, -1))


def _barriers(block):
    return [i for i, one in enumerate(block.instructions) if one.opcode.startswith("bar.")]


def _begins_with_membar(blocks, number):
    """Whether what comes first from a block on, of accesses and fences, is a membar."""
    seen = set()
    while number not in seen:
        seen.add(number)
        for one in blocks[number].instructions:
            if one.opcode.startswith("membar"):
                return True
            if _is_access(one):
                return False
        if len(blocks[number].targets) != 1:
            return False
        number = blocks[number].targets[0]
    return False


def _varying(blocks, is_runtime):
    """The registers whose values may differ between threads of a block."""
    varying, grows = set(), True
    while grows:
        grows = False
        for block in blocks:
            for one in block.instructions:
                target, _, sources = one.operands.partition(", ")
                targets = re.findall(r"%[\w]+", target)
                if not targets or one.opcode.split(".")[0] in ("st", "bra", "red"):
                    continue
                own = _is_access(one) or one.opcode.startswith(("ld.shared", "ld.local", "atom"))
                if is_runtime and one.opcode.startswith("ld."):
                    own = False
                differs = (
                    (own and not one.opcode.startswith(_SEEN_BY_ALL))
                    or _DIVERGENT.search(sources)
                    or any(name in varying for name in re.findall(r"%\w+", sources))
                )
                # What a barrier or a vote counts is the same for all of its threads.
                if _TOGETHER.match(one.opcode) and not one.opcode.startswith(("shfl", "match")):
                    differs = False
                if differs and not varying.issuperset(targets):
                    varying.update(targets)
                    grows = True
    return varying


def _reachable(blocks, start):
    seen, pending = set(), [start]
    while pending:
        number = pending.pop()
        if number not in seen:
            seen.add(number)
            pending += blocks[number].targets
    return seen


def _always_after(blocks):
    """Of each block those that every path from it comes to, itself included, as bits."""
    everything = (1 << len(blocks)) - 1
    after = [everything if block.targets else 1 << n for n, block in enumerate(blocks)]
    changed = True
    while changed:
        changed = False
        for number in reversed(range(len(blocks))):
            common = everything
            for target in blocks[number].targets:
                common &= after[target]
            if blocks[number].targets and after[number] != common | 1 << number:
                after[number] = common | 1 << number
                changed = True
    return after


def _deciding(blocks, after, number):
    """The blocks whose conditions decide whether threads come to a block."""
    found, pending = set(), [number]
    while pending:
        bit = 1 << pending.pop()
        for source, block in enumerate(blocks):
            leads = [bool(after[target] & bit) for target in block.targets]
            if any(leads) and not all(leads) and source not in found:
                found.add(source)
                pending.append(source)
    return found


def _converged(blocks, is_runtime):
    together = {
        number: [one for one in block.instructions if _TOGETHER.match(one.opcode)]
        for number, block in enumerate(blocks)
    }
    together = {number: found for number, found in together.items() if found}
    if not together:
        return
    varying, after = _varying(blocks, is_runtime), _always_after(blocks)
    for number, found in together.items():
        for one in found:
            if one.guard:
                yield f"guarded: {one.line}"
        for source in sorted(_deciding(blocks, after, number)):
            condition = blocks[source].instructions[-1]
            if condition.guard.lstrip("!") not in varying:
                continue
            # A side that comes to no such operation any more is one whose threads leave.
            sides = [_reachable(blocks, target) for target in blocks[source].targets]
            if all(not together.keys().isdisjoint(side) for side in sides):
                yield f"threads part at {condition.line} before {found[0].line}"


def _incomplete(text):
    defined = {name for name, _ in _functions(text)}
    called = re.findall(r"call(?:\.uni)?\s+(?:\([^)]*\),\s*)?([\w$]+),", text)
    return [f"{name} is called and not defined" for name in sorted({*called} - defined)]
