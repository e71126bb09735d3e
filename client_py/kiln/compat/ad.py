"""`ti.ad`: automatic differentiation. Not supported yet: the names exist but raise when used."""

from .absent import absent_class, absent_function

FwdMode = absent_class("ad.FwdMode", "clear_seed insert recover_kernels")
Tape = absent_class("ad.Tape", "grad insert")
clear_all_gradients = absent_function("ad.clear_all_gradients")
grad_for = absent_function("ad.grad_for")
grad_replaced = absent_function("ad.grad_replaced")
no_grad = absent_function("ad.no_grad")

__all__ = ["FwdMode", "Tape", "clear_all_gradients", "grad_for", "grad_replaced", "no_grad"]


def __dir__():
    return list(__all__)
