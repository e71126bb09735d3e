// A fake kiln-worker or kilnd, depending on the name of the program, for tests of the client. It
// "compiles" every unit into the runtime's test kernel.
//
// $KILN_FAKE is a list of words, separated by commas:
//   die=FILE   the worker dies at a job unless FILE exists, and makes FILE
//   hang       nothing is answered
//   protocol   greets with another protocol
//   error      answers every job with an ErrorReply
//   diagnose   answers every job with an error of the user's program
//   garbage    answers with bytes that are not an entry
//   priority   reports the request's priority as the tier
//   full=N     refuses the first N jobs for 40 ms
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/artifact/entry.h"
#include "common/home/home.h"
#include "common/unit/canonical.h"
#include "common/wire/framing.h"
#include "common/wire/version.h"
#include "kiln/proto/service.pb.h"

namespace kiln {
namespace {

const Digest kCompiler = Sha256Of("fake compiler");

std::string Mode(absl::string_view name) {
  const char* modes = std::getenv("KILN_FAKE");
  for (absl::string_view mode : absl::StrSplit(modes == nullptr ? "" : modes, ',')) {
    if (mode == name) return "yes";
    if (absl::ConsumePrefix(&mode, std::string(name) + "=")) return std::string(mode);
  }
  return "";
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string program;  // "kilnd" or "kiln-worker"

// Entries made since the start; with KILN_FAKE=remember a look-up finds them.
std::map<std::string, std::string> entries;

proto::CompileReply Compile(const proto::CompileRequest& request, const std::string& tier) {
  proto::CompileReply reply;
  if (!Mode("diagnose").empty()) {
    proto::Diagnostic* diagnostic = reply.add_diagnostics();
    diagnostic->set_severity(proto::ERROR);
    diagnostic->set_message("no");
    return reply;
  }
  const Key key = UnitKey(request.unit(), kCompiler);
  proto::ArtifactInfo info;
  info.set_compile_seconds(1.5);
  info.set_compiler(kCompiler.Hex());
  const proto::CompileUnit unit = *ParseCanonical(request.unit());
  *info.mutable_target() = unit.target();
  info.set_relocatable(unit.options().relocatable());
  proto::Task* task = info.add_tasks();
  task->set_kind(proto::TASK_SERIAL);
  task->set_symbol("add_one");
  info.add_arguments()->set_scalar(proto::I64);
  info.add_results(proto::I64);
  reply.set_digest(std::string(key.view()));
  reply.set_entry(EncodeEntry(key, ReadFile(std::getenv("KILN_FAKE_SO")), info));
  if (!Mode("garbage").empty()) reply.set_entry("garbage");
  entries[reply.digest()] = reply.entry();
  const bool warm = request.priority() == proto::PRIORITY_WARM;
  reply.set_tier(warm && !Mode("priority").empty() ? "compiled to warm" : tier);
  reply.set_seconds(1.5);
  return reply;
}

proto::LookupReply Lookup(const proto::LookupRequest& request) {
  proto::LookupReply reply;
  for (const std::string& digest : request.digests()) {
    proto::LookupReply::Result* result = reply.add_results();
    const auto at = entries.find(digest);
    if (at == entries.end() || Mode("remember").empty()) continue;
    result->set_found(true);
    result->set_entry(at->second);
    result->set_tier("memory");
  }
  return reply;
}

// The "module" is its symbol and the name of the program that linked it.
bool Link(const Frame& frame, int fd) {
  proto::LinkRequest request;
  if (!request.ParseFromString(frame.body)) return false;
  proto::LinkReply reply;
  reply.set_file(request.symbol() + " by " + program);
  WriteFrame(fd, FrameType::kLinkReply, frame.id, reply).IgnoreError();
  return true;
}

// Serves one stream. True: a request asked for shutdown.
bool Serve(int fd, const std::string& tier) {
  for (;;) {
    auto frame = ReadFrame(fd);
    if (!frame.ok()) return false;
    if (!Mode("hang").empty()) sleep(60);
    if (frame->type == FrameType::kHello) {
      proto::HelloReply reply;
      reply.set_protocol(kProtocolVersion + (Mode("protocol").empty() ? 0 : 1));
      reply.set_build("fake");
      reply.set_compiler(std::string(kCompiler.view()));
      WriteFrame(fd, FrameType::kHelloReply, frame->id, reply).IgnoreError();
    } else if (frame->type == FrameType::kCompile || frame->type == FrameType::kLink) {
      std::string marker = Mode("die");
      if (!marker.empty() && access(marker.c_str(), F_OK) != 0) {
        if (marker != "always") std::ofstream(marker) << "died";
        raise(SIGKILL);
      }
      static std::atomic<int> turned_away{0};
      int full = 0;
      if (absl::SimpleAtoi(Mode("full"), &full) && turned_away++ < full) {
        proto::ErrorReply error;
        error.set_code(static_cast<int>(absl::StatusCode::kResourceExhausted));
        error.set_message("full");
        error.set_retry_after_ms(40);
        WriteFrame(fd, FrameType::kError, frame->id, error).IgnoreError();
        continue;
      }
      if (!Mode("error").empty()) {
        proto::ErrorReply error;
        error.set_code(static_cast<int>(absl::StatusCode::kInternal));
        error.set_message("out of order");
        WriteFrame(fd, FrameType::kError, frame->id, error).IgnoreError();
        continue;
      }
      if (frame->type == FrameType::kLink) {
        if (!Link(*frame, fd)) return false;
        continue;
      }
      proto::CompileRequest request;
      if (!request.ParseFromString(frame->body)) return false;
      WriteFrame(fd, FrameType::kCompileReply, frame->id, Compile(request, tier)).IgnoreError();
    } else if (frame->type == FrameType::kLookup) {
      proto::LookupRequest request;
      if (!request.ParseFromString(frame->body)) return false;
      WriteFrame(fd, FrameType::kLookupReply, frame->id, Lookup(request)).IgnoreError();
    } else if (frame->type == FrameType::kStats) {
      proto::StatsReply reply;
      reply.set_hits(77);
      reply.set_pid(getpid());
      WriteFrame(fd, FrameType::kStatsReply, frame->id, reply).IgnoreError();
    } else if (frame->type == FrameType::kShutdown) {
      WriteFrame(fd, FrameType::kShutdownReply, frame->id, proto::ShutdownReply()).IgnoreError();
      return true;
    }
  }
}

// The simplest possible daemon: it only ensures that it is alone on its socket.
int Daemon(const std::string& home_dir) {
  const std::string path = *Home::Find(home_dir)->SocketPath();
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, path.c_str());
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(probe, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return 0;
    unlink(path.c_str());
    if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return 1;
  }
  listen(listener, 64);
  if (fork() != 0) return 0;
  setsid();
  alarm(120);  // ends this process if its test does not
  std::ofstream(home_dir + "/fake.pid") << getpid();
  std::ofstream(home_dir + "/kilnd.pid") << getpid();
  for (;;) {
    int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return 1;
    std::thread([fd, path] {
      if (Serve(fd, "compiled")) {
        unlink(path.c_str());
        _exit(0);
      }
      close(fd);
    }).detach();
  }
}

int Main(int argc, char** argv) {
  std::string home;
  int fd = -1;
  program = std::string(argv[0]).substr(std::string(argv[0]).rfind('/') + 1);
  for (int i = 1; i < argc; ++i) {
    absl::string_view arg = argv[i];
    if (arg == "--print-compiler-id") {
      char self[4096];
      const std::string id = kCompiler.Hex();
      std::printf("%s %s /none\n%s\n", id.c_str(), id.c_str(), realpath(argv[0], self));
      return 0;
    }
    if (absl::ConsumePrefix(&arg, "--home=")) home = std::string(arg);
    if (absl::ConsumePrefix(&arg, "--fd=")) (void)absl::SimpleAtoi(arg, &fd);
  }
  if (program == "kilnd") return Daemon(home);
  Serve(fd, "compiled");
  return 0;
}

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) { return kiln::Main(argc, argv); }
