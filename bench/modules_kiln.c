/* Opens a module of 20 kernels and launches one of them: see bench/modules.py. */
#include "kiln/kiln.h"
#include "modules.h"

static void check(kiln_status status) {
  if (status == KILN_OK) return;
  fprintf(stderr, "%s\n", kiln_error());
  exit(1);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const double start = now();
  kiln_context* context;
  kiln_module* module;
  const kiln_kernel* kernels[kKernels];
  check(kiln_context_new(NULL, &context));
  check(kiln_module_open(context, argv[1], NULL, &module));
  for (int i = 0; i < kKernels; ++i) {
    char name[16];
    snprintf(name, sizeof name, "scale%d", i);
    kernels[i] = kiln_module_kernel(module, name);
    if (kernels[i] == NULL) return 1;
  }
  const double opened = now() - start;

  float data[kElements] = {0};
  const int64_t shape = kElements;
  const kiln_array array = kiln_array_of(data, KILN_F32, 1, &shape);
  const kiln_arg args[] = {kiln_array_arg(&array), kiln_float(0.5)};
  const float factor = 0.5f;
  union {
    float value;
    uint32_t bits;
  } half = {factor};
  double checked[kRounds], by_slots[kRounds], c[kRounds];
  for (int round = 0; round < kRounds; ++round) {
    double begin = processor_now();
    for (int i = 0; i < kLaunches; ++i) {
      check(kiln_launch(kernels[0], NULL, args, 2, NULL, NULL));
    }
    checked[round] = (processor_now() - begin) / kLaunches;
    begin = processor_now();
    for (int i = 0; i < kLaunches; ++i) {
      uint64_t slots[3] = {(uint64_t)(uintptr_t)data, kElements, half.bits};
      check(kiln_launch_slots(kernels[0], NULL, slots, NULL, NULL));
    }
    by_slots[round] = (processor_now() - begin) / kLaunches;
    begin = processor_now();
    for (int i = 0; i < kLaunches; ++i) { /* the loop itself, as a C function */
      for (int e = 0; e < kElements; ++e) data[e] = data[e] * factor;
      __asm__ volatile("" : : "r"(data) : "memory");
    }
    c[round] = (processor_now() - begin) / kLaunches;
  }
  printf("{\"open\": %.9f, \"checked\": %.12f, \"slots\": %.12f, \"loop in C\": %.12f}\n", opened,
         median(checked), median(by_slots), median(c));
  return 0;
}
