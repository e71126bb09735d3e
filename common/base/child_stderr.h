// A child process's standard error, kept for its parent: a memory file of bounded size. The child
// never waits for a reader, and writes to none of its parent's files.
#ifndef KILN_COMMON_BASE_CHILD_STDERR_H_
#define KILN_COMMON_BASE_CHILD_STDERR_H_

#include <string>

namespace kiln {

class ChildStderr {
 public:
  ChildStderr();
  ~ChildStderr();
  ChildStderr(const ChildStderr&) = delete;
  ChildStderr& operator=(const ChildStderr&) = delete;

  // The descriptor to install as the child's standard error; close-on-exec. /dev/null if there is
  // no memory for the file.
  int fd() const { return fd_; }
  // The last line, safe inside a log line (plain_text.h); empty if the child wrote nothing.
  std::string LastLine() const;

 private:
  const int fd_;
};

}  // namespace kiln

#endif  // KILN_COMMON_BASE_CHILD_STDERR_H_
