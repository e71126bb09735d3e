"""Makes wrong programs by random changes to the bodies of a program's functions."""

import ast
import copy
import random
import warnings

_EXPRESSIONS = """
'text' | None | ... | b'x' | 1j | [] | {} | () | {1: 2} | {1, 2} | lambda: 0 | lambda a: a
f'{1}' | 10 ** 30 | -10 ** 30 | 1e400 | float('nan') | True | ti | ti.f32 | ti.i32 | ti.kernel
ti.func | print | range(3) | ti.ndrange(2, 2) | ti.static(1) | ti.static(1, 2) | ti.static
nothing | nothing.at.all | ti.nothing | ti.math.nothing | ti.Vector | ti.Vector([])
ti.Vector([[1], [2, 3]]) | ti.Vector(['a']) | ti.Matrix([1, 2]) | ti.Matrix([[1, 2], [3]])
ti.Vector.zero(ti.i32, 0) | ti.types.vector(3, ti.f32) | ti.types.vector(3, ti.f32)(1, 2)
[1, 2, 3] | (1, 2.5) | [[1, 2], [3, 4]] | ti.random() | ti.random('a') | ti.cast(1, 2)
ti.cast(1, None) | ti.cast('a', ti.i32) | ti.bit_cast(1, ti.f64) | ti.i32(1, 2) | ti.i8(300)
ti.min() | min() | ti.max('a', 1) | ti.sqrt('a') | ti.sqrt() | ti.sqrt(1, 2) | abs() | len(3)
len([1]) | ti.select(1) | ti.atomic_add(1, 2) | ti.atomic_add(x1, 1) | kernel() | kernel | x1
x1[None] | x1[0, 0, 0] | x1['a'] | x1[0.5] | x1[1:2] | x1.shape | x1.nothing | x1.shape[7]
x1.dtype | x1() | not_defined() | 1 if 2 else 3 | (y := 3) | [k for k in range(3)]
{k: 1 for k in range(3)} | (k for k in range(3)) | [k for k in ti.static(range(3)) if k]
ti.svd(1) | ti.sym_eig(ti.Vector([1, 2])) | ti.grouped(x1) | 3() | super() | __import__ | int
int('a') | str(1) | 'a' + 'b' | 'a' + 1 | 1 // 0 | 1 % 0 | 1.0 / 0 | 2 ** -1 | 1 << -1 | 1 << 99
~1.5 | -'a' | not 'a' | 1 < 'a' | 1 < 2 < 'a' | 1 in [1] | 1 is 1 | 1 and 'a' | *x1
ti.Vector([1, 2]) @ ti.Vector([1, 2]) | ti.Vector([1, 2]) + ti.Vector([1, 2, 3])
ti.Vector([1, 2]).zw | ti.Vector([1, 2])[5] | ti.Vector([1, 2])['a'] | ti.Vector([1, 2]).dot(1)
ti.Vector([1, 2]).cross(3) | ti.Vector([1, 2]).nothing() | ti.Vector([1, 2]).transpose()
ti.Matrix([[1, 2]]).determinant() | ti.inf
"""

_STATEMENTS = """
break | continue | return | return 1 | return 1, 2 | return 'a' | return None | raise ValueError
global x1 | import os | from os import path | del x1 | del nothing | assert 'a' | assert 1, 2,
assert nothing | class A: pass | def g(): pass | pass | ... | 'text' | yield 1 | await nothing
x1 = 1 | x1 += 1 | ti = 3 | kernel = 1 | x1.a = 1 | x1[0].b = 1 | x1[0][0][0] = 1 | x1['a'] = 1
x1[0] = 'a' | x1[0] = [1, 2, 3, 4, 5] | x1[0] += 'a' | x1[0] @= 1 | x1[0] //= 2.5 | x1[0] <<= 1.5
1 + nothing | nothing += 1 | q = q | q: ti.i32 | q: 3 = 1 | q: 'i32' = 1
q: ti.types.vector(2, ti.i32) = 1 | a, b = 1 | a, b = 1, 2, 3 | (a, b), c = 1, 2
*a, b = [1, 2, 3] | a = b = 1 | a = b = c | [a, b] = [1, 2] | ti.static_assert(False)
ti.static_assert(False, 'm') | ti.static_assert(nothing) | ti.static_print(nothing)
ti.static_print(x1) | ti.loop_config(nothing=1) | ti.loop_config(serialize='a')
ti.loop_config(block_dim=-1) | ti.loop_config(1, 2, 3, 4, 5, 6, 7) | print(x1) | print(*x1)
print('a', sep=1) | print(f'{nothing}') | print(f'{1:q}') | print('{}'.format()) | print(end=3)
for k in 3: pass | for k in 'ab': pass | for k in range('a'): pass | for k in range(): pass
for k in range(1, 2, 3): pass | for k in range(1.5): pass | for k, l in range(3): pass
for k in x1: break | for k in ti.ndrange(): pass | for k in ti.ndrange('a'): pass
for k in ti.ndrange((1, 2, 3)): pass | for k in ti.grouped(3): pass | for k in ti.static(3): pass
for k in ti.static(x1): pass | for k in nothing: pass | for k.a in range(3): pass
for x1 in range(3): pass | for x1[0] in range(3): pass | for k in [1, 2]: pass
for k in range(3): k = 'a' | for k in ti.static(range(3)): break
for k in ti.static(range(3)): continue | while 'a': pass | while nothing: pass | while x1: break
while 1.5: break | while True: break | if 'a': pass | if nothing: pass | if x1: pass
if 1.5: pass | if ti.static('a'): pass | if None: pass
"""

_BLOCKS = """
try:
    pass
except ValueError:
    pass
---
with nothing:
    pass
---
for k in range(3):
    pass
else:
    pass
---
while False:
    pass
else:
    pass
---
match 1:
    case 1:
        pass
---
if x1[0] > 0:
    inside = 1
print(inside)
---
if x1[0] > 0:
    return 1
---
for k in range(3):
    for k in range(3):
        pass
---
@ti.func
def g(a):
    return a
print(g(1))
---
z = 1
z = [1, 2]
---
z = ti.Vector([1, 2])
z = ti.Vector([1, 2, 3])
---
z = ti.Vector([1, 2])
z = 1
"""


def _texts():
    for line in _STATEMENTS.strip().splitlines():
        yield from (text.strip() for text in line.split(" | "))
    yield from _BLOCKS.strip().split("---\n")


def _trees(texts):
    """The texts that parse inside a function; others would only test Python's parser."""
    for text in texts:
        try:
            body = "\n".join("    " + line for line in text.splitlines())
            tree = ast.parse(f"def f():\n{body}\n")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(tree, "", "exec")
        except SyntaxError:
            continue
        yield tree.body[0].body


EXPRESSIONS = [
    body[0].value
    for body in _trees(
        text.strip() for line in _EXPRESSIONS.strip().splitlines() for text in line.split(" | ")
    )
]
STATEMENTS = list(_trees(_texts()))


def mutant(text, seed):
    """The program with one or two random changes, which usually make it wrong."""
    choice = random.Random(seed)
    for _ in range(20):
        tree = ast.parse(text)
        for _ in range(choice.choice([1, 1, 2])):
            functions = [n for n in tree.body if isinstance(n, ast.FunctionDef)]
            choice.choice(_CHANGES)(choice, choice.choice(functions))
        try:
            new = ast.unparse(ast.fix_missing_locations(tree))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(new, "", "exec")
        except (SyntaxError, ValueError, TypeError, AttributeError, RecursionError):
            continue
        if new != ast.unparse(ast.parse(text)):
            return new
    return None


def _slots(function):
    """(parent, field, index or None) of every expression in the body."""
    for statement in function.body:
        for node in ast.walk(statement):
            for name, value in ast.iter_fields(node):
                if isinstance(value, ast.expr) and name != "annotation":
                    yield node, name, None
                elif isinstance(value, list):
                    for i, item in enumerate(value):
                        if isinstance(item, ast.expr):
                            yield node, name, i


def _get(slot):
    node, name, index = slot
    value = getattr(node, name)
    return value if index is None else value[index]


def _set(slot, new):
    node, name, index = slot
    if index is None:
        setattr(node, name, new)
    else:
        getattr(node, name)[index] = new


def _strange_expression(choice, function):
    slots = [s for s in _slots(function) if s[1] not in ("target", "targets")]
    if slots:
        _set(choice.choice(slots), copy.deepcopy(choice.choice(EXPRESSIONS)))


def _swapped_expressions(choice, function):
    slots = list(_slots(function))
    if len(slots) > 1:
        one, other = choice.sample(slots, 2)
        first, second = copy.deepcopy(_get(one)), copy.deepcopy(_get(other))
        _set(one, second)
        _set(other, first)


def _blocks(function):
    for node in ast.walk(function):
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block:
                yield block


def _strange_statement(choice, function):
    block = choice.choice(list(_blocks(function)))
    at = choice.randrange(len(block) + 1)
    block[at:at] = copy.deepcopy(choice.choice(STATEMENTS))


def _lost_statement(choice, function):
    block = choice.choice(list(_blocks(function)))
    del block[choice.randrange(len(block))]
    if not block:
        block.append(ast.Pass())


def _moved_statement(choice, function):
    source, target = choice.choice(list(_blocks(function))), choice.choice(list(_blocks(function)))
    statement = choice.choice(source)
    target.insert(choice.randrange(len(target) + 1), copy.deepcopy(statement))


def _changed_node(choice, function):
    """Changes a name, an attribute, an operator, an argument or an index."""
    nodes = [n for s in function.body for n in ast.walk(s)]
    choice.shuffle(nodes)
    for node in nodes:
        if isinstance(node, ast.Name):
            node.id = choice.choice(["nothing", node.id + "_", "ti", "x1", "kernel", "range"])
        elif isinstance(node, ast.Attribute):
            node.attr = choice.choice([node.attr + "s", node.attr[:-1] or "a", "shape", "xyzw"])
        elif isinstance(node, ast.BinOp):
            node.op = choice.choice([ast.MatMult, ast.Pow, ast.LShift, ast.Mod, ast.BitAnd])()
        elif isinstance(node, ast.Call):
            _change_arguments(choice, node)
        elif isinstance(node, ast.Subscript):
            inner = copy.deepcopy(node.slice)
            node.slice = choice.choice(
                [
                    ast.Tuple([inner, ast.Constant(0)], ast.Load()),
                    ast.Tuple([], ast.Load()),
                    ast.Slice(inner, None, None),
                    ast.UnaryOp(ast.USub(), inner),
                    ast.Constant("a"),
                    ast.Constant(None),
                ]
            )
        else:
            continue
        return


def _change_arguments(choice, node):
    kind = choice.randrange(5)
    if kind == 0 and node.args:
        del node.args[choice.randrange(len(node.args))]
    elif kind == 1:
        node.args.append(ast.Constant(3))
    elif kind == 2:
        node.keywords.append(ast.keyword("nothing", ast.Constant(3)))
    elif kind == 3 and node.args:
        node.args[-1] = ast.Starred(node.args[-1], ast.Load())
    else:
        node.keywords.append(ast.keyword(None, ast.Name("nothing", ast.Load())))


_CHANGES = [
    _strange_expression,
    _strange_expression,
    _strange_statement,
    _strange_statement,
    _swapped_expressions,
    _lost_statement,
    _moved_statement,
    _changed_node,
    _changed_node,
]
