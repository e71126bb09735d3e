/* libkiln-compile: kernels that a program writes itself, compiled by Kiln's service, or fetched
 * from its caches, and run. dsl.hpp is its C++ face; front ends of other languages call this.
 *
 *   kiln_trace* trace = kiln_trace_new();
 *   const kiln_value_type f32 = {KILN_F32, 0, 0};
 *   const kiln_input x = kiln_trace_array(trace, f32, 1);
 *   const kiln_node loop = kiln_trace_begin_over(trace, x);
 *   const kiln_node i = kiln_trace_loop_index(trace, loop, 0);
 *   const kiln_node xi = kiln_trace_global(trace, x, &i, 1);
 *   kiln_trace_store(trace, xi, kiln_trace_float(trace, 1, KILN_F32));
 *   kiln_trace_end(trace);
 *   kiln_program* program;
 *   if (kiln_program_new(trace, "ones", &program) != KILN_OK) puts(kiln_compile_error());
 *   kiln_trace_free(trace);
 *   kiln_program_set_array(program, x, data, shape, 1);
 *   if (kiln_program_run(program) != KILN_OK) ...
 *   kiln_program_free(program);
 *
 * Unlike libkiln, the library acts as `kiln` does: it reads the variables that docs/operations.md
 * lists, and starts the daemon kilnd, which outlives the program.
 *
 * Failures. Functions return KILN_OK or a code; kiln_compile_error() then has the reason. Functions
 * of traces return no status. The first mistake ends the trace, and later calls do nothing and
 * return node 0. kiln_program_new then fails with the mistake, its file and its line.
 *
 * Threads. One trace, and one program, for one thread at a time. fork: the child may go on using
 * both.
 *
 * Versions: as of libkiln (kiln.h).
 */
#ifndef KILN_COMPILE_H_
#define KILN_COMPILE_H_

#include <kiln/kiln.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Why the calling thread's last failed call of this library failed. Valid until that thread's next
 * failed call; "" before the first. Never NULL. */
KILN_EXPORT const char* kiln_compile_error(void);

/* ---- The service -------------------------------------------------------------------------------
 */

/* Start from zeros and set `size`. NULL texts: what the environment says. */
typedef struct kiln_compile_options {
  uint32_t size;
  uint32_t strict;      /* 1: without the daemon, compiling fails; no private compiler is started */
  const char* home;     /* of caches and sockets: KILN_HOME, else ~/.cache/kiln */
  const char* server;   /* KILN_SERVER: "" the daemon, "off" none, "HOST:PORT" a team's */
  const char* programs; /* the folder of kilnd; else KILN_BIN, else beside the library */
  /* 1: launches check asserts, indices and division by zero, and fail with the program's line. */
  uint32_t debug;
  /* Where fields and trees that are made from now on are, and for which kernels are traced: "cpu",
   * also for NULL, or "cuda", an NVIDIA GPU. CUDA_VISIBLE_DEVICES orders them. */
  const char* arch;
  /* The following are options of ti.init; docs/cpp.md lists them. */
  int32_t cuda_device;         /* the number of the CUDA device */
  int32_t cpu_max_num_threads; /* of a launch; 0: one per CPU */
  uint32_t exact_floats; /* 1: each operation of floats is as IEEE 754 says, and none faster */
  uint32_t check_out_of_bound; /* 1: launches check indices, and nothing else */
  uint32_t deterministic;      /* 1: CUDA devices, too, sum floats to the same bits each time */
  int64_t random_seed;
  double snode_memory_GB; /* of all sparse trees together, on a CUDA device of each; 0: no limit */
  double ad_tape_GB;      /* of what gradients of loops store, for each thread; 0: a default */
} kiln_compile_options;

/* Has kernels that are compiled, and trees that are made, from now on use these options, and
 * restarts all random numbers. Without a call, they use the defaults. KILN_INVALID_ARGUMENT for an
 * option that makes no sense, KILN_FAILED_PRECONDITION with the reason if the machine has no such
 * CUDA device; what was in use then stays. */
KILN_EXPORT kiln_status kiln_compile_use(const kiln_compile_options* options);

/* Returns when the device in use has done what it was given. Launches on a CUDA device return
 * before they have ended, unless they have results, print or may fail. Fails as they have failed
 * since the last call. */
KILN_EXPORT kiln_status kiln_compile_sync(void);

/* ---- Fields ------------------------------------------------------------------------------------
 */

/* A number, vector or matrix of `scalar`. */
typedef struct kiln_value_type {
  kiln_dtype scalar;
  uint32_t rows;    /* 0: a number */
  uint32_t columns; /* 0: a vector, or a number */
} kiln_value_type;

/* Memory in C order, zeroed, that kernels name; not an argument. */
typedef struct kiln_dense kiln_dense;

/* KILN_INVALID_ARGUMENT for impossible types and shapes, KILN_RESOURCE_EXHAUSTED if the system
 * refuses memory. */
KILN_EXPORT kiln_status kiln_dense_new(kiln_value_type element, const uint64_t* shape, size_t axes,
                                       kiln_dense** field);
/* The same with a gradient: a field of the same form, for the derivatives of a loss by the field's
 * elements. Both are to be freed. KILN_INVALID_ARGUMENT also for elements that are no floats. */
KILN_EXPORT kiln_status kiln_dense_new_with_gradient(kiln_value_type element, const uint64_t* shape,
                                                     size_t axes, kiln_dense** field,
                                                     kiln_dense** gradient);
/* The elements; NULL if they are in memory of a device, where the program cannot use them. */
KILN_EXPORT void* kiln_dense_data(const kiln_dense* field);
/* Copy `count` elements from number `first` on, on any device, to and from memory of the program.
 * KILN_OUT_OF_RANGE beyond the field; otherwise they fail if the device does. Other threads may run
 * programs meanwhile. */
KILN_EXPORT kiln_status kiln_dense_read(const kiln_dense* field, uint64_t first, uint64_t count,
                                        void* to);
KILN_EXPORT kiln_status kiln_dense_write(const kiln_dense* field, uint64_t first, uint64_t count,
                                         const void* from);
/* Sets all elements to the one at `element`. */
KILN_EXPORT kiln_status kiln_dense_fill(const kiln_dense* field, const void* element);
/* The address that kernels use, for the program's own CUDA code. Launches, reads and writes are in
 * CUDA's legacy default stream: they see what that code did in it, or in a stream that waits for
 * it. */
KILN_EXPORT kiln_status kiln_dense_device_data(const kiln_dense* field, void** address);
/* Programs that use the field keep its memory. NULL is allowed. */
KILN_EXPORT void kiln_dense_free(kiln_dense* field);

/* ---- Trees -------------------------------------------------------------------------------------
 *
 * Fields in trees of SNodes, whose cells have memory once they are written, or are in memory in
 * another order than C's: docs/language/sparse.md.
 *
 *   kiln_tree* tree = kiln_tree_new();
 *   const uint64_t four[] = {4, 4};
 *   const kiln_snode block = kiln_tree_add(tree, kiln_tree_root(tree), "pointer", "ij", four, 0);
 *   const kiln_snode cell = kiln_tree_add(tree, block, "dense", "ij", four, 0);
 *   const kiln_snode x = kiln_tree_field(tree, cell, f32);  // of 16 by 16
 */

typedef struct kiln_tree kiln_tree;
/* An SNode of a tree, or a field. */
typedef struct kiln_snode {
  uint32_t number;
} kiln_snode;

/* NULL without memory. */
KILN_EXPORT kiln_tree* kiln_tree_new(void);
/* Programs that use the tree keep its memory. NULL is allowed. */
KILN_EXPORT void kiln_tree_free(kiln_tree* tree);

KILN_EXPORT kiln_snode kiln_tree_root(const kiln_tree* tree);
/* A new SNode below `parent`. `kind`: "dense", "pointer", "bitmasked", or "dynamic", a list of one
 * axis. `axes`: a letter for each, "i" to "l" and on; `extents` has one number for each. `chunk`:
 * the cells of a list that get memory at once; 0: a default. The tree keeps its first mistake, and
 * returns the root: kiln_tree_finish has the mistake. */
KILN_EXPORT kiln_snode kiln_tree_add(kiln_tree* tree, kiln_snode parent, const char* kind,
                                     const char* axes, const uint64_t* extents, uint32_t chunk);
/* A field in the cells of `parent`. */
KILN_EXPORT kiln_snode kiln_tree_field(kiln_tree* tree, kiln_snode parent, kiln_value_type element);
/* The same with a gradient, a field of the same form in the same cells. KILN_INVALID_ARGUMENT, from
 * kiln_tree_finish, also for elements that are no floats. */
KILN_EXPORT kiln_snode kiln_tree_field_with_gradient(kiln_tree* tree, kiln_snode parent,
                                                     kiln_value_type element, kiln_snode* gradient);
/* Lays the tree out, and allocates its root. All that uses the tree does so first, too; then it can
 * no longer grow. KILN_INVALID_ARGUMENT names the SNode that is wrong, KILN_RESOURCE_EXHAUSTED the
 * memory that the system refuses. */
KILN_EXPORT kiln_status kiln_tree_finish(kiln_tree* tree);

/* The extents of a field. KILN_INVALID_ARGUMENT unless it has `axes` of them. */
KILN_EXPORT kiln_status kiln_tree_shape(kiln_tree* tree, kiln_snode field, uint64_t* shape,
                                        size_t axes);
/* One element, as memory of its type; one that is not active reads as zeros, and is activated by a
 * write. KILN_OUT_OF_RANGE for an index beyond its axis. */
KILN_EXPORT kiln_status kiln_tree_read(kiln_tree* tree, kiln_snode field, const int64_t* indices,
                                       void* element);
KILN_EXPORT kiln_status kiln_tree_write(kiln_tree* tree, kiln_snode field, const int64_t* indices,
                                        const void* element);
/* All elements, in C order; writing activates them. */
KILN_EXPORT kiln_status kiln_tree_read_all(kiln_tree* tree, kiln_snode field, void* elements);
KILN_EXPORT kiln_status kiln_tree_write_all(kiln_tree* tree, kiln_snode field,
                                            const void* elements);
/* The number of active cells of an SNode; and makes them, and all below them, inactive. Both are
 * KILN_INVALID_ARGUMENT for a tree without sparse SNodes. */
KILN_EXPORT kiln_status kiln_tree_count(kiln_tree* tree, kiln_snode snode, uint64_t* cells);
KILN_EXPORT kiln_status kiln_tree_deactivate(kiln_tree* tree, kiln_snode snode);

/* ---- Traces ------------------------------------------------------------------------------------
 */

/* A kernel while it is written. */
typedef struct kiln_trace kiln_trace;
/* A value or an address in the kernel; 0: none. */
typedef struct kiln_node {
  uint32_t number;
} kiln_node;
/* A parameter of the kernel. */
typedef struct kiln_input {
  uint32_t number;
} kiln_input;

/* NULL without memory. */
KILN_EXPORT kiln_trace* kiln_trace_new(void);
KILN_EXPORT void kiln_trace_free(kiln_trace* trace);

/* The line of the program to which what follows belongs. */
KILN_EXPORT void kiln_trace_place(kiln_trace* trace, const char* file, int line);

/* Parameters: a value; an array in C order, whose shape the launch gives; a field; a field or SNode
 * of a tree. A field or SNode becomes a parameter when it is first used. */
KILN_EXPORT kiln_input kiln_trace_value(kiln_trace* trace, kiln_value_type type);
KILN_EXPORT kiln_input kiln_trace_array(kiln_trace* trace, kiln_value_type element, int axes);
KILN_EXPORT kiln_input kiln_trace_field(kiln_trace* trace, const kiln_dense* field);
KILN_EXPORT kiln_input kiln_trace_snode(kiln_trace* trace, kiln_tree* tree, kiln_snode snode);

/* Values. Ops have the names of the language's: "add", "cmp_lt", "sqrt"; `result` is the type to
 * which the result is converted. */
KILN_EXPORT kiln_node kiln_trace_float(kiln_trace* trace, double value, kiln_dtype dtype);
KILN_EXPORT kiln_node kiln_trace_int(kiln_trace* trace, int64_t value, kiln_dtype dtype);
KILN_EXPORT kiln_node kiln_trace_param(kiln_trace* trace, kiln_input value);
KILN_EXPORT kiln_node kiln_trace_unary(kiln_trace* trace, const char* op, kiln_node x,
                                       kiln_value_type result);
KILN_EXPORT kiln_node kiln_trace_binary(kiln_trace* trace, const char* op, kiln_node a, kiln_node b,
                                        kiln_value_type result);
KILN_EXPORT kiln_node kiln_trace_select(kiln_trace* trace, kiln_node condition, kiln_node a,
                                        kiln_node b, kiln_value_type result);
KILN_EXPORT kiln_node kiln_trace_cast(kiln_trace* trace, kiln_node x, kiln_value_type to);
/* The same bits as numbers of another type, which is as wide. */
KILN_EXPORT kiln_node kiln_trace_bit_cast(kiln_trace* trace, kiln_node x, kiln_value_type to);
/* Elements by row. */
KILN_EXPORT kiln_node kiln_trace_tensor(kiln_trace* trace, const kiln_node* elements, size_t count,
                                        kiln_value_type type);
KILN_EXPORT kiln_node kiln_trace_extract(kiln_trace* trace, kiln_node tensor,
                                         const kiln_node* indices, size_t count);
KILN_EXPORT kiln_node kiln_trace_random(kiln_trace* trace, kiln_dtype dtype);
KILN_EXPORT kiln_node kiln_trace_shape(kiln_trace* trace, kiln_input storage, int axis);

/* Memory: a variable, an element of an array or field, an element of a vector there. */
KILN_EXPORT kiln_node kiln_trace_local(kiln_trace* trace, kiln_node init, kiln_value_type type);
KILN_EXPORT kiln_node kiln_trace_global(kiln_trace* trace, kiln_input storage,
                                        const kiln_node* indices, size_t count);
KILN_EXPORT kiln_node kiln_trace_element(kiln_trace* trace, kiln_node address,
                                         const kiln_node* indices, size_t count);
/* A vector or matrix whose numbers are at these addresses, by row. */
KILN_EXPORT kiln_node kiln_trace_join(kiln_trace* trace, const kiln_node* addresses, size_t count,
                                      kiln_value_type type);
KILN_EXPORT kiln_node kiln_trace_load(kiln_trace* trace, kiln_node address);
KILN_EXPORT void kiln_trace_store(kiln_trace* trace, kiln_node address, kiln_node value);
/* "atomic_add", …; returns what was there before. */
KILN_EXPORT kiln_node kiln_trace_atomic(kiln_trace* trace, const char* op, kiln_node address,
                                        kiln_node value);

/* What kernels do with cells of SNodes: "activate" and "deactivate", which have no value, and
 * "is_active". Lists have "length", and "append", which gives the number of the new cell, or -1 in
 * a full list. Indices count cells of the SNode. Those of lists name the list, except for
 * "activate". */
KILN_EXPORT kiln_node kiln_trace_cells(kiln_trace* trace, const char* op, kiln_input snode,
                                       const kiln_node* indices, size_t count);

/* Control. kiln_trace_end closes what a begin opened. Bounds are from and to of each axis;
 * outermost loops are parallel unless `serial`. A choice has a value: each of its branches yields
 * one. */
KILN_EXPORT kiln_node kiln_trace_begin_range(kiln_trace* trace, const kiln_node* bounds,
                                             size_t axes, int serial);
KILN_EXPORT kiln_node kiln_trace_begin_over(kiln_trace* trace, kiln_input storage);
KILN_EXPORT kiln_node kiln_trace_loop_index(kiln_trace* trace, kiln_node loop, int axis);
KILN_EXPORT void kiln_trace_begin_while(kiln_trace* trace);
KILN_EXPORT void kiln_trace_begin_if(kiln_trace* trace, kiln_node condition);
KILN_EXPORT kiln_node kiln_trace_begin_choose(kiln_trace* trace, kiln_node condition);
KILN_EXPORT void kiln_trace_yield(kiln_trace* trace, kiln_node value);
KILN_EXPORT void kiln_trace_else(kiln_trace* trace);
KILN_EXPORT void kiln_trace_end(kiln_trace* trace);
KILN_EXPORT void kiln_trace_break(kiln_trace* trace);
KILN_EXPORT void kiln_trace_continue(kiln_trace* trace);
/* Ends the kernel, or the open function. `types` of a kernel's results; those of a function are
 * known, and `types` may be NULL. */
KILN_EXPORT void kiln_trace_return(kiln_trace* trace, const kiln_node* values,
                                   const kiln_value_type* types, size_t count);

/* Functions, which kernels call and which may call themselves; their loops are serial. What follows
 * kiln_trace_begin_function is the function's, until kiln_trace_end_function; then the kernel, or
 * the function around it, goes on. A function may be called from within itself. Values of its
 * caller are no values of it: they are arguments. Arrays, fields and SNodes are the kernel's, and
 * are used in functions, too. kiln_trace_return ends the function; without it, results are zero. */
typedef struct kiln_function {
  uint32_t number; /* 0: none */
} kiln_function;
/* A parameter of a function. */
typedef struct kiln_function_param {
  kiln_value_type type;
  uint32_t by_reference; /* 1: the address of a number, through which the function may write */
} kiln_function_param;
/* Within the function, parameter number k is kiln_input {k}: of kiln_trace_param, or of
 * kiln_trace_reference. */
KILN_EXPORT kiln_function kiln_trace_begin_function(kiln_trace* trace,
                                                    const kiln_function_param* params, size_t count,
                                                    const kiln_value_type* results,
                                                    size_t result_count);
KILN_EXPORT kiln_node kiln_trace_reference(kiln_trace* trace, kiln_input param);
KILN_EXPORT void kiln_trace_end_function(kiln_trace* trace);
/* One argument for each parameter: a value, or an address of exactly the parameter's type. Returns
 * the result, or what kiln_trace_result takes if there are several. */
KILN_EXPORT kiln_node kiln_trace_call(kiln_trace* trace, kiln_function function,
                                      const kiln_node* arguments, size_t count);
KILN_EXPORT kiln_node kiln_trace_result(kiln_trace* trace, kiln_node call, uint32_t index);

/* A line to standard output, and a check of debug builds. `format` has a {} for each value. */
KILN_EXPORT void kiln_trace_print(kiln_trace* trace, const char* format, const kiln_node* values,
                                  size_t count);
KILN_EXPORT void kiln_trace_assert(kiln_trace* trace, kiln_node condition, const char* format,
                                   const kiln_node* values, size_t count);

/* ---- Programs ----------------------------------------------------------------------------------
 */

/* A compiled kernel, with the arguments of its next run. */
typedef struct kiln_program kiln_program;

/* Compiles or fetches what `trace` holds, which is of no use afterwards but to be freed.
 * KILN_INVALID_ARGUMENT says what is wrong with the kernel, each mistake with its file and line;
 * KILN_UNAVAILABLE, that no compiler can be reached. */
KILN_EXPORT kiln_status kiln_program_new(kiln_trace* trace, const char* name,
                                         kiln_program** program);
KILN_EXPORT void kiln_program_free(kiln_program* program);

/* Where the code was: "disk", "memory", "compiled", …. */
KILN_EXPORT const char* kiln_program_tier(const kiln_program* program);
/* The kernel's key in caches: 64 hexadecimal digits. */
KILN_EXPORT const char* kiln_program_key(const kiln_program* program);

/* Arguments of the next runs. `element` counts the numbers of a vector or matrix by row. Mistakes
 * are reported by kiln_program_run. Arrays are memory of the caller, in C order. Where kernels run
 * on a CUDA device it may be memory of that device; that of the host is copied there and back by
 * each run. */
KILN_EXPORT void kiln_program_set_float(kiln_program* program, kiln_input value, uint32_t element,
                                        double number);
KILN_EXPORT void kiln_program_set_int(kiln_program* program, kiln_input value, uint32_t element,
                                      int64_t number);
KILN_EXPORT void kiln_program_set_array(kiln_program* program, kiln_input array, void* data,
                                        const uint64_t* shape, size_t axes);
/* The same with a gradient: memory of the same form. KILN_INVALID_ARGUMENT for an array of other
 * numbers than floats, and if one of the two is in memory of a device and the other one is not. */
KILN_EXPORT kiln_status kiln_program_set_array_with_gradient(kiln_program* program,
                                                             kiln_input array, void* data,
                                                             void* gradient, const uint64_t* shape,
                                                             size_t axes);
/* The same with the memory of a field, which the program keeps, and its gradient.
 * KILN_INVALID_ARGUMENT if the field's elements or its device are not those of the kernel. */
KILN_EXPORT kiln_status kiln_program_set_field(kiln_program* program, kiln_input array,
                                               const kiln_dense* field);
/* KILN_FAILED_PRECONDITION if an argument is missing, KILN_INVALID_ARGUMENT if an array shares
 * memory with a field that the kernel uses and one of the two is written, KILN_ABORTED if an assert
 * failed. */
KILN_EXPORT kiln_status kiln_program_run(kiln_program* program);
/* Runs the kernel's gradient: adds to the gradients of the fields and arrays that the kernel reads,
 * and takes those of what it writes. The kernel is differentiated by the fields with gradients that
 * it names, and the arrays that are set with one; all else is constant. The first run with other
 * arrays of the kernel that have gradients compiles. Fails as kiln_program_run and kiln_program_new
 * do, with KILN_FAILED_PRECONDITION or what the compiler said if the kernel has no gradient, and
 * with KILN_INVALID_ARGUMENT if fields, arrays or gradients share memory. */
KILN_EXPORT kiln_status kiln_program_run_gradient(kiln_program* program);
/* Number `index` of the last run's results, as kiln_slot_float and kiln_slot_int read it; 0 beyond
 * the last. */
KILN_EXPORT uint64_t kiln_program_result(const kiln_program* program, size_t index);

/* ---- Tapes -------------------------------------------------------------------------------------
 *
 * A tape records the runs of a function, and runs their gradients in the opposite order:
 *
 *   kiln_tape* tape = kiln_tape_new(0);
 *   kiln_tape_run(tape, loss, step_and_measure, NULL);   // a function that runs programs
 *   ... the gradients of fields are the loss's derivatives
 *
 * It sees the runs of the function's own thread. One tape for one thread at a time. Arrays of the
 * program must stay where they are until the gradients have run, and must not change.
 */

typedef struct kiln_tape kiln_tape;

/* Gradients compute values of their kernels again. They refuse to run if one would read what a
 * later run may have overwritten, unless `ignores_overwritten` is 1: Kiln knows ranges of indices
 * only. NULL without memory. */
KILN_EXPORT kiln_tape* kiln_tape_new(int ignores_overwritten);
KILN_EXPORT void kiln_tape_free(kiln_tape* tape);

/* Sets `loss` to 0, records body(self), sets all gradients to 0 and that of `loss` to 1, and runs
 * the gradients. The gradient of a field that no run uses stays as it is. A body that returns
 * another code than KILN_OK ends it, with gradients as they were. KILN_INVALID_ARGUMENT if `loss`
 * has several elements or no gradient; KILN_FAILED_PRECONDITION for a run whose gradient may be
 * needed and that has none, within the body of another tape, and, with the lines of both, for what
 * is overwritten. */
KILN_EXPORT kiln_status kiln_tape_run(kiln_tape* tape, const kiln_dense* loss,
                                      kiln_status (*body)(void* self), void* self);

/* The steps of it, for programs that set gradients themselves. */
KILN_EXPORT kiln_status kiln_tape_record(kiln_tape* tape, kiln_status (*body)(void* self),
                                         void* self);
KILN_EXPORT kiln_status kiln_tape_clear_gradients(kiln_tape* tape);
KILN_EXPORT kiln_status kiln_tape_gradients(kiln_tape* tape);

/* ---- Captured launches -------------------------------------------------------------------------
 *
 * The runs of a function, to be repeated. On a CUDA device all of them are one call of the driver:
 *
 *   kiln_capture* step = kiln_capture_new();
 *   kiln_capture_record(step, collide_and_advance, NULL);   // runs programs, which do nothing yet
 *   for (int i = 0; i < 1000; ++i) kiln_capture_run(step);
 *
 * One capture for one thread at a time. It keeps fields, trees and code. Arrays of the program must
 * stay where they are.
 */

typedef struct kiln_capture kiln_capture;

/* NULL without memory. */
KILN_EXPORT kiln_capture* kiln_capture_new(void);
KILN_EXPORT void kiln_capture_free(kiln_capture* capture);
/* Calls body(self). Runs of programs and of their gradients by the calling thread do not take place
 * there, but in each kiln_capture_run, with the arguments that they have now. What else the body
 * does with fields takes place at once. What was recorded before is gone, also if this fails: if
 * the body returns another code than KILN_OK, and with KILN_FAILED_PRECONDITION within another
 * recording or a tape. A run fails if its program returns a value, or has an array that a CUDA
 * device would have to copy. */
KILN_EXPORT kiln_status kiln_capture_record(kiln_capture* capture, kiln_status (*body)(void* self),
                                            void* self);
/* Runs what was recorded, in order. Programs that print or may fail are runs of their own.
 * KILN_FAILED_PRECONDITION within a recording or a tape. */
KILN_EXPORT kiln_status kiln_capture_run(kiln_capture* capture);

#ifdef __cplusplus
}
#endif

#endif /* KILN_COMPILE_H_ */
