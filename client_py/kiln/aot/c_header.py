"""Headers for C: a function for each kernel of a module."""

import os

from .. import _native
from .. import types as ti_types
from .header import Names, signature_words

# Words of C and C++, since programs of both include the header, and names that its functions have.
_TAKEN = set(
    "alignas alignof and asm args array auto bool break case catch char class const constexpr "
    "continue default delete do double else enum explicit export extern false float for friend "
    "goto if inline int long module mutable namespace new not nullptr operator options or path "
    "private protected public register restrict result return self short signatures signed "
    "sizeof slots static status struct switch template this throw true try typedef typename "
    "union unsigned using virtual void volatile while world xor".split()
)


# The text of a header. What a module decides has a name in braces.
_HEADER = """/* Made by `kiln export` for {file}. */
#ifndef {guard}
#define {guard}

#include <kiln/kiln.h>
#include <stdbool.h>

/* The module and its kernels. {prefix}_open fills it in, {prefix}_close frees the module. */
typedef struct {prefix}_module {{
  kiln_module* module;
{members}
}} {prefix}_module;

/* Opens a file. One with other signatures than this header is an error. Functions fail as those of
 * kiln.h do: kiln_error() says why. */
static inline kiln_status {prefix}_open(kiln_context* context, const char* path,
    {prefix}_module* self) {{
  static const uint64_t signatures[4] = {{{signatures}}};
  kiln_open_options options = {{sizeof options, signatures}};
  kiln_module* opened = NULL;
  const kiln_status status = kiln_module_open(context, path, &options, &opened);
  if (status != KILN_OK) return status;
  self->module = opened;
{opened}
  return KILN_OK;
}}

static inline kiln_status {prefix}_close({prefix}_module* self) {{
  return kiln_module_free(self->module);
}}

/* Kernels. Arrays are memory in C order with their shape; a result's numbers go where the last
 * pointers say. */
{functions}
#endif /* {guard} */
"""


def write_c_header(module, path, prefix):
    """Writes the header of a module for C.

    module: its file. path: of the header. prefix: of the header's names.
    """
    signatures, kernels, fields = _native.module_types(module)
    prefix = Names(_TAKEN).of(prefix)
    members, functions = Names(_TAKEN), Names({"open", "close", "module"})
    kernels = [(members.of(name), functions.of(name), name, *of) for name, *of in kernels]
    opened = [
        f'  self->{member} = kiln_module_kernel(self->module, "{name}");'
        for member, _, name, *_ in kernels
    ]
    bodies = [_function(prefix, member, name, *of) for member, name, _, *of in kernels]
    bodies += [_view(prefix, functions.of(name), name) for name, _, _ in fields]
    with open(path, "w", encoding="utf-8") as file:
        file.write(
            _HEADER.format(
                file=os.path.basename(module),
                guard=f"KILN_{prefix.upper()}_MODULE_H_",
                prefix=prefix,
                signatures=signature_words(signatures),
                members="\n".join(f"  const kiln_kernel* {member};" for member, *_ in kernels),
                opened="\n".join(opened),
                functions="\n".join(bodies),
            )
        )


def _number(scalar):
    """The type of a number in arrays; a half is its bits."""
    name = ti_types.BY_SCALAR[scalar].name
    kinds = {"u1": "bool", "f16": "uint16_t", "f32": "float", "f64": "double"}
    return kinds.get(name) or f"{'u' if name[0] == 'u' else ''}int{name[1:]}_t"


def _dtype(scalar):
    return f"KILN_{ti_types.BY_SCALAR[scalar].name.upper()}"


def _value(scalar):
    """The type of one number that is passed; a half is a float."""
    return "float" if ti_types.BY_SCALAR[scalar].name == "f16" else _number(scalar)


def _constructor(scalar):
    kind = ti_types.BY_SCALAR[scalar].name[0]
    return {"f": "kiln_float", "u": "kiln_uint", "i": "kiln_int"}[kind]


def _count(shape):
    count = 1
    for extent in shape:
        count *= extent
    return count


def _param(name, is_array, of, rank, writes):
    """What the function takes, the statements before the launch, and the argument of the launch."""
    scalar, scalars, shape = of
    if is_array:
        takes = [f"{'' if writes else 'const '}{_number(scalar)}* {name}"]
        extents = [f"{name}_shape[{axis}]" for axis in range(rank)] + [str(n) for n in shape]
        if rank:
            takes.append(f"const int64_t {name}_shape[{rank}]")
        before, at = [], "NULL"
        if extents:
            at = f"{name}_extents"
            before = [f"  const int64_t {at}[] = {{{', '.join(extents)}}};"]
        made = f"kiln_array_of((void*){name}, {_dtype(scalar)}, {len(extents)}, {at})"
        before.append(f"  const kiln_array {name}_array = {made};")
        return takes, before, f"kiln_array_arg(&{name}_array)"
    if scalars:
        return [f"const kiln_arg {name}[{len(scalars)}]"], [], f"kiln_args({name}, {len(scalars)})"
    if shape:
        count = _count(shape)
        given = f"kiln_numbers({_dtype(scalar)}, {name}, {count})"
        return [f"const {_number(scalar)} {name}[{count}]"], [], given
    return [f"{_value(scalar)} {name}"], [], f"{_constructor(scalar)}({name})"


def _results(results):
    """What the function takes for results, and the statements after the launch."""
    takes, after, slot = [], [], 0
    for number, (scalar, scalars, shape) in enumerate(results):
        name = "result" if len(results) == 1 else f"result{number}"
        count = len(scalars) or _count(shape)
        of = "double" if scalars else _value(scalar)
        one = not scalars and not shape
        takes.append(f"{of}* {name}" if one else f"{of} {name}[{count}]")
        for i in range(count):
            kind = scalars[i] if scalars else scalar
            read = "float" if ti_types.BY_SCALAR[kind].name[0] == "f" else "int"
            value = f"kiln_slot_{read}({_dtype(kind)}, slots[{slot}])"
            converted = f"{value} != 0" if of == "bool" else f"({of}){value}"
            after.append(f"  {'*' + name if one else f'{name}[{i}]'} = {converted};")
            slot += 1
    return takes, after, slot


def _function(prefix, member, name, needs_world, params, results):
    names = Names(_TAKEN | {f"result{number}" for number in range(len(results))})
    takes, before, args = [f"const {prefix}_module* self"], [], []
    if needs_world:
        takes.append("kiln_world* world")
    for given, *of in params:
        more, statements, arg = _param(names.of(given), *of)
        takes += more
        before += statements
        args.append(arg)
    more, after, slots = _results(results)
    takes += more
    lines = [f"static inline kiln_status {prefix}_{name}({', '.join(takes)}) {{", *before]
    if args:
        lines.append(f"  const kiln_arg args[] = {{{', '.join(args)}}};")
    if slots:
        lines.append(f"  uint64_t slots[{slots}];")
    launch = (
        f"kiln_launch(self->{member}, {'world' if needs_world else 'NULL'}, "
        f"{'args' if args else 'NULL'}, {len(args)}, {'slots' if slots else 'NULL'}, NULL)"
    )
    if after:
        lines += [f"  const kiln_status status = {launch};"]
        lines += ["  if (status != KILN_OK) return status;", *after, "  return KILN_OK;"]
    else:
        lines.append(f"  return {launch};")
    return "\n".join([*lines, "}", ""])


def _view(prefix, name, field):
    return (
        f"/* Field {field}. */\n"
        f"static inline kiln_status {prefix}_{name}(kiln_world* world, kiln_view* view) {{\n"
        f'  return kiln_field_view(world, "{field}", view);\n}}\n'
    )
