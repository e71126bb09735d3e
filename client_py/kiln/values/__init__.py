"""Values of Python and of kernels: matrices, structs, packs."""
