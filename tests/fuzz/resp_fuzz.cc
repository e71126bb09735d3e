// Parses arbitrary answers of a Redis server, in pieces of any size. The parser must return values
// until the stream ends or is refused. The pieces' sizes must not change the values, which must not
// contain more than the server sent.
#include <cstdlib>
#include <string>
#include <vector>

#include "server/remote/resp.h"

namespace {

constexpr size_t kMaxText = 4096;

struct Outcome {
  std::vector<kiln::RedisValue> values;
  bool refused = false;
};

Outcome Read(absl::string_view bytes, size_t piece) {
  Outcome outcome;
  kiln::RespReader reader(kMaxText);
  for (size_t at = 0; at < bytes.size(); at += piece) {
    reader.Feed(bytes.substr(at, piece));
    while (true) {
      auto value = reader.Next();
      if (!value.ok()) {
        outcome.refused = true;
        return outcome;
      }
      if (!value->has_value()) break;
      outcome.values.push_back(**std::move(value));
    }
  }
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const absl::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Outcome whole = Read(bytes, size);
  const Outcome pieces = Read(bytes, 1 + data[0]);
  if (whole.values.size() != pieces.values.size()) std::abort();
  size_t text = 0;
  for (size_t i = 0; i < whole.values.size(); ++i) {
    const kiln::RedisValue& value = whole.values[i];
    if (value.kind != pieces.values[i].kind || value.text != pieces.values[i].text) std::abort();
    if (value.text.size() > kMaxText) std::abort();
    text += value.text.size();
  }
  if (text > size) std::abort();
  return 0;
}
