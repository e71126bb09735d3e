/* Runs the module that is linked into the program. */
#include "run.h"

extern const char kiln_module_v1_sim[];

int main(void) {
  kiln_context* context;
  kiln_module* module;
  CHECK(kiln_context_new(NULL, &context));
  CHECK(kiln_module_open_linked(context, kiln_module_v1_sim, NULL, &module));
  if (run(module) != 0) return 1;
  CHECK(kiln_module_free(module));
  CHECK(kiln_context_free(context));
  return 0;
}
