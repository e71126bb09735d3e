"""Generates, evaluates, runs and reduces random kernels."""
