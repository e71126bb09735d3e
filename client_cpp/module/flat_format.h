// The text of a print or assert as a plain list: texts, each but the last followed by one number.
#ifndef KILN_CLIENT_CPP_MODULE_FLAT_FORMAT_H_
#define KILN_CLIENT_CPP_MODULE_FLAT_FORMAT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/language/type.h"
#include "kiln/proto/source_map.pb.h"

namespace kiln {

struct FlatPiece {
  std::string text;
  std::string spec;
  uint32_t scalar = 0;  // of the number after the text; 0: none
};

// Shows what RenderFormat (client_cpp/print_format.h) shows: brackets and names around the numbers
// of vectors, matrices and structs become texts.
std::vector<FlatPiece> FlatPiecesOf(const proto::Format& format, const TypeTable& types);

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_MODULE_FLAT_FORMAT_H_
