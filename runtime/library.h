// Shared libraries with code of Kiln, opened by the system's loader.
//
// Thread safety: all functions may be called from any thread.
#ifndef KILN_RUNTIME_LIBRARY_H_
#define KILN_RUNTIME_LIBRARY_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.h"

namespace kiln {

// The loader's handle of the library at `path`, closed with the last owner. The loader takes a path
// that it knows for the same library: a file must never be reused for other content. Unavailable if
// the directory cannot be mapped executable; DataLoss if the file is no library.
Result<std::shared_ptr<void>> OpenLibrary(const std::string& path);
// The same for an open file, as a library of its own even if its path, or another file at its path,
// was opened before. The descriptor may be closed afterwards.
Result<std::shared_ptr<void>> OpenLibraryDescriptor(int fd);
// The same for a library's bytes, through an anonymous file. Where systems do not execute those,
// through a file in the first suitable one of `directories`, /tmp, /dev/shm and /var/tmp.
Result<std::shared_ptr<void>> OpenLibraryBytes(std::string_view bytes,
                                               const std::vector<std::string>& directories = {});

}  // namespace kiln

#endif  // KILN_RUNTIME_LIBRARY_H_
