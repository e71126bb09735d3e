"""Errors of kernels in debug mode."""

ROWS = {
    "check_failed": (str, "A check failed, values {values}"),
    "addition_overflows": (str, "Addition overflow: {left} + {right}"),
    "division_by_zero": (str, "Division by zero: {left} by {right}"),
    "multiplication_overflows": (str, "Multiplication overflow: {left} * {right}"),
    "negative_exponent": (
        str,
        "Negative exponent in pow(int, int) is not allowed: {left} ** {right}",
    ),
    # what: " on axis 0 of field 'x'"; offset: ", offset (-3)" if the first index is not 0.
    "out_of_bound_access": (
        str,
        "Out of bound access{what}: index ({index}) of shape ({shape}){offset}",
    ),
    "append_to_full_list": (
        str,
        "Append to a full list{what}: all {cells} cells at index ({index}) are in use",
    ),
    "tape_is_full": (
        str,
        "The gradient's tape has no room for {count} more iterations of this loop, of {size} bytes "
        "each. `ti.init(ad_tape_GB=…)` sets the most gigabytes of a thread's tape",
    ),
    "loop_visits_inactive_cells": (
        str,
        "The loop visits cells{what} that an iteration of it has made inactive",
    ),
    "out_of_bound_access_to_matrix": (
        str,
        "Out of bound access to a {shape} matrix{what} with index {index}",
    ),
    "shift_out_of_range": (str, "Shift by {right}, which is out of range for {left}'s type"),
    "subtraction_overflows": (str, "Subtraction overflow: {left} - {right}"),
}
