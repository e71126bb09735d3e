/* libkiln: runs modules, which hold kernels that a program exported (`kiln export`).
 *
 *   kiln_context* context;
 *   kiln_module* module;
 *   kiln_world* world;
 *   if (kiln_context_new(NULL, &context) != KILN_OK) return fail(kiln_error());
 *   if (kiln_module_open(context, "sim.kiln", NULL, &module) != KILN_OK) ...
 *   if (kiln_world_new(module, NULL, &world) != KILN_OK) ...
 *   const kiln_arg args[] = {kiln_float(1e-4)};
 *   kiln_launch(kiln_module_kernel(module, "substep"), world, args, 1, NULL, NULL);
 *   kiln_world_free(world);
 *   kiln_module_free(module);
 *   kiln_context_free(context);
 *
 * The library reads no environment variable, prints nothing, installs no handler of signals, forks
 * or exits, and starts no thread before the first loop that is worth sharing. Nothing is global:
 * two libraries of one process may use it without knowing of each other. (CUDA's driver and its
 * device are the process's; the library opens the driver for the first module that has code for
 * it.)
 *
 * Failures. Functions return KILN_OK (0) or a code; kiln_error() then has the reason: what failed,
 * where, and what was expected. Outputs are unchanged after a failure.
 *
 * Structs that callers fill in begin with `size`, for which they write sizeof(the struct): programs
 * that were compiled with an older header go on working. Pointers in structs are borrowed during
 * the call unless a comment says otherwise. Texts are UTF-8.
 *
 * Threads. Any function may be called from any thread, except that freeing an object requires that
 * no other call uses it. Kernels that run at the same time on the same data race, as functions of C
 * would. A child of fork may go on using all objects; its loops run on the calling thread. Objects
 * of CUDA devices fail there, as CUDA does.
 *
 * Versions. The library's symbols are versioned (KILN_1.0). Functions and fields of structs are
 * only ever added. A program that needs a newer library fails to link or load, and names the
 * symbol.
 */
#ifndef KILN_KILN_H_
#define KILN_KILN_H_

#include <stddef.h>
#include <stdint.h>

#define KILN_API_VERSION_MAJOR 1
#define KILN_API_VERSION_MINOR 0

#if defined(__GNUC__)
#define KILN_EXPORT __attribute__((visibility("default")))
#else
#define KILN_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status ------------------------------------------------------------------------------------
 */

typedef int32_t kiln_status;
enum {
  KILN_OK = 0,
  KILN_INVALID_ARGUMENT = 3,    /* an argument that no module could accept, or that does not fit */
  KILN_NOT_FOUND = 5,           /* no kernel, field or graph of that name */
  KILN_RESOURCE_EXHAUSTED = 8,  /* memory */
  KILN_FAILED_PRECONDITION = 9, /* this machine, this library or the order of calls does not fit */
  KILN_ABORTED = 10,            /* an assert of the kernel failed, or `stop` was set */
  KILN_OUT_OF_RANGE = 11,       /* an index */
  KILN_UNIMPLEMENTED = 12,
  KILN_INTERNAL = 13,
  KILN_UNAVAILABLE = 14, /* a file that cannot be read or mapped */
  KILN_DATA_LOSS = 15    /* a file that is damaged, or no module */
};

/* Why the calling thread's last failed call failed. Valid until that thread's next failed call; ""
 * before the first. Never NULL. */
KILN_EXPORT const char* kiln_error(void);

/* The library's version: major * 10000 + minor * 100 + patch. */
KILN_EXPORT uint32_t kiln_version(void);

/* ---- Contexts ----------------------------------------------------------------------------------
 */

/* Threads, and what the library tells the program. */
typedef struct kiln_context kiln_context;

/* The program's own threads, in place of the context's. `concurrency` is how many of them may work
 * on a loop, the caller included. `parallel_for` calls body(body_self, begin, end) for ranges that
 * together are 0 ... count - 1, each number once, on any threads, and returns when all calls have
 * returned. Both may be called by several threads at once, and from within a body. */
typedef struct kiln_executor {
  uint32_t size;
  void* self;
  int (*concurrency)(void* self);
  void (*parallel_for)(void* self, int64_t count,
                       void (*body)(void* body_self, int64_t begin, int64_t end), void* body_self);
} kiln_executor;

/* Where kernels run. */
enum {
  KILN_DEVICE_BEST = 0, /* a CUDA device, for modules that have code for one that is there; or the
                         * CPU */
  KILN_DEVICE_CPU = 1,
  KILN_DEVICE_CUDA = 2
};

typedef struct kiln_context_options {
  uint32_t size;
  /* Threads of a loop, the caller included; 0: one for each CPU that the process may use. */
  uint32_t max_threads;
  /* NULL: the context starts threads of its own when it first shares a loop, and ends them when it
   * is freed. Copied. */
  const kiln_executor* executor;
  /* What kernels print, one call for each print, in order; from any thread, one call at a time for
   * each launch. NULL: prints are dropped. `text` is not terminated. */
  void (*print)(void* self, const char* text, size_t bytes);
  void* print_self;
  /* What happened, for a log; NULL: nothing is told. */
  void (*log)(void* self, const char* text);
  void* log_self;
  /* Memory for the fields of the context's worlds; NULL: the system's. Both or neither; from any
   * thread, several at a time, sparse cells also during launches. `allocate` returns memory of any
   * content at a multiple of `alignment`, or NULL, which fails the call or launch; `release` gets
   * it back with the same size. */
  void* (*allocate)(void* self, size_t bytes, size_t alignment);
  void (*release)(void* self, void* data, size_t bytes);
  void* memory_self;
  /* On which device the kernels of the context's modules run. The options above are about the
   * CPU. */
  uint32_t device;
  /* 1 + the number of the CUDA device, in the driver's order (CUDA_VISIBLE_DEVICES); 0: the first
   * one. Contexts of several devices can be used at the same time. */
  uint32_t cuda_device;
  /* The path of CUDA's driver; NULL: "libcuda.so.1". A process uses one. */
  const char* cuda_driver;
} kiln_context_options;

/* NULL options: the defaults above. */
KILN_EXPORT kiln_status kiln_context_new(const kiln_context_options* options,
                                         kiln_context** context);

/* Ends the context's threads. KILN_FAILED_PRECONDITION, and frees nothing, while modules or worlds
 * of the context exist. NULL is allowed. */
KILN_EXPORT kiln_status kiln_context_free(kiln_context* context);

/* Starts the threads now, so that no launch has to (see kiln_world_prepare). */
KILN_EXPORT kiln_status kiln_context_prepare(kiln_context* context);

/* Returns when the launches of the process on the context's CUDA device are done.
 * KILN_FAILED_PRECONDITION if one of them has failed since the last call. The context's modules on
 * the CPU need no call. */
KILN_EXPORT kiln_status kiln_context_synchronize(kiln_context* context);

/* ---- Modules -----------------------------------------------------------------------------------
 */

/* Kernels with their code, and blueprints of the fields and graphs that they use. Immutable. */
typedef struct kiln_module kiln_module;
typedef struct kiln_kernel kiln_kernel;
typedef struct kiln_graph kiln_graph;

/* How to open a module. Start from zeros and set `size`; NULL for the defaults. */
typedef struct kiln_open_options {
  uint32_t size;
  /* The digest in a generated header: opening a module with other signatures fails. 4 numbers, or
   * NULL. */
  const uint64_t* signatures;
} kiln_open_options;

/* Loads a file for the best target that it has and the context's device runs: the highest level of
 * x86-64, or the machine code or PTX for the CUDA device. KILN_UNAVAILABLE if it cannot be read,
 * KILN_DATA_LOSS if it is damaged, KILN_FAILED_PRECONDITION if it has nothing for this machine, or
 * this machine or this library is too old for it. */
KILN_EXPORT kiln_status kiln_module_open(kiln_context* context, const char* path,
                                         const kiln_open_options* options, kiln_module** module);
/* The same of a file's bytes, which are copied. */
KILN_EXPORT kiln_status kiln_module_open_bytes(kiln_context* context, const void* bytes,
                                               size_t count, const kiln_open_options* options,
                                               kiln_module** module);
/* The same of a module that is linked into the program (`kiln export --static`): the address of its
 * symbol kiln_module_v1_NAME. */
KILN_EXPORT kiln_status kiln_module_open_linked(kiln_context* context, const void* symbol,
                                                const kiln_open_options* options,
                                                kiln_module** module);
/* KILN_FAILED_PRECONDITION, and frees nothing, while worlds of the module exist. NULL is allowed.
 */
KILN_EXPORT kiln_status kiln_module_free(kiln_module* module);

/* By name; NULL if the module has none, with the names that it has in kiln_error(). Valid as long
 * as the module. */
KILN_EXPORT const kiln_kernel* kiln_module_kernel(const kiln_module* module, const char* name);
KILN_EXPORT const kiln_graph* kiln_module_graph(const kiln_module* module, const char* name);
/* The kernels in order of their names; NULL beyond the last. */
KILN_EXPORT const kiln_kernel* kiln_module_kernel_at(const kiln_module* module, size_t number);
KILN_EXPORT const kiln_graph* kiln_module_graph_at(const kiln_module* module, size_t number);

/* The module's name, and the target for which it was loaded ("x86-64-v3", "sm_90"). */
KILN_EXPORT const char* kiln_module_name(const kiln_module* module);
KILN_EXPORT const char* kiln_module_target(const kiln_module* module);

/* ---- Numbers, arrays ---------------------------------------------------------------------------
 */

typedef uint32_t kiln_dtype;
enum {
  KILN_NO_DTYPE = 0, /* of structs */
  KILN_U1 = 1,       /* bool, one byte */
  KILN_I8 = 2,
  KILN_I16 = 3,
  KILN_I32 = 4,
  KILN_I64 = 5,
  KILN_U8 = 6,
  KILN_U16 = 7,
  KILN_U32 = 8,
  KILN_U64 = 9,
  KILN_F16 = 10,
  KILN_F32 = 11,
  KILN_F64 = 12
};

/* "f32"; NULL for no dtype. */
KILN_EXPORT const char* kiln_dtype_name(kiln_dtype dtype);

#define KILN_MAX_NDIM 16

/* Memory of the program, seen as an array. It has the layout of DLPack's DLTensor, so that a
 * DLTensor* may be cast: device_type is 1 (CPU) or, for modules on a CUDA device, also 2 (CUDA) or
 * 3 (memory of the CPU that is pinned), `code` 0 for signed, 1 for unsigned integers, 2 for floats
 * and 6 for bool, `lanes` 1. Strides count elements; NULL: C order. The axes of elements that are
 * vectors or matrices come last. */
typedef struct kiln_array {
  void* data;
  int32_t device_type, device_id;
  int32_t ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} kiln_array;

/* An array of `ndim` extents in C order on the CPU. `shape` is borrowed as long as the result. */
KILN_EXPORT kiln_array kiln_array_of(void* data, kiln_dtype dtype, int32_t ndim,
                                     const int64_t* shape);

/* ---- Arguments ---------------------------------------------------------------------------------
 */

enum {
  KILN_ARG_INT = 1,   /* value.i */
  KILN_ARG_UINT = 2,  /* value.u */
  KILN_ARG_FLOAT = 3, /* value.f; for floats only */
  KILN_ARG_NUMBERS =
      4, /* `count` numbers of `dtype` at value.numbers: a vector, a matrix row by row */
  KILN_ARG_ARRAY = 5, /* value.array */
  KILN_ARG_ARGS = 6   /* `count` numbers at value.args, of the first three kinds: a struct */
};

typedef struct kiln_arg {
  uint32_t kind;
  kiln_dtype dtype;
  uint64_t count;
  union {
    int64_t i;
    uint64_t u;
    double f;
    const void* numbers;
    const kiln_array* array;
    const struct kiln_arg* args;
  } value;
} kiln_arg;

static inline kiln_arg kiln_int(int64_t value) {
  kiln_arg arg;
  arg.kind = KILN_ARG_INT;
  arg.dtype = KILN_NO_DTYPE;
  arg.count = 1;
  arg.value.i = value;
  return arg;
}

static inline kiln_arg kiln_uint(uint64_t value) {
  kiln_arg arg;
  arg.kind = KILN_ARG_UINT;
  arg.dtype = KILN_NO_DTYPE;
  arg.count = 1;
  arg.value.u = value;
  return arg;
}

static inline kiln_arg kiln_float(double value) {
  kiln_arg arg;
  arg.kind = KILN_ARG_FLOAT;
  arg.dtype = KILN_NO_DTYPE;
  arg.count = 1;
  arg.value.f = value;
  return arg;
}

static inline kiln_arg kiln_numbers(kiln_dtype dtype, const void* numbers, size_t count) {
  kiln_arg arg;
  arg.kind = KILN_ARG_NUMBERS;
  arg.dtype = dtype;
  arg.count = count;
  arg.value.numbers = numbers;
  return arg;
}

static inline kiln_arg kiln_args(const kiln_arg* args, size_t count) {
  kiln_arg arg;
  arg.kind = KILN_ARG_ARGS;
  arg.dtype = KILN_NO_DTYPE;
  arg.count = count;
  arg.value.args = args;
  return arg;
}

static inline kiln_arg kiln_array_arg(const kiln_array* array) {
  kiln_arg arg;
  arg.kind = KILN_ARG_ARRAY;
  arg.dtype = KILN_NO_DTYPE;
  arg.count = 1;
  arg.value.array = array;
  return arg;
}

/* ---- Signatures --------------------------------------------------------------------------------
 */

enum { KILN_PARAM_VALUE = 1, KILN_PARAM_ARRAY = 2 };

/* Of arrays in place of textures: their elements are texels, vectors of one to four numbers, and
 * mean the numbers, or fractions of the integers' largest one. Launches cannot tell an array of the
 * one from one of the other. */
enum { KILN_NO_TEXELS = 0, KILN_TEXELS = 1, KILN_FRACTIONS = 2 };

typedef struct kiln_param {
  uint32_t size;
  uint32_t kind;
  const char* name;
  kiln_dtype dtype;              /* KILN_NO_DTYPE: a struct, of `count` numbers */
  uint32_t count;                /* numbers of a value, or of an array's element */
  uint32_t rank;                 /* of an array, without its elements' axes */
  uint32_t element_ndim;         /* 0: scalars; 1: vectors; 2: matrices */
  const uint64_t* element_shape; /* valid as long as the module */
  uint32_t first_slot;      /* values: `count` slots; arrays: the address, then `rank` extents */
  uint32_t writes;          /* the kernel may write to the array */
  const kiln_dtype* dtypes; /* of a struct, of each number; NULL for others. Likewise valid */
  uint32_t texels;          /* of an array in place of a texture */
} kiln_param;

typedef struct kiln_signature {
  uint32_t size;
  uint32_t params, slots;         /* how many */
  uint32_t results, result_slots; /* likewise */
  uint32_t needs_world;           /* whether launches need one */
  const char* name;
  const char* text; /* "substep(x: array<f32, 2>, dt: f32) -> f32" */
} kiln_signature;

/* Callers set `size`. KILN_INVALID_ARGUMENT for a number beyond the last. */
KILN_EXPORT kiln_status kiln_kernel_signature(const kiln_kernel* kernel, kiln_signature* signature);
KILN_EXPORT kiln_status kiln_kernel_param(const kiln_kernel* kernel, size_t number,
                                          kiln_param* param);
KILN_EXPORT kiln_status kiln_kernel_result(const kiln_kernel* kernel, size_t number,
                                           kiln_param* result);

/* ---- Worlds ------------------------------------------------------------------------------------
 */

/* A module's fields, with memory of their own. Kernels run on the world that a launch names;
 * threads may run kernels on different worlds at once. */
typedef struct kiln_world kiln_world;

typedef struct kiln_world_options {
  uint32_t size;
  uint32_t reserved;
  uint64_t seed; /* of random numbers */
  /* Of the fields, the cells of sparse ones included; 0: no limit. On a CUDA device: of each tree
   * of SNodes, which takes its memory at once; 0: trees with sparse ones take 1 GiB, and grow. */
  uint64_t max_bytes;
} kiln_world_options;

/* All elements are zero, all sparse cells inactive. */
KILN_EXPORT kiln_status kiln_world_new(kiln_module* module, const kiln_world_options* options,
                                       kiln_world** world);
KILN_EXPORT kiln_status kiln_world_free(kiln_world* world);
/* Restarts random numbers. */
KILN_EXPORT kiln_status kiln_world_seed(kiln_world* world, uint64_t seed);
/* Touches the fields' memory, so that no launch waits for the system to provide it. After this and
 * kiln_context_prepare, a launch on dense fields by a thread that has launched the kernel before
 * neither allocates memory nor takes a lock, unless the kernel prints or fails. */
KILN_EXPORT kiln_status kiln_world_prepare(kiln_world* world);

typedef struct kiln_field {
  uint32_t size;
  kiln_dtype dtype;
  uint32_t ndim; /* without the elements' axes */
  uint32_t element_ndim;
  const uint64_t* shape;
  const uint64_t* element_shape;
  const int64_t* first; /* the first index of each axis */
  uint64_t bytes;       /* of an array with all elements */
  uint32_t is_sparse, is_quantised;
  const char* name;
} kiln_field;

/* Callers set `size`. KILN_NOT_FOUND names the fields that there are. Pointers are valid as long as
 * the module. */
KILN_EXPORT kiln_status kiln_module_field(const kiln_module* module, const char* name,
                                          kiln_field* field);
KILN_EXPORT kiln_status kiln_module_field_at(const kiln_module* module, size_t number,
                                             kiln_field* field);

/* A field's memory as an array, valid as long as the world. KILN_FAILED_PRECONDITION, with the
 * reason, for fields that are no strided array, and on CUDA devices: use the functions below. */
typedef struct kiln_view {
  kiln_array array; /* points to the two members below: copy the whole struct with care */
  int64_t shape[KILN_MAX_NDIM];
  int64_t strides[KILN_MAX_NDIM];
} kiln_view;
KILN_EXPORT kiln_status kiln_field_view(kiln_world* world, const char* name, kiln_view* view);

/* The same in the memory of the device on which the module's kernels run. The array's device_type
 * is 2 on a CUDA device, whose memory only the device uses, and 1 on the CPU. The program's own
 * CUDA code may read and write there, and the array may be an argument of other kernels.
 *
 * Launches are in the legacy default stream, which blocking streams wait for; order others by
 * kiln_context_synchronize or by events. The functions below see what the device's work in the
 * default stream has written, and what they write is on the device when they return. */
KILN_EXPORT kiln_status kiln_field_device_view(kiln_world* world, const char* name,
                                               kiln_view* view);

/* Copy all elements to or from an array in C order of `bytes` bytes, which must be the field's.
 * Inactive cells read as zeros, and writes skip them. Kernels of the module copy quantised numbers,
 * which they convert, and elements of meshes that memory has in another order;
 * KILN_UNIMPLEMENTED for modules of exports that did not provide for it. */
KILN_EXPORT kiln_status kiln_field_read(kiln_world* world, const char* name, void* array,
                                        size_t bytes);
KILN_EXPORT kiln_status kiln_field_write(kiln_world* world, const char* name, const void* array,
                                         size_t bytes);

/* Copy one element: `bytes` bytes, the numbers of a scalar, a vector, or a matrix row by row.
 * `indices` has `ndim` entries. An inactive cell reads as zeros, and a write activates it.
 * KILN_UNIMPLEMENTED for fields that only kernels read and write (kiln_field_read). On a CUDA
 * device a read waits for the launches before it. */
KILN_EXPORT kiln_status kiln_field_get(kiln_world* world, const char* name, const int64_t* indices,
                                       void* element, size_t bytes);
KILN_EXPORT kiln_status kiln_field_set(kiln_world* world, const char* name, const int64_t* indices,
                                       const void* element, size_t bytes);

/* The address of one number of an element. `indices` has `ndim` entries, `component` counts the
 * element's numbers. With `activate`, an inactive cell becomes active; otherwise *address is NULL
 * for it. KILN_UNIMPLEMENTED on CUDA devices: use the two functions above. */
KILN_EXPORT kiln_status kiln_field_locate(kiln_world* world, const char* name,
                                          const int64_t* indices, uint32_t component, int activate,
                                          void** address);

/* ---- Launches ----------------------------------------------------------------------------------
 */

typedef struct kiln_launch_options {
  uint32_t size;
  uint32_t max_threads; /* 0: the context's */
  /* Replaces the context's `print` for this launch. */
  void (*print)(void* self, const char* text, size_t bytes);
  void* print_self;
  /* Storing 1, from any thread or a signal handler, ends the launch within about 100 ms:
   * KILN_ABORTED. The caller resets it. Launches on a CUDA device do not look at it, and neither do
   * some serial loops (docs/language/running.md#ctrl-c), such as a `while` that counts. */
  volatile uint32_t* stop;
  /* Called, maybe more than once, when a CUDA device has all work of the call and the caller is
   * about to wait for it. Bindings of other languages let their threads run from then on. */
  void (*waits)(void* self);
  void* waits_self;
} kiln_launch_options;

/* Runs a kernel and returns when it is done. `world` may be NULL for kernels without fields.
 * `args` has one entry for each parameter, in order. `results` receives the numbers that the kernel
 * returns, one slot each (kiln_slot_float, kiln_slot_int); NULL: they are dropped. Numbers are
 * converted as in Python; a fraction for an integer, a number beyond its range, and arrays of
 * another dtype, rank, element shape, device or order are KILN_INVALID_ARGUMENT. So is an array
 * that shares memory with a field that the kernel uses, if one of the two is written, and arrays of
 * a derivative that share memory.
 *
 * On a CUDA device, arrays of the CPU are copied there, and back if the kernel writes to them. The
 * call waits for the work only if the kernel returns numbers, prints, checks something or writes to
 * such arrays. Otherwise the device does it later, in order, in the legacy default stream. A later
 * call on the device then tells of a failure. */
KILN_EXPORT kiln_status kiln_launch(const kiln_kernel* kernel, kiln_world* world,
                                    const kiln_arg* args, size_t count, uint64_t* results,
                                    const kiln_launch_options* options);

/* The same without any of these checks: `slots` has kiln_signature.slots entries, of which the
 * caller fills in those of the parameters (kiln_param.first_slot); the call fills in the others.
 * (On a CUDA device it also replaces addresses of arrays of the CPU by those of their copies.)
 * `results` has kiln_signature.result_slots entries, or is NULL if there are none. */
KILN_EXPORT kiln_status kiln_launch_slots(const kiln_kernel* kernel, kiln_world* world,
                                          uint64_t* slots, uint64_t* results,
                                          const kiln_launch_options* options);

/* Numbers in slots: a scalar's bytes, then zeros. */
KILN_EXPORT double kiln_slot_float(kiln_dtype dtype, uint64_t slot);
KILN_EXPORT int64_t kiln_slot_int(kiln_dtype dtype, uint64_t slot);

/* ---- Graphs ---------------------------------------------------------------------------------- */

typedef struct kiln_named_arg {
  const char* name;
  kiln_arg arg;
} kiln_named_arg;

/* Runs a graph's launches in order. `args` has each of the graph's arguments once, in any order;
 * all are checked before the first launch. */
KILN_EXPORT kiln_status kiln_graph_run(const kiln_graph* graph, kiln_world* world,
                                       const kiln_named_arg* args, size_t count,
                                       const kiln_launch_options* options);
/* Argument `number` of a graph; KILN_INVALID_ARGUMENT beyond the last. */
KILN_EXPORT kiln_status kiln_graph_param(const kiln_graph* graph, size_t number, kiln_param* param);
KILN_EXPORT const char* kiln_graph_name(const kiln_graph* graph);

#ifdef __cplusplus
}
#endif

#endif /* KILN_KILN_H_ */
