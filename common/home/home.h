// The layout of Kiln's files: all are below one directory, KILN_HOME, so two homes never mix.
//
//   <home>/cache/<2 hex>/<64 hex>.so   entries (common/artifact/entry.h)
//   <home>/cache/tmp/                  files being written, renamed when whole
//   <home>/warm/                       clients' records of kernels (client_py/kiln/warm)
//   <home>/hits.log                    32-byte digests that clients hit, appended
//   <home>/compiler-id                 common/artifact/compiler_id.h
//   <home>/stats                       the daemon's counters across restarts
//   <home>/kilnd.conf                  the daemon's configuration (proto/config.proto)
//   <home>/trusted.keys                common/artifact/user_keys.h
//   <home>/kilnd.log, kilnd.pid
// A home may belong to another user, or others may be able to write to it. Then only entries that a
// trusted key signed are used, and nothing is written there. CheckIsOwn decides; each access checks
// again (common/home/folder.h).
//
// The socket has a short path of its own (107 bytes is the limit), named by a hash of the home:
// /tmp/kiln-<uid>/ (0700), <hash>.sock. Not $XDG_RUNTIME_DIR: a client from cron or ssh, where it
// is unset, must find the same daemon. The daemon's lock is beside it, since several machines and
// containers may share a home; each of them has its own daemon. If another user has created
// /tmp/kiln-<uid>, the directory gets an unguessable name, which <home>/socket-directory records.
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

  // OK if only this user and root can have written the home's own files, or can replace the home.
  // PermissionDenied otherwise: the message names the path, the problem and the remedy. Missing
  // files count as own. Takes some microseconds.
  absl::Status CheckIsOwn() const;
  // The same for the home with its cache, which may be a link: the condition for a daemon.
  absl::Status CheckIsOwnWithCache() const;

  const std::string& dir() const { return dir_; }
  std::string CacheDir() const { return dir_ + "/cache"; }
  std::string TempDir() const { return dir_ + "/cache/tmp"; }
  std::string WarmDir() const { return dir_ + "/warm"; }
  std::string EntryPath(const Place& place) const;
  static std::string EntryName(const Place& place);  // of the file in its shard
  static std::string ShardName(const Place& place);  // of the directory in the cache
  static bool IsShardName(absl::string_view name);
  // NotFound for names that no entry's file has.
  static absl::StatusOr<Place> PlaceOfEntryName(absl::string_view name);
  std::string HitLogPath() const { return dir_ + "/hits.log"; }
  std::string CompilerIdPath() const { return dir_ + "/compiler-id"; }
  std::string StatsPath() const { return dir_ + "/stats"; }
  std::string LogPath() const { return dir_ + "/kilnd.log"; }
  std::string PidPath() const { return dir_ + "/kilnd.pid"; }
  std::string ConfigPath() const { return dir_ + "/kilnd.conf"; }
  std::string KeysPath() const { return dir_ + "/trusted.keys"; }
  // Creates the socket's directory (0700) on demand and checks that it is ours.
  absl::StatusOr<std::string> SocketPath() const;
  // The lock that the daemon holds as long as it lives. In the same directory.
  std::string LockPath() const { return PathBesideSocket(".lock"); }
  // The file with the dashboard's address. In the same directory.
  std::string DashboardPath() const { return PathBesideSocket(".dashboard"); }

  // Open directories of the home; the cache may be a link. NotFound: it does not exist. The caller
  // checks whether they are own (Folder::own).
  absl::StatusOr<Folder> Open() const { return Folder::Open(dir_); }
  absl::StatusOr<Folder> OpenCache() const;
  absl::StatusOr<Folder> OpenShard(const Place& place) const;

  // Creates the home and its cache directories, 0700. PermissionDenied: it is not own.
  absl::Status Create() const;

 private:
  Home(std::string dir, std::string given) : dir_(std::move(dir)), given_(std::move(given)) {}
  absl::StatusOr<std::string> SocketDirectory() const;
  absl::StatusOr<std::string> NotedSocketDirectory() const;
  std::string PathIn(const std::string& socket_directory, const char* suffix) const;
  std::string PathBesideSocket(const char* suffix) const;
  std::string dir_;
  std::string given_;  // absolute, with its links unresolved
};

}  // namespace kiln

#endif  // KILN_COMMON_HOME_HOME_H_
