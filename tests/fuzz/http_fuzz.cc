// Arbitrary bytes from an HTTP cache: the tier must return nothing, a failure, or bytes that the
// action's result names. The first byte of the input selects the result: the input's own, or one
// that names the input's blob. Two bytes contain the length of the first answer. The answers
// follow: to a request for a result, and to any other request.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/base/clock.h"
#include "common/base/deterministic.h"
#include "server/remote/grpc_endpoint.h"
#include "server/remote/http/tier.h"
#include "server/remote/reapi/blob.h"

namespace kiln {
namespace {

struct Answers {
  std::string result, other;
};
absl::Mutex mutex(absl::kConstInit);
Answers answers;

std::string Ok(absl::string_view body) {
  return absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: ", body.size(), "\r\n\r\n", body);
}

// Reads a question's header, sends the bytes, and has nothing more to say.
void AnswerOne(int fd) {
  std::string question;
  char piece[4096];
  while (!absl::StrContains(question, "\r\n\r\n")) {
    const ssize_t n = recv(fd, piece, sizeof piece, 0);
    if (n <= 0) break;
    question.append(piece, static_cast<size_t>(n));
  }
  std::string answer;
  {
    absl::MutexLock lock(&mutex);  // one whose questioner gave up may still be at work
    answer = absl::StrContains(question, "/cache/ac/") ? answers.result : answers.other;
  }
  (void)!send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
  shutdown(fd, SHUT_WR);
  while (recv(fd, piece, sizeof piece, 0) > 0) {  // an end with unread bytes would be an error
  }
  close(fd);
}

// The address of a server that runs as long as the process.
std::string Serve() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(fd, 64) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    std::abort();
  }
  std::thread([fd] {
    while (true) AnswerOne(accept4(fd, nullptr, nullptr, SOCK_CLOEXEC));
  }).detach();
  return absl::StrCat("http://127.0.0.1:", ntohs(address.sin_port), "/cache");
}

RemoteTier* Tier() {
  static RemoteTier* const tier = [] {
    proto::Http config;
    config.set_url(Serve());
    auto made = MakeHttpTier(config);
    if (!made.ok()) std::abort();
    return made->release();
  }();
  return tier;
}

}  // namespace

// Replaces grpc_endpoint.cc: the fuzzer sends no secrets.
bool IsLocalAddress(absl::string_view) { return true; }

}  // namespace kiln

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  absl::string_view bytes(reinterpret_cast<const char*>(data) + 3, size - 3);
  const absl::string_view first = bytes.substr(0, data[1] * 256 + data[2]);
  const absl::string_view rest = bytes.substr(first.size());
  const bool sound = data[0] % 2 == 1;
  kiln::Answers given = {std::string(first), std::string(rest)};
  if (sound) {
    // Correct bytes must be accepted.
    const auto result = kiln::EntryResult(kiln::BlobDigest(rest));
    given = {kiln::Ok(kiln::DeterministicBytes(result)), kiln::Ok(rest)};
  }
  {
    absl::MutexLock lock(&kiln::mutex);
    kiln::answers = given;
  }
  kiln::RemoteTier* tier = kiln::Tier();
  const kiln::Place place(kiln::Sha256Of("place"));
  const absl::Time deadline = kiln::SteadyNow() + absl::Seconds(5);
  const auto entries = tier->Get({place}, deadline);
  if (sound && !rest.empty() && (!entries.ok() || entries->at(0) != rest)) std::abort();
  if (entries.ok()) {
    if (entries->size() != 1) std::abort();
    const std::string& entry = entries->at(0);
    // In pieces its name may be cut.
    const bool whole = !absl::StrContains(absl::AsciiStrToLower(given.result), "chunked");
    if (!entry.empty() && whole && !absl::StrContains(given.result, kiln::Sha256Of(entry).Hex())) {
      std::abort();
    }
  }
  if (data[0] % 4 >= 2) (void)tier->Put(place, "entry", deadline);
  return 0;
}
