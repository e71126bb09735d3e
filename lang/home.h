// Where Kiln keeps things: everything lies under one directory, KILN_HOME, so
// that two homes never meet.
//
//   <home>/cache/<2 hex>/<64 hex>.so   entries (lang/entry.h)
//   <home>/cache/tmp/                  files being written, renamed when whole
//   <home>/warm/                       what clients know of kernels (client_py/kiln/warm)
//   <home>/hits.log                    32-byte digests that clients hit, appended
//   <home>/compiler-id                 lang/compiler_id.h
//   <home>/stats                       the daemon's counters between lives
//   <home>/kilnd.log, kilnd.pid
// The socket has a short path of its own (107 bytes is the limit), named by a
// hash of the home: /tmp/kiln-<uid>/ (0700), <hash>.sock. Not $XDG_RUNTIME_DIR: a
// client from cron or ssh, where it is unset, must find the same daemon. The daemon's
// lock lies beside it, since a home may be seen by several machines and containers: each
// of them has its own daemon.
#ifndef KILN_LANG_HOME_H_
#define KILN_LANG_HOME_H_

#include <string>

#include "absl/status/statusor.h"
#include "lang/digest.h"

namespace kiln {

class Home {
 public:
  // `dir`, else $KILN_HOME, else ~/.cache/kiln; made absolute. Creates nothing.
  static absl::StatusOr<Home> Find(const std::string& dir = "");

  const std::string& dir() const { return dir_; }
  std::string CacheDir() const { return dir_ + "/cache"; }
  std::string TempDir() const { return dir_ + "/cache/tmp"; }
  std::string WarmDir() const { return dir_ + "/warm"; }
  std::string EntryPath(const Digest& key) const;
  std::string HitLogPath() const { return dir_ + "/hits.log"; }
  std::string CompilerIdPath() const { return dir_ + "/compiler-id"; }
  std::string StatsPath() const { return dir_ + "/stats"; }
  std::string LogPath() const { return dir_ + "/kilnd.log"; }
  std::string PidPath() const { return dir_ + "/kilnd.pid"; }
  // The socket's directory is made (0700) and checked to be ours when asked for.
  absl::StatusOr<std::string> SocketPath() const;
  // Held by the daemon as long as it lives. In the same directory.
  std::string LockPath() const { return PathBesideSocket(".lock"); }
  // Says where the dashboard is. In the same directory.
  std::string DashboardPath() const { return PathBesideSocket(".dashboard"); }

  // Makes the home and its cache directories, 0700.
  absl::Status Create() const;

 private:
  explicit Home(std::string dir) : dir_(std::move(dir)) {}
  std::string PathBesideSocket(const char* suffix) const;
  std::string dir_;
};

}  // namespace kiln

#endif  // KILN_LANG_HOME_H_
