"""Headers for C++: a class with a function for each kernel of a module."""

import os

from .. import _native
from .. import types as ti_types

_NUMBERS = {
    "u1": "bool",
    "f16": "kiln::half",
    "f32": "float",
    "f64": "double",
    **{f"i{bits}": f"std::int{bits}_t" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"std::uint{bits}_t" for bits in (8, 16, 32, 64)},
}
# Words that cannot name a function or parameter, and names that the class has.
_TAKEN = set(
    "alignas alignof and asm auto bool break case catch char class const constexpr continue "
    "decltype default delete do double else enum explicit export extern false float for "
    "friend goto if inline int kiln long Module module module_ mutable namespace new noexcept "
    "not nullptr open operator or private protected public register return short signed "
    "sizeof static std struct switch template this throw true try typedef typename union "
    "unsigned using virtual void volatile while world xor".split()
)


# The text of a header. What a module decides has a name in braces.
_HEADER = """// Made by `kiln export` for {file}.
#ifndef {guard}
#define {guard}

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

#include <kiln/kiln.hpp>

namespace {namespace} {{

// The module's kernels and fields. Functions throw kiln::Error.
class Module {{
 public:
  // Opens a file. One with other signatures than this header is an error.
  static Module open(const kiln::Context& context, const std::string& path) {{
    static const std::uint64_t signatures[4] = {{{signatures}}};
    return Module(kiln::Module::open(context, path, signatures));
  }}

  const kiln::Module& module() const {{ return module_; }}
  kiln::World world(const kiln::WorldOptions& options = kiln::WorldOptions()) const {{
    return kiln::World::create(module_, options);
  }}

{functions}

 private:
  explicit Module(kiln::Module module) : module_(std::move(module)) {{}}

  kiln::Module module_;
{members}
}};

}}  // namespace {namespace}

#endif  // {guard}
"""


def write_header(module, path, namespace):
    """Writes the header of a module.

    module: its file. path: of the header. namespace: of the class `Module` in it.
    """
    signatures, kernels, fields = _native.module_types(module)
    namespace = Names().of(namespace)
    names = Names()
    functions, members = [], []
    for kernel, *of in kernels:
        name = names.of(kernel)
        functions.append(_function(name, *of))
        members.append(f'  kiln::Kernel {name}_ = module_.kernel("{kernel}");')
    functions += [_field(names.of(field), field, *of) for field, *of in fields]
    with open(path, "w", encoding="utf-8") as file:
        file.write(
            _HEADER.format(
                file=os.path.basename(module),
                guard=f"KILN_{namespace.upper()}_MODULE_HPP_",
                namespace=namespace,
                signatures=signature_words(signatures),
                functions="\n".join(functions),
                members="\n".join(members),
            )
        )


def signature_words(signatures):
    """The words of a module's signatures, as C writes them."""
    return ", ".join(f"{part:#x}u" for part in signatures)


def _field(name, field, of, axes):
    return (
        f"  static kiln::field<{_type(of)}, {axes}> {name}(kiln::World& world) {{\n"
        f'    return world.field<{_type(of)}, {axes}>("{field}");\n  }}'
    )


class Names:
    """Names of C or C++, each once. taken: those that there are, and words of the language."""

    def __init__(self, taken=_TAKEN):
        self._taken = set(taken)

    def of(self, name):
        made = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)
        while made in self._taken or f"{made}_" in self._taken:
            made += "_of"
        self._taken.add(made)
        return made


def _type(of):
    scalar, scalars, shape = of
    if scalars:
        return f"std::array<double, {len(scalars)}>"
    text = _NUMBERS[ti_types.BY_SCALAR[scalar].name]
    for extent in reversed(shape):
        text = f"std::array<{text}, {extent}>"
    return text


def _function(name, needs_world, params, results):
    names = Names()
    takes, passes = [], []
    if needs_world:
        takes.append("kiln::World& world")
        passes.append("world")
    for given, is_array, of, rank, writes in params:
        param = names.of(given)
        if is_array:
            takes.append(f"kiln::array<{'' if writes else 'const '}{_type(of)}, {rank}> {param}")
        elif of[1]:  # kiln::members(...): its numbers have types of their own
            takes.append(f"const kiln::members_of<{len(of[1])}>& {param}")
        else:
            takes.append(f"{_type(of)} {param}")
        passes.append(param)
    made = [_type(of) for of in results]
    returns = made[0] if len(made) == 1 else f"std::tuple<{', '.join(made)}>" if made else "void"
    call = f"{name}_.call<{returns}>" if made else f"{name}_"
    body = f"{'return ' if made else ''}{call}({', '.join(passes)});"
    return f"  {returns} {name}({', '.join(takes)}) const {{ {body} }}"
