"""What cases (language/harness.py) may show with arch=ti.cuda: what the CPU shows, but for the
tables below."""

# Cases that are about the CPU, or that CUDA answers otherwise for a good reason.
DIFFERS = {
    "forward_mode.forward_mode": "sin of libdevice differs in the last place",
    "initialisation.a_device_that_is_not_there": "programs for other GPUs take CUDA",
    "interop.cuda_streams_on_the_cpu": "the device has streams",
    "interop.fields_and_ndarrays_are_given_without_a_copy": "NumPy takes no memory of devices",
    "interop.what_was_given_outlives_its_field": "NumPy takes no memory of devices",
    "interop.memory_of_the_cpu_is_not_on_a_device": "it is on the device",
    "misuse.misspelt_devices_and_levels": "TI_ARCH overrides what the case names",
    "misuse.warnings_of_the_runtime": "TI_ARCH overrides what the case names",
    "promotion.values_on_signed_integers": "atan2 of libdevice differs in the last place",
    "simt.fences_and_shared_arrays": "a shared array belongs to a block, so it is in a loop",
    "simt.shared_arrays_of_any_shape": "a shared array belongs to a block, so it is in a loop",
    "simt.operations_without_a_gpu": "the device has them",
    "snodes/loops.stencils": "the sign of zero, under fast_math",
    "snodes/refusals.memory_that_ends": "the text names what limits a tree on CUDA",
    "sparse_matrices.triplets_add_up": "triplets are sorted: threads insert in any order",
}
# Cases whose outcome depends on the order of a parallel loop's iterations.
RACES = {
    "ndarrays.one_array_twice",
    "real_functions.references_to_variables_around_a_parallel_loop",
    "scoping.inner_names_shadow_nothing",
    "snodes/debug_mode.deactivated_under_a_loop",
    "snodes/quantised_below_sparse.operations_on_nodes",
}


def fault(case, expected, lines, agree):
    """Why the outcome of a case, "section.name", is none that CUDA may have; None if it is one.

    agree: function of two outcomes
    """
    if case in RACES:
        return None
    # Each init says that the variable overrides its argument.
    lines = [line for line in lines if "TI_ARCH" not in line]
    if case in DIFFERS:
        return "differs no more: take it from the table" if expected == lines else None
    if agree(expected, lines):
        return None
    return "\n".join(["expected:", *expected, "got:", *lines])
