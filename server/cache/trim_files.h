// A budget for files that clients write and nobody indexes: what they know of kernels
// (<home>/warm). Each client sees its own few only; the daemon sees to the sum.
#ifndef KILN_SERVER_CACHE_TRIM_FILES_H_
#define KILN_SERVER_CACHE_TRIM_FILES_H_

#include <cstdint>
#include <string>

namespace kiln {

// If the files below `dir` take more than `max_bytes` of the disk, deletes those that were
// read or written longest ago until the rest take nine tenths of it. Returns how many it
// deleted. Looks at every file: for a background thread. Where the file system keeps no
// times of reading, writing alone counts. Follows no symbolic links, looks into no directory that
// is not own (lang/folder.h), and counts and deletes only files with names as clients give them.
int TrimFiles(const std::string& dir, uint64_t max_bytes);

}  // namespace kiln

#endif  // KILN_SERVER_CACHE_TRIM_FILES_H_
