/* Ends a function that returns an int with 1, after telling what failed. */
#ifndef KILN_TESTS_SDK_MODULES_CHECK_H_
#define KILN_TESTS_SDK_MODULES_CHECK_H_

#include <stdio.h>

#include "kiln/kiln.h"

#define CHECK(call)                                                     \
  do {                                                                  \
    if ((call) != KILN_OK) {                                            \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, kiln_error()); \
      return 1;                                                         \
    }                                                                   \
  } while (0)

#endif /* KILN_TESTS_SDK_MODULES_CHECK_H_ */
