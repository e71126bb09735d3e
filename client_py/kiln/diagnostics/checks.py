"""What kernels in debug mode stop for."""

ROWS = {
    "check_failed": (str, "A check failed, values {values}"),
    "integer_division_or_overflow": (
        str,
        "Integer division by zero or overflow, operands {operands}",
    ),
    "out_of_bound_access": (str, "Out of bound access: index ({index}) of shape ({shape})"),
}
