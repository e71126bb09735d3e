"""Reduces a failing program: deletes and simplifies parts as long as it still fails."""

import ast
import copy


def reduce(text, fails, rounds=60):
    """A smaller program. fails(texts): returns the first text that still fails, or None; it must
    also reject texts that are not programs."""
    text = ast.unparse(ast.parse(text))
    for changes in (_STATEMENTS, _CHANGES):  # expressions when few statements are left
        for _ in range(rounds):
            found = _smaller(text, changes, fails)
            if found is None:
                break
            text = found
    return text


def _smaller(text, changes, fails, size=48):
    found = sorted(candidates(text, changes), key=len)
    for start in range(0, len(found), size):
        one = fails(found[start : start + size])
        if one is not None:
            return one
    return None


def candidates(text, changes):
    """Texts with one part less."""
    tree = ast.parse(text)
    seen = {text}
    for number, at in enumerate(ast.walk(tree)):
        if isinstance(at, (ast.expr_context, ast.operator)):
            continue
        for change in changes:
            copied = ast.parse(text)
            node = next(n for i, n in enumerate(ast.walk(copied)) if i == number)
            for made in change(copied, node):
                try:
                    new = ast.unparse(ast.fix_missing_locations(made))
                except (AttributeError, TypeError, ValueError, IndexError):
                    continue
                if new not in seen and len(new) < len(text):
                    seen.add(new)
                    yield new


def _blocks(node):
    for name in ("body", "orelse"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block


def _without_statements(tree, node):
    """The tree without some adjacent statements: first halves, then single ones."""
    for block in _blocks(node):
        whole = list(block)
        half = len(whole) // 2
        spans = [(0, half), (half, len(whole))] if half > 1 else []
        for start, end in spans + [(i, i + 1) for i in range(len(whole))]:
            block[:] = whole[:start] + whole[end:]
            if not block and not isinstance(node, ast.Module) and block is node.body:
                block.append(ast.Pass())
            yield tree
        block[:] = whole


def _unwrapped(tree, node):
    """A compound statement replaced by its body."""
    for block in _blocks(node):
        whole = list(block)
        for i, inner in enumerate(whole):
            for inside in _blocks(inner):
                if isinstance(inner, ast.FunctionDef) or not inside:
                    continue
                block[:] = whole[:i] + inside + whole[i + 1 :]
                yield tree
        block[:] = whole


def _simpler_expressions(tree, node):
    """An expression replaced by one of its operands, or by a literal."""
    for name, value in ast.iter_fields(node):
        if name in ("func", "annotation", "returns", "decorator_list", "target", "targets", "ctx"):
            continue
        if isinstance(value, ast.expr) and not isinstance(value, (ast.Constant, ast.Name)):
            for new in _parts(value):
                setattr(node, name, new)
                yield tree
            setattr(node, name, value)
        elif isinstance(value, list):
            for i, item in enumerate(value):
                if isinstance(item, ast.expr) and not isinstance(item, (ast.Constant, ast.Name)):
                    for new in _parts(item):
                        value[i] = new
                        yield tree
                    value[i] = item


def _parts(node):
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield child
        if isinstance(child, ast.Tuple):
            yield from child.elts
    for literal in (1, 2.5):
        yield ast.Constant(literal)


def _fewer_arguments(tree, node):
    """The program without one parameter of the kernel and its argument, or without a result."""
    if not isinstance(node, ast.FunctionDef) or node.name != "kernel":
        return
    given = next(
        (
            n.value
            for n in tree.body
            if isinstance(n, ast.Assign) and n.targets[0].id == "ARGUMENTS"
        ),
        None,
    )
    if given is not None:
        for i in range(len(node.args.args)):
            kept = copy.copy(node.args.args), copy.copy(given.elts)
            del node.args.args[i], given.elts[i]
            yield tree
            node.args.args, given.elts = kept
    if node.returns is not None:
        kept = node.returns, list(node.body)
        node.returns = None
        node.body = [n for n in node.body if not isinstance(n, ast.Return)] or [ast.Pass()]
        yield tree
        node.returns, node.body = kept


_STATEMENTS = (_without_statements, _unwrapped, _fewer_arguments)
_CHANGES = (*_STATEMENTS, _simpler_expressions)
