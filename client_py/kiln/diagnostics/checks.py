"""What kernels in debug mode stop for."""

ROWS = {
    "check_failed": (str, "A check failed, values {values}"),
    "addition_overflows": (str, "Addition overflow: {left} + {right}"),
    "division_by_zero": (str, "Division by zero: {left} by {right}"),
    "multiplication_overflows": (str, "Multiplication overflow: {left} * {right}"),
    "negative_exponent": (
        str,
        "Negative exponent in pow(int, int) is not allowed: {left} ** {right}",
    ),
    "out_of_bound_access": (str, "Out of bound access: index ({index}) of shape ({shape})"),
    "append_to_full_list": (
        str,
        "Append to a full list of a dynamic SNode: all {cells} cells at index ({index}) are in use",
    ),
    "loop_visits_inactive_cells": (
        str,
        "The loop visits cells that an iteration of it has made inactive",
    ),
    "out_of_bound_access_to_matrix": (
        str,
        "Out of bound access to a {shape} matrix with index {index}",
    ),
    "shift_out_of_range": (str, "Shift by {right}, which is no number of bits of {left}'s type"),
    "subtraction_overflows": (str, "Subtraction overflow: {left} - {right}"),
}
