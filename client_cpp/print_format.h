// The text of one print or assert: the values that a kernel sent, rendered by the
// formats of its source map.
#ifndef KILN_CLIENT_CPP_PRINT_FORMAT_H_
#define KILN_CLIENT_CPP_PRINT_FORMAT_H_

#include <cstdint>
#include <string>

#include "common/language/type.h"
#include "kiln/proto/source_map.pb.h"

namespace kiln {

// Defaults as in the reference: f32 "%f", f64 "%.12f", u1 as 1 or 0, vectors
// "[1, 2]", matrices "[[1, 2], [3, 4]]"; structs as "{a: 1, b: 2}". A piece's spec is
// applied to each scalar. Slots beyond `count` are left out, never read.
std::string RenderFormat(const proto::Format& format, const TypeTable& types,
                         const uint64_t* values, uint32_t count);

// Collects the prints of one launch and writes them to file descriptor 1: at the
// end, when much has come together, or when the last write is some time ago.
class PrintSink {
 public:
  ~PrintSink() { Flush(); }
  void Add(const std::string& text);
  void Flush();

 private:
  std::string pending_;
  int64_t last_write_ns_ = 0;
};

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_PRINT_FORMAT_H_
