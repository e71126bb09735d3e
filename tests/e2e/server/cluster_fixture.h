// Several kilnds with separate homes and one configuration, like several machines; and the Redis
// that they share.
#ifndef KILN_TESTS_E2E_SERVER_CLUSTER_FIXTURE_H_
#define KILN_TESTS_E2E_SERVER_CLUSTER_FIXTURE_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/server/daemon_fixture.h"

namespace kiln {

// The test's own redis-server, on a unix socket, without persistence.
class RedisServer {
 public:
  // Starts nothing.
  RedisServer();
  ~RedisServer();

  // Tests that need redis-server cannot run without it.
  static bool Installed();

  void Start(const std::vector<std::string>& flags = {});
  void Signal(int signal) const;
  // Kills it by SIGKILL.
  void Kill();
  // Sends a command (words) and returns the text or integer of the reply.
  std::string Command(const std::vector<std::string>& words) const;
  const std::string& socket_path() const { return socket_path_; }

 private:
  std::string directory_;
  std::string socket_path_;
  pid_t pid_ = -1;
};

class ClusterTest : public testing::Test {
 protected:
  ClusterTest();
  ~ClusterTest() override;

  // Starts `count` kilnds, with `config` (proto/config.proto as text) each.
  void StartKilnds(int count, const std::string& config,
                   const std::vector<std::string>& flags = {});
  void StartKilnd(int i, const std::vector<std::string>& flags = {});
  // Starts another kilnd with its own home and configuration; returns its number.
  int AddKilnd(const std::string& config, const std::vector<std::string>& flags = {});
  // Sends `signal` to kilnd `i` and waits for its exit.
  void StopKilnd(int i, int signal);
  TestClient Client(int i) const;
  pid_t Pid(int i) const;
  std::string LogText(int i) const { return ReadFile(homes_[i]->LogPath()); }
  // Names of the jobs that all workers began.
  std::vector<std::string> Jobs() const;
  void AwaitJobs(size_t count) const;
  std::string TempPath(const std::string& name) const { return dir_ + "/" + name; }

  // The tier of the test's Redis, accepted unsigned; `more` are fields of it.
  std::string RedisConfig(const std::string& redis_fields = "",
                          const std::string& tier_fields = "") const;

  std::string dir_;
  std::vector<std::unique_ptr<Home>> homes_;
  std::unique_ptr<RedisServer> redis_;
};

// An address of this machine without a listener.
std::string FreeAddress();

// Waits at most ten seconds until `done` returns true; returns whether it did.
bool Eventually(const std::function<bool()>& done);

}  // namespace kiln

#endif  // KILN_TESTS_E2E_SERVER_CLUSTER_FIXTURE_H_
