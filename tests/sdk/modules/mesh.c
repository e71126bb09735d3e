/* Runs the kernel of mesh.py in a second world of the module, and prints what mesh.py prints.
 * A second argument names a CUDA driver. */
#include <string.h>

#include "check.h"

static int show(kiln_world* world) {
  float mass[16], x[16][3];
  int32_t degree[16], owned[3];
  CHECK(kiln_field_read(world, "mesh.verts.mass", mass, sizeof mass));
  CHECK(kiln_field_read(world, "mesh.verts.degree", degree, sizeof degree));
  CHECK(kiln_field_read(world, "mesh.verts.x", x, sizeof x));
  CHECK(kiln_field_read(world, "owned", owned, sizeof owned));
  printf("mass");
  for (int i = 0; i < 16; ++i) printf(" %g", mass[i]);
  printf("\ndegree");
  for (int i = 0; i < 16; ++i) printf(" %d", degree[i]);
  printf("\nowned %d %d %d\n", owned[0], owned[1], owned[2]);
  printf("x %g %g %g\n", x[6][0], x[6][1], x[6][2]);
  return 0;
}

static int use(kiln_module* module) {
  kiln_world *empty, *world;
  float x[16][3], mass[16];
  for (int i = 0; i < 16; ++i) {
    x[i][0] = (float)(i / 4);
    x[i][1] = (float)(i % 4);
    x[i][2] = (float)(i / 4 * (i % 4) % 3);
  }
  CHECK(kiln_world_new(module, NULL, &empty));
  CHECK(kiln_world_new(module, NULL, &world));
  CHECK(kiln_field_write(world, "mesh.verts.x", x, sizeof x));
  CHECK(kiln_launch(kiln_module_kernel(module, "measure"), empty, NULL, 0, NULL, NULL));
  CHECK(kiln_launch(kiln_module_kernel(module, "measure"), world, NULL, 0, NULL, NULL));
  if (show(world) != 0) return 1;
  CHECK(kiln_field_read(empty, "mesh.verts.mass", mass, sizeof mass));
  if (mass[5] != 0) return 1;

  /* Elements that only kernels find. */
  const int64_t at = 6;
  kiln_view view;
  void* address;
  if (kiln_field_get(world, "mesh.verts.x", &at, x[0], sizeof x[0]) == KILN_OK) return 1;
  printf("%s\n", kiln_error());
  if (kiln_field_locate(world, "mesh.verts.x", &at, 0, 0, &address) == KILN_OK) return 1;
  printf("%s\n", kiln_error());
  if (kiln_field_device_view(world, "mesh.verts.x", &view) == KILN_OK) return 1;
  printf("%s\n", kiln_error());
  CHECK(kiln_world_free(empty));
  CHECK(kiln_world_free(world));
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  kiln_context_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  if (argc == 3) {
    options.device = KILN_DEVICE_CUDA;
    options.cuda_driver = argv[2];
  }
  kiln_context* context;
  kiln_module* module;
  CHECK(kiln_context_new(&options, &context));
  CHECK(kiln_module_open(context, argv[1], NULL, &module));
  if (use(module) != 0) return 1;
  CHECK(kiln_module_free(module));
  CHECK(kiln_context_free(context));
  return 0;
}
