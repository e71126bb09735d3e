/* Runs a module on the CUDA device of a driver: on_cuda MODULE DRIVER. Prints what it was loaded
 * for, what sim.py prints, and what the library says of arrays and of what only the CPU has. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

#define N 3

static int (*mem_alloc)(uint64_t* address, size_t bytes);
static int (*copy_in)(uint64_t to, const void* from, size_t bytes);
static int (*copy_out)(void* to, uint64_t from, size_t bytes);

/* As another CUDA library of the program would. */
static int find_driver(const char* path) {
  void* driver = dlopen(path, RTLD_NOW);
  if (driver == NULL) return 1;
  *(void**)&mem_alloc = dlsym(driver, "cuMemAlloc_v2");
  *(void**)&copy_in = dlsym(driver, "cuMemcpyHtoD_v2");
  *(void**)&copy_out = dlsym(driver, "cuMemcpyDtoH_v2");
  return 0;
}

static kiln_context* context_for(uint32_t device, const char* driver) {
  kiln_context_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.device = device;
  options.cuda_driver = driver;
  kiln_context* context = NULL;
  if (kiln_context_new(&options, &context) != KILN_OK) puts(kiln_error());
  return context;
}

/* Of an array on the device, which kernels use in place, and of arrays that they cannot use. */
static int arrays(kiln_context* context, kiln_module* module) {
  const kiln_kernel* add = kiln_module_kernel(module, "add");
  const int64_t shape[] = {N};
  int32_t numbers[N] = {1, 2, 3};
  uint64_t memory;
  if (mem_alloc(&memory, sizeof numbers) != 0) return 1;
  if (copy_in(memory, numbers, sizeof numbers) != 0) return 1;
  kiln_array array = kiln_array_of((void*)memory, KILN_I32, 1, shape);
  array.device_type = 2;
  kiln_arg args[] = {kiln_array_arg(&array), kiln_int(10)};
  CHECK(kiln_launch(add, NULL, args, 2, NULL, NULL));
  CHECK(kiln_context_synchronize(context));
  if (copy_out(numbers, memory, sizeof numbers) != 0) return 1;
  printf("in place %d %d %d\n", numbers[0], numbers[1], numbers[2]);
  array.data = numbers;
  if (kiln_launch(add, NULL, args, 2, NULL, NULL) != KILN_INVALID_ARGUMENT) return 1;
  printf("%s\n", kiln_error());
  array.device_type = 7;
  if (kiln_launch(add, NULL, args, 2, NULL, NULL) != KILN_INVALID_ARGUMENT) return 1;
  printf("%s\n", kiln_error());
  /* Parts of one array stay parts of it. */
  kiln_array part = kiln_array_of(numbers + 1, KILN_I32, 1, shape);
  int64_t two = 2;
  part.shape = &two;
  args[0] = kiln_array_arg(&part);
  CHECK(kiln_launch(add, NULL, args, 2, NULL, NULL));
  printf("copied %d %d %d\n", numbers[0], numbers[1], numbers[2]);
  return 0;
}

/* Slots that a program fills in itself, with an address of the CPU. */
static int slots(kiln_module* module) {
  const kiln_kernel* add = kiln_module_kernel(module, "add");
  kiln_param array, number;
  array.size = number.size = sizeof array;
  CHECK(kiln_kernel_param(add, 0, &array));
  CHECK(kiln_kernel_param(add, 1, &number));
  int32_t numbers[N] = {0, 0, 5};
  uint64_t values[8] = {0};
  values[array.first_slot] = (uint64_t)numbers;
  values[array.first_slot + 1] = N;
  values[number.first_slot] = 4;
  CHECK(kiln_launch_slots(add, NULL, values, NULL, NULL));
  printf("slots %d %d %d\n", numbers[0], numbers[1], numbers[2]);
  return 0;
}

/* Of the program's own use of a field's memory on the device, beside the library's. */
static int views(kiln_module* module) {
  kiln_world* world;
  CHECK(kiln_world_new(module, NULL, &world));
  const kiln_arg two = kiln_float(2.0);
  const int64_t first[] = {0, 0}, third[] = {3, 5}, last[] = {31, 31};
  float one = 7, height[32][32];
  uint64_t out;
  CHECK(kiln_field_set(world, "height", last, &one, sizeof one)); /* not on the device yet */
  kiln_view view;
  CHECK(kiln_field_device_view(world, "height", &view));
  const uint64_t data = (uint64_t)view.array.data;
  printf("view %d %d %d %d %d\n", (int)view.array.device_type, (int)view.array.device_id,
         (int)view.array.ndim, (int)view.array.shape[1], (int)view.array.strides[0]);
  if (copy_out(height, data, sizeof height) != 0) return 1;
  printf("set before %g\n", height[31][31]);
  CHECK(kiln_launch(kiln_module_kernel(module, "fill"), world, &two, 1, NULL, NULL));
  if (copy_out(height, data, sizeof height) != 0) return 1;
  printf("filled %g %g\n", height[3][5], height[31][31]);
  /* The library's reads see what others write, and others see what it writes. */
  CHECK(kiln_field_get(world, "height", third, &one, sizeof one));
  printf("get %g", one);
  one = 100;
  if (copy_in(data + (3 * 32 + 5) * sizeof one, &one, sizeof one) != 0) return 1;
  CHECK(kiln_field_get(world, "height", third, &one, sizeof one));
  printf(" %g", one);
  CHECK(kiln_field_read(world, "height", height, sizeof height));
  printf(" %g\n", height[3][5]);
  one = -1;
  if (copy_in(data + sizeof one, &one, sizeof one) != 0) return 1;
  CHECK(kiln_field_set(world, "height", first, &one, sizeof one));
  if (copy_out(height, data, sizeof height) != 0) return 1;
  printf("set %g %g %g\n", height[0][0], height[0][1], height[3][5]);
  memset(height, 0, sizeof height);
  height[2][2] = 5;
  CHECK(kiln_field_write(world, "height", height, sizeof height));
  if (copy_out(&one, data + (2 * 32 + 2) * sizeof one, sizeof one) != 0) return 1;
  CHECK(kiln_launch(kiln_module_kernel(module, "total"), world, NULL, 0, &out, NULL));
  printf("written %g %g\n", one, kiln_slot_float(KILN_F64, out));
  const int64_t at[] = {9, 17};
  int32_t many = 0;
  CHECK(kiln_field_get(world, "smoke", at, &many, sizeof many));
  printf("smoke %d", many);
  many = 4;
  CHECK(kiln_field_set(world, "smoke", at, &many, sizeof many));
  many = 0;
  CHECK(kiln_field_get(world, "smoke", at, &many, sizeof many));
  printf(" %d\n", many);
  float place[2] = {1.5, 2.5};
  const int64_t particle = 20;
  CHECK(kiln_field_set(world, "place", &particle, place, sizeof place));
  place[0] = place[1] = 0;
  CHECK(kiln_field_get(world, "place", &particle, place, sizeof place));
  printf("place %g %g\n", place[0], place[1]);
  if (kiln_field_device_view(world, "smoke", &view) != KILN_FAILED_PRECONDITION) return 1;
  printf("%s\n", kiln_error());
  if (kiln_field_get(world, "height", at, &one, 1) != KILN_INVALID_ARGUMENT) return 1;
  printf("%s\n", kiln_error());
  if (kiln_field_get(world, "small", at, &many, sizeof many) != KILN_UNIMPLEMENTED) return 1;
  printf("%s\n", kiln_error());
  const int64_t beyond[] = {0, 32};
  if (kiln_field_set(world, "height", beyond, &one, sizeof one) != KILN_OUT_OF_RANGE) return 1;
  printf("%s\n", kiln_error());
  CHECK(kiln_world_free(world));
  return 0;
}

static int refusals(kiln_module* module) {
  kiln_world* world;
  CHECK(kiln_world_new(module, NULL, &world));
  kiln_view view;
  if (kiln_field_view(world, "height", &view) != KILN_FAILED_PRECONDITION) return 1;
  printf("%s\n", kiln_error());
  const int64_t at[] = {1, 2};
  void* address;
  if (kiln_field_locate(world, "height", at, 0, 0, &address) != KILN_UNIMPLEMENTED) return 1;
  printf("%s\n", kiln_error());
  CHECK(kiln_world_free(world));
  kiln_world_options small;
  memset(&small, 0, sizeof small);
  small.size = sizeof small;
  small.max_bytes = 64;
  if (kiln_world_new(module, &small, &world) != KILN_RESOURCE_EXHAUSTED) return 1;
  return 0;
}

/* What contexts for one device say of the module. */
static void opened_for(uint32_t device, const char* path, const char* driver) {
  kiln_context* context = context_for(device, driver);
  kiln_module* module;
  if (kiln_module_open(context, path, NULL, &module) != KILN_OK) {
    const char* reason = strstr(kiln_error(), ": ");
    printf("%s\n", reason == NULL ? kiln_error() : reason + 2);
  } else {
    printf("%s\n", kiln_module_target(module));
    kiln_module_free(module);
  }
  kiln_context_free(context);
}

int main(int argc, char** argv) {
  if (argc != 3 || find_driver(argv[2]) != 0) return 2;
  kiln_context* context = context_for(KILN_DEVICE_BEST, argv[2]);
  kiln_module* module;
  CHECK(kiln_module_open(context, argv[1], NULL, &module));
  printf("%s\n", kiln_module_target(module));
  if (run(module) != 0 || arrays(context, module) != 0 || slots(module) != 0) return 1;
  if (views(module) != 0 || refusals(module) != 0) return 1;
  CHECK(kiln_module_free(module));
  CHECK(kiln_context_free(context));
  opened_for(KILN_DEVICE_CPU, argv[1], NULL);
  opened_for(KILN_DEVICE_CUDA, argv[1], argv[2]);
  return context_for(KILN_DEVICE_BEST, "/other/libcuda.so") == NULL ? 0 : 1;
}
