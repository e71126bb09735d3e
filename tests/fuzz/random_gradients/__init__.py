"""Random kernels and their derivatives: generator, numbers that carry derivatives, runner."""
