/* Uses the functions of a generated header. */
#include <stdio.h>

#include "sim.h"

static int fail(void) {
  fprintf(stderr, "%s\n", kiln_error());
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  kiln_context* context;
  sim_module sim;
  kiln_world* world;
  if (kiln_context_new(NULL, &context) != KILN_OK) return fail();
  if (sim_open(context, argv[1], &sim) != KILN_OK) return fail();
  if (kiln_world_new(sim.module, NULL, &world) != KILN_OK) return fail();
  double total;
  if (sim_fill(&sim, world, 2) != KILN_OK) return fail();
  if (sim_total(&sim, world, &total) != KILN_OK) return fail();
  printf("total %g\n", total);
  kiln_view height;
  if (sim_height(world, &height) != KILN_OK) return fail();
  const float* numbers_of_height = (const float*)height.array.data;
  printf("height %g\n", (double)numbers_of_height[3 * height.strides[0] + height.strides[1]]);
  float vectors[4][3];
  for (int i = 0; i < 12; ++i) vectors[i / 3][i % 3] = 1.5f;
  const float by[3] = {1, 2, 3};
  const int64_t four = 4, three = 3;
  float norms[3];
  if (sim_norms(&sim, &vectors[0][0], &four, by, norms) != KILN_OK) return fail();
  printf("norms %g %g %g\n", (double)norms[0], (double)norms[1], (double)norms[2]);
  printf("vector %g\n", (double)vectors[3][0]);
  int32_t numbers[3] = {4, 4, 4};
  float sum;
  if (sim_add(&sim, numbers, &three, 5) != KILN_OK) return fail();
  if (sim_sum_of(&sim, numbers, &three, &sum) != KILN_OK) return fail();
  printf("sum %g\n", (double)sum);
  if (sim_open(context, argv[2], &sim) == KILN_OK) return 3;
  printf("%.30s\n", kiln_error());
  kiln_world_free(world);
  sim_close(&sim);
  kiln_context_free(context);
  return 0;
}
