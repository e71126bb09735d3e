"""Builds a kernel. Only this module imports both the walk and all of its handlers."""

import sys

from .. import active
from ..diagnostics import say
from ..errors import TaichiCompilationError, TaichiRuntimeTypeError
from . import assignment as _assignment  # noqa: F401  (registers its handlers, as do those below)
from . import control as _control  # noqa: F401
from . import expression as _expression  # noqa: F401
from . import loops as _loops  # noqa: F401
from . import report
from .call import call_function
from .transformer import RETURNED, Transformer


def build_kernel(ctx, source, arguments, returns):
    """Transforms the kernel `source` into ctx.builder.

    arguments: the value of each parameter, in order: Expr (runtime scalars and
      tensors), ArrayArgument (ndarrays), or any Python object (templates, self).
    returns: types of the results: DType, MatrixType or StructType objects.
    """
    if returns:
        ctx.builder.set_return_types([ctx.type_id(r) for r in returns])
    ctx.call_function = call_function
    before = active.enter(ctx)
    limit = sys.getrecursionlimit()
    if limit < 20000:
        sys.setrecursionlimit(20000)
    try:
        t = Transformer(ctx, source, True)
        t.returns = tuple(returns)
        t.immutable = frozenset(p.name for p in source.parameters)
        for parameter, argument in zip(source.parameters, arguments):
            t.create_parameter(parameter.name, argument)
        t.body()
        if returns and t.status != RETURNED:
            raise report.located(source, source.tree, say.kernel_returns_nothing())
    except (TaichiCompilationError, TaichiRuntimeTypeError) as error:
        cause = error.__cause__
        raise type(error)("\n" + report.folded(str(error))) from cause
    finally:
        sys.setrecursionlimit(limit)
        active.enter(before)
