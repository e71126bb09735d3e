// The file of this program.
#ifndef KILN_SERVER_DAEMON_OWN_FILE_H_
#define KILN_SERVER_DAEMON_OWN_FILE_H_

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

namespace kiln {

// Whether the file of this program is still the one that was started.
class OwnFile {
 public:
  OwnFile() {
    char path[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
    path_.assign(path, n > 0 ? n : 0);
    if (stat(path_.c_str(), &started_) != 0) path_.clear();
  }
  // A missing file is being replaced: the old daemon continues.
  bool Replaced() const {
    struct stat now;
    return !path_.empty() && stat(path_.c_str(), &now) == 0 &&
           (now.st_ino != started_.st_ino || now.st_size != started_.st_size ||
            now.st_mtim.tv_sec != started_.st_mtim.tv_sec ||
            now.st_mtim.tv_nsec != started_.st_mtim.tv_nsec);
  }

 private:
  std::string path_;
  struct stat started_ = {};
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_OWN_FILE_H_
