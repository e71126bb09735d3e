/* The functions of version 1, as programs were compiled with them. C compares these declarations
 * with those of the headers: one that has changed is an error. Lines are only ever added. */
#ifdef KILN_COMPILE
#include <kiln/compile.h>
_Static_assert(sizeof(kiln_compile_options) == 96, "a new member goes to the end");
_Static_assert(offsetof(kiln_compile_options, home) == 8, "members stay");
_Static_assert(offsetof(kiln_compile_options, programs) == 24, "members stay");
_Static_assert(offsetof(kiln_compile_options, debug) == 32, "members stay");
_Static_assert(offsetof(kiln_compile_options, arch) == 40, "members stay");
_Static_assert(offsetof(kiln_compile_options, cuda_device) == 48, "members stay");
_Static_assert(offsetof(kiln_compile_options, deterministic) == 64, "members stay");
_Static_assert(offsetof(kiln_compile_options, random_seed) == 72, "members stay");
_Static_assert(offsetof(kiln_compile_options, ad_tape_GB) == 88, "members stay");
_Static_assert(sizeof(kiln_value_type) == 12, "passed by value");
_Static_assert(sizeof(kiln_node) == 4 && sizeof(kiln_input) == 4, "passed by value");
const char* kiln_compile_error(void);
kiln_status kiln_compile_use(const kiln_compile_options* options);
kiln_status kiln_dense_new(kiln_value_type element, const uint64_t* shape, size_t axes,
                           kiln_dense** field);
void* kiln_dense_data(const kiln_dense* field);
void kiln_dense_free(kiln_dense* field);
kiln_status kiln_compile_sync(void);
kiln_status kiln_dense_new_with_gradient(kiln_value_type element, const uint64_t* shape,
                                         size_t axes, kiln_dense** field, kiln_dense** gradient);
kiln_status kiln_program_run_gradient(kiln_program* program);
kiln_tape* kiln_tape_new(int ignores_overwritten);
void kiln_tape_free(kiln_tape* tape);
kiln_status kiln_tape_run(kiln_tape* tape, const kiln_dense* loss, kiln_status (*body)(void* self),
                          void* self);
kiln_status kiln_tape_record(kiln_tape* tape, kiln_status (*body)(void* self), void* self);
kiln_status kiln_tape_clear_gradients(kiln_tape* tape);
kiln_status kiln_tape_gradients(kiln_tape* tape);
kiln_status kiln_dense_read(const kiln_dense* field, uint64_t first, uint64_t count, void* to);
kiln_status kiln_dense_write(const kiln_dense* field, uint64_t first, uint64_t count,
                             const void* from);
kiln_status kiln_dense_fill(const kiln_dense* field, const void* element);
kiln_status kiln_dense_device_data(const kiln_dense* field, void** address);
kiln_node kiln_trace_bit_cast(kiln_trace* trace, kiln_node x, kiln_value_type to);
kiln_snode kiln_tree_field_with_gradient(kiln_tree* tree, kiln_snode parent,
                                         kiln_value_type element, kiln_snode* gradient);
kiln_status kiln_program_set_array_with_gradient(kiln_program* program, kiln_input array,
                                                 void* data, void* gradient, const uint64_t* shape,
                                                 size_t axes);
kiln_status kiln_program_set_field(kiln_program* program, kiln_input array,
                                   const kiln_dense* field);
kiln_trace* kiln_trace_new(void);
void kiln_trace_free(kiln_trace* trace);
void kiln_trace_place(kiln_trace* trace, const char* file, int line);
kiln_input kiln_trace_value(kiln_trace* trace, kiln_value_type type);
kiln_input kiln_trace_array(kiln_trace* trace, kiln_value_type element, int axes);
kiln_input kiln_trace_field(kiln_trace* trace, const kiln_dense* field);
kiln_node kiln_trace_float(kiln_trace* trace, double value, kiln_dtype dtype);
kiln_node kiln_trace_int(kiln_trace* trace, int64_t value, kiln_dtype dtype);
kiln_node kiln_trace_param(kiln_trace* trace, kiln_input value);
kiln_node kiln_trace_unary(kiln_trace* trace, const char* op, kiln_node x, kiln_value_type result);
kiln_node kiln_trace_binary(kiln_trace* trace, const char* op, kiln_node a, kiln_node b,
                            kiln_value_type result);
kiln_node kiln_trace_select(kiln_trace* trace, kiln_node condition, kiln_node a, kiln_node b,
                            kiln_value_type result);
kiln_node kiln_trace_cast(kiln_trace* trace, kiln_node x, kiln_value_type to);
kiln_node kiln_trace_tensor(kiln_trace* trace, const kiln_node* elements, size_t count,
                            kiln_value_type type);
kiln_node kiln_trace_extract(kiln_trace* trace, kiln_node tensor, const kiln_node* indices,
                             size_t count);
kiln_node kiln_trace_random(kiln_trace* trace, kiln_dtype dtype);
kiln_node kiln_trace_shape(kiln_trace* trace, kiln_input storage, int axis);
kiln_node kiln_trace_local(kiln_trace* trace, kiln_node init, kiln_value_type type);
kiln_node kiln_trace_global(kiln_trace* trace, kiln_input storage, const kiln_node* indices,
                            size_t count);
kiln_node kiln_trace_element(kiln_trace* trace, kiln_node address, const kiln_node* indices,
                             size_t count);
kiln_node kiln_trace_load(kiln_trace* trace, kiln_node address);
void kiln_trace_store(kiln_trace* trace, kiln_node address, kiln_node value);
kiln_node kiln_trace_atomic(kiln_trace* trace, const char* op, kiln_node address, kiln_node value);
kiln_node kiln_trace_begin_range(kiln_trace* trace, const kiln_node* bounds, size_t axes,
                                 int serial);
kiln_node kiln_trace_begin_over(kiln_trace* trace, kiln_input storage);
kiln_node kiln_trace_loop_index(kiln_trace* trace, kiln_node loop, int axis);
void kiln_trace_begin_while(kiln_trace* trace);
void kiln_trace_begin_if(kiln_trace* trace, kiln_node condition);
kiln_node kiln_trace_begin_choose(kiln_trace* trace, kiln_node condition);
void kiln_trace_yield(kiln_trace* trace, kiln_node value);
void kiln_trace_else(kiln_trace* trace);
void kiln_trace_end(kiln_trace* trace);
void kiln_trace_break(kiln_trace* trace);
void kiln_trace_continue(kiln_trace* trace);
void kiln_trace_return(kiln_trace* trace, const kiln_node* values, const kiln_value_type* types,
                       size_t count);
void kiln_trace_print(kiln_trace* trace, const char* format, const kiln_node* values, size_t count);
void kiln_trace_assert(kiln_trace* trace, kiln_node condition, const char* format,
                       const kiln_node* values, size_t count);
kiln_status kiln_program_new(kiln_trace* trace, const char* name, kiln_program** program);
void kiln_program_free(kiln_program* program);
const char* kiln_program_tier(const kiln_program* program);
const char* kiln_program_key(const kiln_program* program);
void kiln_program_set_float(kiln_program* program, kiln_input value, uint32_t element,
                            double number);
void kiln_program_set_int(kiln_program* program, kiln_input value, uint32_t element,
                          int64_t number);
void kiln_program_set_array(kiln_program* program, kiln_input array, void* data,
                            const uint64_t* shape, size_t axes);
kiln_status kiln_program_run(kiln_program* program);
uint64_t kiln_program_result(const kiln_program* program, size_t index);
kiln_tree* kiln_tree_new(void);
void kiln_tree_free(kiln_tree* tree);
kiln_snode kiln_tree_root(const kiln_tree* tree);
kiln_snode kiln_tree_add(kiln_tree* tree, kiln_snode parent, const char* kind, const char* axes,
                         const uint64_t* extents, uint32_t chunk);
kiln_snode kiln_tree_field(kiln_tree* tree, kiln_snode parent, kiln_value_type element);
kiln_status kiln_tree_finish(kiln_tree* tree);
kiln_status kiln_tree_shape(kiln_tree* tree, kiln_snode field, uint64_t* shape, size_t axes);
kiln_status kiln_tree_read(kiln_tree* tree, kiln_snode field, const int64_t* indices,
                           void* element);
kiln_status kiln_tree_write(kiln_tree* tree, kiln_snode field, const int64_t* indices,
                            const void* element);
kiln_status kiln_tree_read_all(kiln_tree* tree, kiln_snode field, void* elements);
kiln_status kiln_tree_write_all(kiln_tree* tree, kiln_snode field, const void* elements);
kiln_status kiln_tree_count(kiln_tree* tree, kiln_snode snode, uint64_t* cells);
kiln_status kiln_tree_deactivate(kiln_tree* tree, kiln_snode snode);
kiln_input kiln_trace_snode(kiln_trace* trace, kiln_tree* tree, kiln_snode snode);
kiln_node kiln_trace_cells(kiln_trace* trace, const char* op, kiln_input snode,
                           const kiln_node* indices, size_t count);
_Static_assert(sizeof(kiln_function) == 4, "passed by value");
_Static_assert(sizeof(kiln_function_param) == 16, "an array of them is passed");
_Static_assert(offsetof(kiln_function_param, by_reference) == 12, "members stay");
kiln_node kiln_trace_join(kiln_trace* trace, const kiln_node* addresses, size_t count,
                          kiln_value_type type);
kiln_function kiln_trace_begin_function(kiln_trace* trace, const kiln_function_param* params,
                                        size_t count, const kiln_value_type* results,
                                        size_t result_count);
kiln_node kiln_trace_reference(kiln_trace* trace, kiln_input param);
void kiln_trace_end_function(kiln_trace* trace);
kiln_node kiln_trace_call(kiln_trace* trace, kiln_function function, const kiln_node* arguments,
                          size_t count);
kiln_node kiln_trace_result(kiln_trace* trace, kiln_node call, uint32_t index);
kiln_capture* kiln_capture_new(void);
void kiln_capture_free(kiln_capture* capture);
kiln_status kiln_capture_record(kiln_capture* capture, kiln_status (*body)(void* self), void* self);
kiln_status kiln_capture_run(kiln_capture* capture);
#else
#include <kiln/kiln.h>
const char* kiln_error(void);
uint32_t kiln_version(void);
kiln_status kiln_context_new(const kiln_context_options* options, kiln_context** context);
kiln_status kiln_context_free(kiln_context* context);
kiln_status kiln_context_prepare(kiln_context* context);
kiln_status kiln_context_synchronize(kiln_context* context);
kiln_status kiln_module_open(kiln_context* context, const char* path,
                             const kiln_open_options* options, kiln_module** module);
kiln_status kiln_module_open_bytes(kiln_context* context, const void* bytes, size_t count,
                                   const kiln_open_options* options, kiln_module** module);
kiln_status kiln_module_open_linked(kiln_context* context, const void* symbol,
                                    const kiln_open_options* options, kiln_module** module);
kiln_status kiln_module_free(kiln_module* module);
const kiln_kernel* kiln_module_kernel(const kiln_module* module, const char* name);
const kiln_graph* kiln_module_graph(const kiln_module* module, const char* name);
const kiln_kernel* kiln_module_kernel_at(const kiln_module* module, size_t number);
const kiln_graph* kiln_module_graph_at(const kiln_module* module, size_t number);
const char* kiln_module_name(const kiln_module* module);
const char* kiln_module_target(const kiln_module* module);
const char* kiln_dtype_name(kiln_dtype dtype);
kiln_array kiln_array_of(void* data, kiln_dtype dtype, int32_t ndim, const int64_t* shape);
kiln_status kiln_kernel_signature(const kiln_kernel* kernel, kiln_signature* signature);
kiln_status kiln_kernel_param(const kiln_kernel* kernel, size_t number, kiln_param* param);
kiln_status kiln_kernel_result(const kiln_kernel* kernel, size_t number, kiln_param* result);
kiln_status kiln_world_new(kiln_module* module, const kiln_world_options* options,
                           kiln_world** world);
kiln_status kiln_world_free(kiln_world* world);
kiln_status kiln_world_seed(kiln_world* world, uint64_t seed);
kiln_status kiln_world_prepare(kiln_world* world);
kiln_status kiln_module_field(const kiln_module* module, const char* name, kiln_field* field);
kiln_status kiln_module_field_at(const kiln_module* module, size_t number, kiln_field* field);
kiln_status kiln_field_view(kiln_world* world, const char* name, kiln_view* view);
kiln_status kiln_field_device_view(kiln_world* world, const char* name, kiln_view* view);
kiln_status kiln_field_read(kiln_world* world, const char* name, void* array, size_t bytes);
kiln_status kiln_field_write(kiln_world* world, const char* name, const void* array, size_t bytes);
kiln_status kiln_field_get(kiln_world* world, const char* name, const int64_t* indices,
                           void* element, size_t bytes);
kiln_status kiln_field_set(kiln_world* world, const char* name, const int64_t* indices,
                           const void* element, size_t bytes);
kiln_status kiln_field_locate(kiln_world* world, const char* name, const int64_t* indices,
                              uint32_t component, int activate, void** address);
kiln_status kiln_launch(const kiln_kernel* kernel, kiln_world* world, const kiln_arg* args,
                        size_t count, uint64_t* results, const kiln_launch_options* options);
kiln_status kiln_launch_slots(const kiln_kernel* kernel, kiln_world* world, uint64_t* slots,
                              uint64_t* results, const kiln_launch_options* options);
double kiln_slot_float(kiln_dtype dtype, uint64_t slot);
int64_t kiln_slot_int(kiln_dtype dtype, uint64_t slot);
kiln_status kiln_graph_run(const kiln_graph* graph, kiln_world* world, const kiln_named_arg* args,
                           size_t count, const kiln_launch_options* options);
kiln_status kiln_graph_param(const kiln_graph* graph, size_t number, kiln_param* param);
const char* kiln_graph_name(const kiln_graph* graph);
#endif
