/* Opens the module that the argument names, by path and by bytes. */
#include <stdlib.h>
#include <string.h>

#include "run.h"

static int open_bytes(kiln_context* context, const char* path, kiln_module** module) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) return 1;
  static char bytes[1 << 22];
  const size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  CHECK(kiln_module_open_bytes(context, bytes, size, NULL, module));
  return 0;
}

/* A kernel takes its fields and arrays for separate memory. */
static int share_memory(kiln_module* module) {
  kiln_world *world, *other;
  kiln_view own, others;
  CHECK(kiln_world_new(module, NULL, &world));
  CHECK(kiln_world_new(module, NULL, &other));
  CHECK(kiln_field_view(world, "height", &own));
  CHECK(kiln_field_view(other, "height", &others));
  if (own.strides[0] != 32 || own.strides[1] != 1 || own.array.device_type != 1) return 1;
  const kiln_kernel* shift = kiln_module_kernel(module, "shift");
  const kiln_arg shared = kiln_array_arg(&own.array), apart = kiln_array_arg(&others.array);
  if (kiln_launch(shift, world, &shared, 1, NULL, NULL) != KILN_INVALID_ARGUMENT) return 1;
  if (strstr(kiln_error(), "'a' shares memory with a field") == NULL) return 1;
  CHECK(kiln_launch(shift, world, &apart, 1, NULL, NULL));
  CHECK(kiln_world_free(world));
  if (kiln_launch(shift, world, &apart, 1, NULL, NULL) != KILN_INVALID_ARGUMENT) return 1;
  CHECK(kiln_world_free(other));
  return 0;
}

/* Functions for any device, on the CPU. */
static int elements(kiln_module* module) {
  kiln_world* world;
  kiln_view host, view;
  CHECK(kiln_world_new(module, NULL, &world));
  CHECK(kiln_field_view(world, "height", &host));
  CHECK(kiln_field_device_view(world, "height", &view));
  if (view.array.data != host.array.data || view.array.device_type != 1) return 1;
  const int64_t at[] = {9, 17};
  float number = 3;
  CHECK(kiln_field_set(world, "height", at, &number, sizeof number));
  if (((float*)view.array.data)[9 * 32 + 17] != 3) return 1;
  number = 0;
  CHECK(kiln_field_get(world, "height", at, &number, sizeof number));
  if (number != 3) return 1;
  int32_t cell = 7;
  void* address;
  CHECK(kiln_field_get(world, "smoke", at, &cell, sizeof cell));
  CHECK(kiln_field_locate(world, "smoke", at, 0, 0, &address));
  if (cell != 0 || address != NULL) return 1; /* reading activates nothing */
  cell = 4;
  CHECK(kiln_field_set(world, "smoke", at, &cell, sizeof cell));
  CHECK(kiln_field_locate(world, "smoke", at, 0, 0, &address));
  if (address == NULL || *(int32_t*)address != 4) return 1;
  CHECK(kiln_world_free(world));
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  kiln_context* context;
  kiln_module *module, *copy;
  CHECK(kiln_context_new(NULL, &context));
  CHECK(kiln_module_open(context, argv[1], NULL, &module));
  if (run(module) != 0 || share_memory(module) != 0 || elements(module) != 0) return 1;
  if (open_bytes(context, argv[1], &copy) != 0 || run(copy) != 0) return 1;
  if (kiln_context_free(context) != KILN_FAILED_PRECONDITION) return 1;
  CHECK(kiln_module_free(copy));
  CHECK(kiln_module_free(module));
  CHECK(kiln_context_free(context));
  return 0;
}
