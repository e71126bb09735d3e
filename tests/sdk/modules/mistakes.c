/* What a program can get wrong, one line each: the code and the reason. Every call must fail, and
 * nothing may crash. */
#include <kiln/kiln.h>
#include <stdio.h>

static void tell(const char* what, kiln_status status) {
  printf("%s: %d %s\n", what, (int)status, status == KILN_OK ? "no error" : kiln_error());
}

static const kiln_kernel* norms;

/* Launches `norms`, which takes an array of vectors of three f32 along one axis, with an array. */
static void pass(const char* what, const kiln_array* array) {
  static const float k[3] = {1, 2, 3};
  const kiln_arg args[] = {kiln_array_arg(array), kiln_numbers(KILN_F32, k, 3)};
  tell(what, kiln_launch(norms, NULL, args, 2, NULL, NULL));
}

static void arrays(void) {
  static float data[24];
  int64_t shape[] = {4, 3}, strides[] = {1, 4}, other[] = {4, 2}, negative[] = {-4, 3};
  kiln_array array = kiln_array_of(data, KILN_F64, 2, shape);
  pass("dtype", &array);
  array = kiln_array_of(data, KILN_F32, 1, shape);
  pass("rank", &array);
  array.ndim = -1;
  pass("no rank", &array);
  array = kiln_array_of(data, KILN_F32, 2, other);
  pass("element", &array);
  array = kiln_array_of(data, KILN_F32, 2, negative);
  pass("extent", &array);
  array = kiln_array_of(data, KILN_F32, 2, NULL);
  pass("no shape", &array);
  array = kiln_array_of(data, KILN_F32, 2, shape);
  array.device_type = 2;
  pass("device", &array);
  array = kiln_array_of(data, KILN_F32, 2, shape);
  array.strides = strides;
  pass("strides", &array);
  array = kiln_array_of(NULL, KILN_F32, 2, shape);
  pass("no data", &array);
  array = kiln_array_of((char*)data + 1, KILN_F32, 2, shape);
  pass("misaligned", &array);
  pass("no array", NULL);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  kiln_context* context;
  kiln_module *module, *other;
  kiln_world *world, *world_of_other;
  if (kiln_context_new(NULL, &context) != KILN_OK ||
      kiln_module_open(context, argv[1], NULL, &module) != KILN_OK ||
      kiln_module_open(context, argv[2], NULL, &other) != KILN_OK ||
      kiln_world_new(module, NULL, &world) != KILN_OK ||
      kiln_world_new(other, NULL, &world_of_other) != KILN_OK) {
    return 1;
  }
  norms = kiln_module_kernel(module, "norms");
  const kiln_kernel* fill = kiln_module_kernel(module, "fill");
  const kiln_kernel* burn = kiln_module_kernel(module, "burn");
  arrays();
  const kiln_arg one = kiln_float(1), whole = kiln_int(1LL << 40), half = kiln_float(0.5);
  kiln_arg odd = one;
  odd.kind = 77;
  tell("no kernel", kiln_launch(NULL, world, &one, 1, NULL, NULL));
  tell("no world", kiln_launch(fill, NULL, &one, 1, NULL, NULL));
  tell("a world of another module", kiln_launch(fill, world_of_other, &one, 1, NULL, NULL));
  tell("too few", kiln_launch(fill, world, NULL, 0, NULL, NULL));
  tell("no arguments", kiln_launch(fill, world, NULL, 1, NULL, NULL));
  tell("no kind", kiln_launch(fill, world, &odd, 1, NULL, NULL));
  tell("too large", kiln_launch(burn, world, &whole, 1, NULL, NULL));
  tell("a fraction", kiln_launch(burn, world, &half, 1, NULL, NULL));
  const kiln_graph* twice = kiln_module_graph(module, "twice");
  const kiln_named_arg unnamed[] = {{NULL, one}}, unknown[] = {{"z", one}}, some[] = {{"k", one}};
  tell("a graph's name", kiln_graph_run(twice, world, unnamed, 1, NULL));
  const kiln_named_arg again[] = {{"k", one}, {"k", one}};
  tell("a name twice", kiln_graph_run(twice, world, again, 2, NULL));
  tell("an unknown name", kiln_graph_run(twice, world, unknown, 1, NULL));
  tell("a fraction of a graph", kiln_graph_run(twice, world, some, 1, NULL));
  tell("no graph", kiln_graph_run(NULL, world, some, 1, NULL));
  float few[2];
  const int64_t far[] = {32, 0};
  void* at;
  uint64_t slots[8] = {0};
  kiln_view view;
  tell("no field", kiln_field_read(world, "heights", few, sizeof few));
  tell("bytes", kiln_field_read(world, "height", few, sizeof few));
  tell("an index", kiln_field_locate(world, "height", far, 0, 0, &at));
  tell("a view", kiln_field_view(world, "smoke", &view));
  tell("a module in use", kiln_module_free(module));
  tell("a context in use", kiln_context_free(context));
  if (kiln_world_free(world) != KILN_OK) return 1;
  tell("a freed world", kiln_launch(fill, world, &one, 1, NULL, NULL));
  tell("a freed world's field", kiln_field_read(world, "height", few, sizeof few));
  tell("freed twice", kiln_world_free(world));
  if (kiln_module_free(module) != KILN_OK) return 1;
  tell("a freed module", kiln_world_new(module, NULL, &world));
  kiln_param param = {.size = sizeof param};
  tell("a freed module's kernel", kiln_launch(norms, NULL, &one, 1, NULL, NULL));
  tell("its slots", kiln_launch_slots(norms, NULL, slots, NULL, NULL));
  tell("its parameters", kiln_kernel_param(norms, 0, &param));
  tell("a freed module's graph", kiln_graph_run(twice, NULL, some, 1, NULL));
  tell("its arguments", kiln_graph_param(twice, 0, &param));
  if (kiln_graph_name(twice)[0] != '\0') return 1;
  tell("a kernel of no name", kiln_module_kernel(other, NULL) == NULL ? KILN_NOT_FOUND : KILN_OK);
  return 0;
}
