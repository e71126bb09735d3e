"""The modules that programs import from `taichi.examples`."""
