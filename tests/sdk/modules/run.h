/* Runs the kernels of sim.py, as its end does, and prints the same. Shared by the programs that
 * open the module in different ways. Returns 0, or 1 after telling what failed. */
#ifndef KILN_TESTS_SDK_MODULES_RUN_H_
#define KILN_TESTS_SDK_MODULES_RUN_H_

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "kiln/kiln.h"

static void print_text(void* self, const char* text, size_t bytes) {
  fwrite(text, 1, bytes, (FILE*)self);
}

static int run(kiln_module* module) {
  kiln_world* world;
  CHECK(kiln_world_new(module, NULL, &world));
  const kiln_arg two = kiln_float(2.0), twenty = kiln_int(20), three = kiln_int(3);
  uint64_t out[3];
  CHECK(kiln_launch(kiln_module_kernel(module, "fill"), world, &two, 1, NULL, NULL));
  CHECK(kiln_launch(kiln_module_kernel(module, "scatter"), world, NULL, 0, NULL, NULL));

  float x[8];
  for (int i = 0; i < 8; ++i) x[i] = (float)i;
  const float one = 1;
  CHECK(kiln_field_write(world, "x", x, sizeof x));
  CHECK(kiln_field_write(world, "loss.grad", &one, sizeof one));
  CHECK(kiln_launch(kiln_module_kernel(module, "square_grad"), world, NULL, 0, NULL, NULL));

  CHECK(kiln_launch(kiln_module_kernel(module, "total"), world, NULL, 0, out, NULL));
  printf("total %g\n", kiln_slot_float(KILN_F64, out[0]));
  CHECK(kiln_launch(kiln_module_kernel(module, "most"), world, NULL, 0, out, NULL));
  printf("most %g\n", kiln_slot_float(KILN_F32, out[0]));
  CHECK(kiln_launch(kiln_module_kernel(module, "burn"), world, &twenty, 1, out, NULL));
  printf("burn %d\n", (int)kiln_slot_int(KILN_I32, out[0]));
  CHECK(kiln_launch(kiln_module_kernel(module, "pack"), world, NULL, 0, out, NULL));
  printf("pack %d\n", (int)kiln_slot_int(KILN_I32, out[0]));
  CHECK(kiln_field_read(world, "x.grad", x, sizeof x));
  printf("grad %g\n", x[3]);

  float vectors[4][3];
  for (int i = 0; i < 12; ++i) vectors[i / 3][i % 3] = 1.5f;
  const int64_t shape[] = {4, 3};
  const kiln_array array = kiln_array_of(vectors, KILN_F32, 2, shape);
  const float factors[] = {1, 2, 3};
  const kiln_arg args[] = {kiln_array_arg(&array), kiln_numbers(KILN_F32, factors, 3)};
  CHECK(kiln_launch(kiln_module_kernel(module, "norms"), world, args, 2, out, NULL));
  printf("norms");
  for (int i = 0; i < 3; ++i) printf(" %g", kiln_slot_float(KILN_F32, out[i]));
  printf("\nvector %g\n", vectors[1][2]);

  int32_t numbers[3] = {0, 0, 0};
  const int64_t length = 3;
  const kiln_array list = kiln_array_of(numbers, KILN_I32, 1, &length);
  const kiln_named_arg named[] = {{"k", kiln_int(5)}, {"a", kiln_array_arg(&list)}};
  CHECK(kiln_graph_run(kiln_module_graph(module, "twice"), world, named, 2, NULL));
  printf("twice %d\n", numbers[2]);

  kiln_launch_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.print = print_text;
  options.print_self = stdout;
  CHECK(kiln_launch(kiln_module_kernel(module, "speak"), world, &three, 1, NULL, &options));
  CHECK(kiln_world_free(world));
  return 0;
}

#endif /* KILN_TESTS_SDK_MODULES_RUN_H_ */
