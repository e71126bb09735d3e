/* Prints the library's version, and what it says of a module that is not there. */
#include <kiln/kiln.h>
#include <stdio.h>

int main(void) {
  kiln_context* context;
  kiln_module* module = NULL;
  printf("libkiln %u\n", (unsigned)kiln_version());
  if (kiln_context_new(NULL, &context) != KILN_OK) return 1;
  if (kiln_module_open(context, "missing.kiln", NULL, &module) == KILN_OK) return 1;
  printf("%s\n", kiln_error());
  return kiln_context_free(context) == KILN_OK ? 0 : 1;
}
