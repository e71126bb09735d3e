// Parses arbitrary text as the daemon's configuration file. The parser must refuse it with the
// place of the mistake, or accept it with the same meaning after writing it again.
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>

#include <cstdlib>
#include <string>

#include "absl/strings/match.h"
#include "server/daemon/config.h"

namespace {

constexpr char kPath[] = "/etc/kiln/kilnd.conf";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  (void)kiln::IsLoopback(text);
  const auto config = kiln::ParseConfig(text, kPath);
  if (!config.ok()) {
    if (!absl::IsInvalidArgument(config.status())) std::abort();
    if (!absl::StartsWith(config.status().message(), std::string(kPath) + ":")) std::abort();
    return 0;
  }
  std::string written;
  google::protobuf::TextFormat::PrintToString(*config, &written);
  const auto again = kiln::ParseConfig(written, kPath);
  if (!again.ok()) std::abort();
  if (!google::protobuf::util::MessageDifferencer::Equals(*again, *config)) std::abort();
  // And can be handed to kilnd-remote.
  kiln::proto::Config handed;
  if (!handed.ParseFromString(config->SerializeAsString())) std::abort();
  return 0;
}
