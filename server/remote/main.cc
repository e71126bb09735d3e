// kilnd-remote: kilnd's requests to other machines, in a separate process, so that the libraries'
// size, waits and crashes do not affect the daemon. kilnd starts it if shared tiers are configured,
// exchanges frames with it on descriptor 3, and restarts it if it exits.
//
//   kilnd-remote --fd=3
//
// For `kilnd --try` it reads a configuration (proto::Configure) from standard input, contacts each
// server once, and prints a line for each, separated by tabs: NAME, "good", "note" or "bad", text.
//
//   kilnd-remote --try
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "kiln/proto/remote.pb.h"
#include "server/observe/log.h"
#include "server/remote/serve.h"
#include "server/remote/try_servers.h"

namespace kiln {
namespace {

// kilnd's exit closes the stream, and we release all leases. This alarm is for a process that
// cannot read the stream.
void EndSoon(int) { alarm(1); }

int Try() {
  proto::Configure config;
  if (!config.ParseFromFileDescriptor(STDIN_FILENO)) {
    Log("--try needs what to ask on standard input; kilnd --try starts this program");
    return 2;
  }
  for (const TriedServer& server : TryServers(config)) {
    const char* verdict = !server.status.ok() ? "bad" : server.lacks.empty() ? "good" : "note";
    const std::string words(server.status.ok() ? server.lacks : server.status.message());
    std::printf("%s\t%s\t%s\n", server.name.c_str(), verdict, words.c_str());
  }
  return 0;
}

int Main(int argc, char** argv) {
  LogAs("kilnd-remote");
  int fd = -1;
  for (int i = 1; i < argc; ++i) {
    absl::string_view arg = argv[i];
    if (TakeLogFlag(arg)) continue;
    if (arg == "--try") return Try();
    if (!absl::ConsumePrefix(&arg, "--fd=") || !absl::SimpleAtoi(arg, &fd) || fd < 0) {
      Log("bad argument ", argv[i]);
      return 2;
    }
  }
  if (fd < 0) {
    Log("--fd is missing; kilnd starts this program");
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  signal(SIGTERM, EndSoon);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  const absl::Status status = ServeRemote(fd, [](const std::string& line) { Log(line); });
  if (!status.ok()) Log(status.message());
  // Skips destructors: threads may wait for servers that do not answer.
  _exit(status.ok() ? 0 : 1);
}

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) { return kiln::Main(argc, argv); }
