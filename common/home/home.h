// Where Kiln keeps things: everything lies under one directory, KILN_HOME, so
// that two homes never meet.
//
//   <home>/cache/<2 hex>/<64 hex>.so   entries (common/artifact/entry.h)
//   <home>/cache/tmp/                  files being written, renamed when whole
//   <home>/warm/                       what clients know of kernels (client_py/kiln/warm)
//   <home>/hits.log                    32-byte digests that clients hit, appended
//   <home>/compiler-id                 common/artifact/compiler_id.h
//   <home>/stats                       the daemon's counters between lives
//   <home>/kilnd.conf                  the daemon's configuration (proto/config.proto)
//   <home>/trusted.keys                common/artifact/user_keys.h
//   <home>/kilnd.log, kilnd.pid
// A home may be another user's, or others may write to it: then nothing in it counts but what a
// trusted key signed, and nothing is written there. CheckIsOwn tells; each way into it asks again
// (common/home/folder.h).
//
// The socket has a short path of its own (107 bytes is the limit), named by a
// hash of the home: /tmp/kiln-<uid>/ (0700), <hash>.sock. Not $XDG_RUNTIME_DIR: a
// client from cron or ssh, where it is unset, must find the same daemon. The daemon's
// lock lies beside it, since a home may be seen by several machines and containers: each
// of them has its own daemon. Where another user has made /tmp/kiln-<uid>, the directory has a
// name that nobody could guess, which <home>/socket-directory holds.
#ifndef KILN_COMMON_HOME_HOME_H_
#define KILN_COMMON_HOME_HOME_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/base/digest.h"
#include "common/home/folder.h"

namespace kiln {

class Home {
 public:
  // `dir`, else $KILN_HOME, else ~/.cache/kiln; made absolute. Creates nothing.
  static absl::StatusOr<Home> Find(const std::string& dir = "");

  // OK if nobody but this user and root can have written the home's own files, or can exchange
  // the home. PermissionDenied otherwise: the message names the path, what is wrong with it and
  // what to do. What is not there yet is own. Some microseconds.
  absl::Status CheckIsOwn() const;
  // The same of the home with its cache, which may be a link to elsewhere: what a daemon needs.
  absl::Status CheckIsOwnWithCache() const;

  const std::string& dir() const { return dir_; }
  std::string CacheDir() const { return dir_ + "/cache"; }
  std::string TempDir() const { return dir_ + "/cache/tmp"; }
  std::string WarmDir() const { return dir_ + "/warm"; }
  std::string EntryPath(const Digest& key) const;
  static std::string EntryName(const Digest& key);  // of the file in its shard
  static std::string ShardName(const Digest& key);  // of the directory in the cache
  static bool IsShardName(absl::string_view name);
  // NotFound for names that no entry's file has.
  static absl::StatusOr<Digest> KeyOfEntryName(absl::string_view name);
  std::string HitLogPath() const { return dir_ + "/hits.log"; }
  std::string CompilerIdPath() const { return dir_ + "/compiler-id"; }
  std::string StatsPath() const { return dir_ + "/stats"; }
  std::string LogPath() const { return dir_ + "/kilnd.log"; }
  std::string PidPath() const { return dir_ + "/kilnd.pid"; }
  std::string ConfigPath() const { return dir_ + "/kilnd.conf"; }
  std::string KeysPath() const { return dir_ + "/trusted.keys"; }
  // The socket's directory is made (0700) and checked to be ours when asked for.
  absl::StatusOr<std::string> SocketPath() const;
  // Held by the daemon as long as it lives. In the same directory.
  std::string LockPath() const { return PathBesideSocket(".lock"); }
  // Says where the dashboard is. In the same directory.
  std::string DashboardPath() const { return PathBesideSocket(".dashboard"); }

  // Directories of the home, held open; the cache may be a link. NotFound: there is none. Whether
  // they are own, who asks looks (Folder::own).
  absl::StatusOr<Folder> Open() const { return Folder::Open(dir_); }
  absl::StatusOr<Folder> OpenCache() const;
  absl::StatusOr<Folder> OpenShard(const Digest& key) const;

  // Makes the home and its cache directories, 0700. PermissionDenied: it is not own.
  absl::Status Create() const;

 private:
  Home(std::string dir, std::string given) : dir_(std::move(dir)), given_(std::move(given)) {}
  absl::StatusOr<std::string> SocketDirectory() const;
  absl::StatusOr<std::string> NotedSocketDirectory() const;
  std::string PathIn(const std::string& socket_directory, const char* suffix) const;
  std::string PathBesideSocket(const char* suffix) const;
  std::string dir_;
  std::string given_;  // absolute, with its links
};

}  // namespace kiln

#endif  // KILN_COMMON_HOME_HOME_H_
