"""Values in Python and in kernels: matrices, structs, packs."""
