"""Names of the reference that Kiln does not implement. They exist, so that imports succeed and
`dir()` shows them, but raise an error when they are used."""

from ..diagnostics import say


def absent_function(name):
    """A function that raises when it is called, also as a decorator."""

    def function(*_args, **_options):
        raise say.name_not_supported(name=name)

    function.__name__ = function.__qualname__ = name.rpartition(".")[2]
    function.__doc__ = f"Not supported yet: `ti.{name}`."
    return function


make_expr_group = absent_function("lang.expr.make_expr_group")

__all__ = []
