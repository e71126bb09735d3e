/* The structs of version 1: sizes and places of their members, and constants. Programs that were
 * compiled with this header rely on them. A new member goes to the end of a struct that begins with
 * `size`, which then changes SIZE; nothing else may change. */
#include <kiln/kiln.h>

#ifdef __cplusplus
#define KEEPS static_assert
#else
#define KEEPS _Static_assert
#endif
#define SIZE(type, bytes) KEEPS(sizeof(type) == (bytes), #type)
#define AT(type, member, bytes) KEEPS(offsetof(type, member) == (bytes), #type "." #member)
#define IS(name, value) KEEPS((name) == (value), #name)

SIZE(kiln_executor, 32);
AT(kiln_executor, size, 0);
AT(kiln_executor, self, 8);
AT(kiln_executor, concurrency, 16);
AT(kiln_executor, parallel_for, 24);

SIZE(kiln_context_options, 88);
AT(kiln_context_options, size, 0);
AT(kiln_context_options, max_threads, 4);
AT(kiln_context_options, executor, 8);
AT(kiln_context_options, print, 16);
AT(kiln_context_options, print_self, 24);
AT(kiln_context_options, log, 32);
AT(kiln_context_options, log_self, 40);
AT(kiln_context_options, allocate, 48);
AT(kiln_context_options, release, 56);
AT(kiln_context_options, memory_self, 64);
AT(kiln_context_options, device, 72);
AT(kiln_context_options, cuda_device, 76);
AT(kiln_context_options, cuda_driver, 80);

SIZE(kiln_open_options, 16);
AT(kiln_open_options, size, 0);
AT(kiln_open_options, signatures, 8);

SIZE(kiln_array, 48);
AT(kiln_array, data, 0);
AT(kiln_array, device_type, 8);
AT(kiln_array, device_id, 12);
AT(kiln_array, ndim, 16);
AT(kiln_array, code, 20);
AT(kiln_array, bits, 21);
AT(kiln_array, lanes, 22);
AT(kiln_array, shape, 24);
AT(kiln_array, strides, 32);
AT(kiln_array, byte_offset, 40);

SIZE(kiln_arg, 24);
AT(kiln_arg, kind, 0);
AT(kiln_arg, dtype, 4);
AT(kiln_arg, count, 8);
AT(kiln_arg, value, 16);

SIZE(kiln_param, 64);
AT(kiln_param, size, 0);
AT(kiln_param, kind, 4);
AT(kiln_param, name, 8);
AT(kiln_param, dtype, 16);
AT(kiln_param, count, 20);
AT(kiln_param, rank, 24);
AT(kiln_param, element_ndim, 28);
AT(kiln_param, element_shape, 32);
AT(kiln_param, first_slot, 40);
AT(kiln_param, writes, 44);
AT(kiln_param, dtypes, 48);
AT(kiln_param, texels, 56);

SIZE(kiln_signature, 40);
AT(kiln_signature, size, 0);
AT(kiln_signature, params, 4);
AT(kiln_signature, slots, 8);
AT(kiln_signature, results, 12);
AT(kiln_signature, result_slots, 16);
AT(kiln_signature, needs_world, 20);
AT(kiln_signature, name, 24);
AT(kiln_signature, text, 32);

SIZE(kiln_world_options, 24);
AT(kiln_world_options, size, 0);
AT(kiln_world_options, reserved, 4);
AT(kiln_world_options, seed, 8);
AT(kiln_world_options, max_bytes, 16);

SIZE(kiln_field, 64);
AT(kiln_field, size, 0);
AT(kiln_field, dtype, 4);
AT(kiln_field, ndim, 8);
AT(kiln_field, element_ndim, 12);
AT(kiln_field, shape, 16);
AT(kiln_field, element_shape, 24);
AT(kiln_field, first, 32);
AT(kiln_field, bytes, 40);
AT(kiln_field, is_sparse, 48);
AT(kiln_field, is_quantised, 52);
AT(kiln_field, name, 56);

SIZE(kiln_view, 304);
AT(kiln_view, array, 0);
AT(kiln_view, shape, 48);
AT(kiln_view, strides, 176);

SIZE(kiln_launch_options, 48);
AT(kiln_launch_options, size, 0);
AT(kiln_launch_options, max_threads, 4);
AT(kiln_launch_options, print, 8);
AT(kiln_launch_options, print_self, 16);
AT(kiln_launch_options, stop, 24);
AT(kiln_launch_options, waits, 32);
AT(kiln_launch_options, waits_self, 40);

SIZE(kiln_named_arg, 32);
AT(kiln_named_arg, name, 0);
AT(kiln_named_arg, arg, 8);

IS(KILN_OK, 0);
IS(KILN_INVALID_ARGUMENT, 3);
IS(KILN_NOT_FOUND, 5);
IS(KILN_RESOURCE_EXHAUSTED, 8);
IS(KILN_FAILED_PRECONDITION, 9);
IS(KILN_ABORTED, 10);
IS(KILN_OUT_OF_RANGE, 11);
IS(KILN_UNIMPLEMENTED, 12);
IS(KILN_INTERNAL, 13);
IS(KILN_UNAVAILABLE, 14);
IS(KILN_DATA_LOSS, 15);
IS(KILN_NO_DTYPE, 0);
IS(KILN_U1, 1);
IS(KILN_I8, 2);
IS(KILN_I16, 3);
IS(KILN_I32, 4);
IS(KILN_I64, 5);
IS(KILN_U8, 6);
IS(KILN_U16, 7);
IS(KILN_U32, 8);
IS(KILN_U64, 9);
IS(KILN_F16, 10);
IS(KILN_F32, 11);
IS(KILN_F64, 12);
IS(KILN_ARG_INT, 1);
IS(KILN_ARG_UINT, 2);
IS(KILN_ARG_FLOAT, 3);
IS(KILN_ARG_NUMBERS, 4);
IS(KILN_ARG_ARRAY, 5);
IS(KILN_ARG_ARGS, 6);
IS(KILN_PARAM_VALUE, 1);
IS(KILN_PARAM_ARRAY, 2);
IS(KILN_MAX_NDIM, 16);
