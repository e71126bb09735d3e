#include "client_cpp/recorded_kernel.h"

#include <utility>

#include "kiln/proto/service.pb.h"

namespace kiln {

std::string RecordedKernel(std::string unit, const proto::SourceMap& source_map) {
  proto::CompileRequest recorded;
  recorded.set_unit(std::move(unit));
  recorded.set_name(source_map.kernel());
  proto::SourceMap* map = recorded.mutable_source_map();
  *map = source_map;
  for (std::string& file : *map->mutable_files()) file.erase(0, file.rfind('/') + 1);
  return recorded.SerializeAsString();
}

}  // namespace kiln
