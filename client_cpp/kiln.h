// Kiln for C++ programs: build a kernel, compile or fetch it, launch it on fields.
// examples/cpp/saxpy.cc shows the whole way.
#ifndef KILN_CLIENT_CPP_KILN_H_
#define KILN_CLIENT_CPP_KILN_H_

#include "client_cpp/fields.h"          // IWYU pragma: export
#include "client_cpp/instance.h"        // IWYU pragma: export
#include "client_cpp/kernel_builder.h"  // IWYU pragma: export
#include "client_cpp/launcher.h"        // IWYU pragma: export
#include "client_cpp/session.h"         // IWYU pragma: export
#include "client_cpp/tape.h"            // IWYU pragma: export
#include "runtime/random.h"             // IWYU pragma: export

#endif  // KILN_CLIENT_CPP_KILN_H_
