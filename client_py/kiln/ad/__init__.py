"""`ti.ad`: derivatives of what kernels compute.

Reverse mode (`Tape`) computes the gradient of one number by everything that it depends on. Forward
mode (`FwdMode`) computes the derivatives of everything by one direction.
"""

from .checkpoint import checkpoint
from .companions import clear_all_gradients
from .forward import FwdMode
from .functions import check_grad, hvp, jacobian, vjp
from .replaced import grad_for, grad_replaced, no_grad
from .tape import Tape
from .torch_function import torch_function

__all__ = [
    "FwdMode",
    "Tape",
    "check_grad",
    "checkpoint",
    "clear_all_gradients",
    "grad_for",
    "grad_replaced",
    "hvp",
    "jacobian",
    "no_grad",
    "torch_function",
    "vjp",
]


def __dir__():
    return list(__all__)
