// Arbitrary requests to kilnd-web with arbitrary answers of the daemon: every request gets a
// response, and a JSON response is valid JSON, whatever the names of kernels and callers. The first
// byte selects caller and method; a line of path and query follows, then the daemon's answers, each
// after its length in two bytes.
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <cstdlib>
#include <string>

#include "absl/strings/str_split.h"
#include "server/web_front/dashboard.h"
#include "server/web_front/disassembly.h"
#include "server/web_front/peer.h"
#include "server/web_front/site.h"

namespace kiln {
namespace {

absl::string_view answers;  // that the daemon has not given yet

std::string TakeAnswer() {
  const size_t size = static_cast<uint8_t>(answers[0]) * 256 + static_cast<uint8_t>(answers[1]);
  const std::string answer(answers.substr(2, size));
  answers.remove_prefix(2 + answer.size());
  return answer;
}

// As libmicrohttpd takes it apart, but for percent signs.
WebRequest RequestOf(uint8_t how, absl::string_view target) {
  WebRequest request;
  request.own_user = how & 1;
  request.knows_secret = how & 2;
  request.method = how & 4 ? "POST" : how & 8 ? "HEAD" : how & 16 ? "PUT" : "GET";
  const std::pair<std::string, std::string> parts = absl::StrSplit(target, absl::MaxSplits('?', 1));
  request.path = parts.first;
  for (absl::string_view argument : absl::StrSplit(parts.second, '&')) {
    const std::pair<std::string, std::string> both =
        absl::StrSplit(argument, absl::MaxSplits('=', 1));
    request.query[both.first] = both.second;
  }
  return request;
}

void Check(const WebResponse& response) {
  if (response.status < 200 || response.status > 599) std::abort();
  if (response.type != "application/json") return;
  google::protobuf::Value value;
  if (!google::protobuf::util::JsonStringToMessage(response.body, &value).ok()) std::abort();
}

}  // namespace

// In the place of those that ask other processes, and of a page.
const char kDashboardPage[] = "page";

absl::Status DaemonLink::Call(FrameType, const google::protobuf::MessageLite&,
                              google::protobuf::MessageLite* reply, absl::Duration) const {
  if (answers.size() < 2) return absl::UnavailableError("the daemon is gone");
  if (reply->ParseFromString(TakeAnswer())) return absl::OkStatus();
  return absl::DataLossError("no such message");
}

absl::StatusOr<std::string> Disassemble(absl::string_view elf) { return std::string(elf); }

}  // namespace kiln

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const absl::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const absl::string_view target = bytes.substr(0, bytes.find('\n'));
  kiln::answers = bytes.substr(std::min(target.size() + 1, bytes.size()));
  (void)kiln::IsLoopbackHost(target);
  const kiln::DaemonLink daemon("");
  kiln::History history;
  kiln::proto::MetricsReply metrics;
  for (int second = 0; kiln::answers.size() >= 2 && second < 2; ++second) {
    if (!metrics.ParseFromString(kiln::TakeAnswer())) metrics.Clear();
    history.Add(absl::FromUnixSeconds(1000 + 100 * second), metrics);
  }
  const kiln::Site site(&daemon, &history);
  kiln::Check(site.Answer(kiln::RequestOf(data[0], target)));
  return 0;
}
