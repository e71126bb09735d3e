// A budget for unindexed files that clients write: their records of kernels (<home>/warm). Each
// client sees only its own few; the daemon bounds the sum.
#ifndef KILN_SERVER_CACHE_TRIM_FILES_H_
#define KILN_SERVER_CACHE_TRIM_FILES_H_

#include <cstdint>
#include <string>

namespace kiln {

// If the files below `dir` take more than `max_bytes` of the disk, deletes the least recently read
// or written ones until the rest take nine tenths of it. Returns the number deleted. Reads every
// file's status: for a background thread. If the file system keeps no times of reading, only
// writing counts. Follows no symbolic links, skips directories that are not own
// (common/home/folder.h), and counts and deletes only files with clients' names.
int TrimFiles(const std::string& dir, uint64_t max_bytes);

}  // namespace kiln

#endif  // KILN_SERVER_CACHE_TRIM_FILES_H_
