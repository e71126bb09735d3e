"""A plugin of mypy, which makes it understand the types and values that programs make.

mypy ignores what `@ti.dataclass` makes of a class, rejects `vec3 = ti.types.vector(3, ti.f32)` as
an annotation, and lets no vector replace one of another class. With this plugin, such classes have
all members, such types are Any, and so are new vectors. In mypy's configuration:

    plugins = /path/of/kiln/checkers/mypy_plugin.py

mypy imports this file by its path, without the package `kiln`.
"""

from mypy.nodes import GDEF, LDEF, MDEF, SymbolTableNode, Var
from mypy.plugin import Plugin
from mypy.types import AnyType, TypeOfAny

_MAKERS = frozenset(
    f"kiln.types.{name}"
    for name in "argpack matrix ndarray rw_texture struct template texture vector".split()
)
# Classes whose calls make Any.
_VALUES = frozenset(
    [
        *("kiln.ArgPack", "kiln.Matrix", "kiln.Struct", "kiln.Vector"),
        *(f"kiln.math.{kind}{n}" for kind in ("vec", "ivec", "uvec", "mat") for n in (2, 3, 4)),
    ]
)


class _Types(Plugin):
    def get_function_hook(self, fullname):
        return _makes_any if fullname in _VALUES else None

    def get_class_decorator_hook(self, fullname):
        return _has_all_members if fullname == "kiln.dataclass" else None

    def get_dynamic_class_hook(self, fullname):
        return _is_any if fullname in _MAKERS else None


def _has_all_members(context):
    context.cls.info.fallback_to_any = True


def _makes_any(_context):
    return AnyType(TypeOfAny.explicit)


def _is_any(context):
    made = Var(context.name, AnyType(TypeOfAny.explicit))
    kind = LDEF if context.api.is_func_scope() else MDEF if context.api.type else GDEF
    made._fullname = context.api.qualified_name(context.name)
    context.api.add_symbol_table_node(context.name, SymbolTableNode(kind, made))


def plugin(version):
    """What mypy calls to make the plugin."""
    return _Types
