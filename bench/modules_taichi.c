/* The same with Taichi's C interface. */
#include <string.h>
#include <taichi/taichi_core.h>

#include "modules.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const double start = now();
  TiRuntime runtime = ti_create_runtime(TI_ARCH_X64, 0);
  TiAotModule module = ti_load_aot_module(runtime, argv[1]);
  TiKernel kernels[kKernels];
  for (int i = 0; i < kKernels; ++i) {
    char name[16];
    snprintf(name, sizeof name, "scale%d", i);
    kernels[i] = ti_get_aot_module_kernel(module, name);
  }
  if (ti_get_last_error(NULL, NULL) < TI_ERROR_SUCCESS) return 1;
  const double opened = now() - start;

  TiMemoryAllocateInfo info;
  memset(&info, 0, sizeof info);
  info.size = kElements * sizeof(float);
  info.host_write = info.host_read = TI_TRUE;
  TiArgument args[2];
  memset(args, 0, sizeof args);
  args[0].type = TI_ARGUMENT_TYPE_NDARRAY;
  args[0].value.ndarray.memory = ti_allocate_memory(runtime, &info);
  args[0].value.ndarray.shape.dim_count = 1;
  args[0].value.ndarray.shape.dims[0] = kElements;
  args[0].value.ndarray.elem_type = TI_DATA_TYPE_F32;
  args[1].type = TI_ARGUMENT_TYPE_F32;
  args[1].value.f32 = 0.5f;
  ti_launch_kernel(runtime, kernels[0], 2, args);
  ti_wait(runtime);
  double seconds[kRounds];
  for (int round = 0; round < kRounds; ++round) {
    const double begin = now();
    for (int i = 0; i < kLaunches / 20; ++i) ti_launch_kernel(runtime, kernels[0], 2, args);
    ti_wait(runtime);
    seconds[round] = (now() - begin) / (kLaunches / 20);
  }
  if (ti_get_last_error(NULL, NULL) < TI_ERROR_SUCCESS) return 1;
  printf("{\"open\": %.9f, \"checked\": %.12f}\n", opened, median(seconds));
  return 0;
}
