/* Prints the level of x86-64 for which a module was loaded, or why it was not. */
#include <stdio.h>

#include "kiln/kiln.h"

int main(int argc, char** argv) {
  kiln_context* context;
  kiln_module* module;
  if (argc != 2 || kiln_context_new(NULL, &context) != KILN_OK) return 2;
  if (kiln_module_open(context, argv[1], NULL, &module) != KILN_OK) {
    puts(kiln_error());
    return 1;
  }
  puts(kiln_module_target(module));
  return 0;
}
