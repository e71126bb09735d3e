"""`ti.graph`: launches recorded as a graph. Not supported: the names exist but raise when used."""

from .absent import absent_class, absent_function


class ArgKind:
    """The kind of a graph's argument. Kiln has no graphs yet.

    Example::

        print(ti.graph.ArgKind.SCALAR)  # prints: ArgKind.SCALAR
    """

    __slots__ = ("name", "value")

    def __init__(self, name, value):
        self.name = name
        self.value = value

    def __repr__(self):
        return f"ArgKind.{self.name}"


for _value, _name in enumerate(("SCALAR", "NDARRAY", "MATRIX", "TEXTURE", "RWTEXTURE")):
    setattr(ArgKind, _name, ArgKind(_name, _value))


Arg = absent_function("graph.Arg")
Graph = absent_class("graph.Graph", "run")
GraphBuilder = absent_class("graph.GraphBuilder", "append compile create_sequential dispatch")

__all__ = ["Arg", "ArgKind", "Graph", "GraphBuilder"]


def __dir__():
    return list(__all__)
