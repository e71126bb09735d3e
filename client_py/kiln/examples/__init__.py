"""What programs import from `taichi.examples`."""
