"""Random kernels: made, evaluated directly, run, reduced."""
