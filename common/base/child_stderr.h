// What a child process says on its standard error, kept for the one who started it: a small file
// in memory that cannot grow, so the child neither waits for a reader nor writes to anything of
// its starter's.
#ifndef KILN_COMMON_BASE_CHILD_STDERR_H_
#define KILN_COMMON_BASE_CHILD_STDERR_H_

#include <string>

namespace kiln {

class Said {
 public:
  Said();
  ~Said();
  Said(const Said&) = delete;
  Said& operator=(const Said&) = delete;

  // To become the child's standard error; closed on exec. Without memory for it: /dev/null.
  int fd() const { return fd_; }
  // The last line, as a part of a line (plain_text.h); empty if nothing was said.
  std::string LastLine() const;

 private:
  const int fd_;
};

}  // namespace kiln

#endif  // KILN_COMMON_BASE_CHILD_STDERR_H_
