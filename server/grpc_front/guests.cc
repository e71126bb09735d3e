#include "server/grpc_front/guests.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/base/clock.h"

namespace kiln {
namespace {

constexpr size_t kNetworkBytes = 8;  // the network part of an IPv6 address
constexpr size_t kMappedBytes = 12;  // the prefix of an IPv4-mapped IPv6 address
// Connections that we have shut down, but gRPC has not closed yet.
constexpr int kMostClosing = 64;

in6_addr Mapped(const in_addr& address) {
  in6_addr mapped = {};
  mapped.s6_addr[10] = mapped.s6_addr[11] = 0xff;
  memcpy(mapped.s6_addr + kMappedBytes, &address, sizeof address);
  return mapped;
}

// The socket's inode; 0 if the descriptor is closed or not a socket.
ino_t InodeOf(int fd) {
  struct stat info;
  // Tells whether a number still means the same socket after gRPC may have closed it.
  return fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode) ? info.st_ino : 0;
}

}  // namespace

bool Guests::Peer::operator==(const Peer& other) const {
  return port == other.port && memcmp(&address, &other.address, sizeof address) == 0;
}

std::string Guests::Peer::Host() const {
  const size_t size = IN6_IS_ADDR_V4MAPPED(&address) ? sizeof address : kNetworkBytes;
  // A host has a whole IPv6 network (64 bits) at its disposal, so its addresses count as one.
  return std::string(reinterpret_cast<const char*>(&address), size);
}

Guests::Peer Guests::PeerOf(int fd) {
  sockaddr_storage storage = {};
  socklen_t size = sizeof storage;
  Peer peer;
  // Gone already: gRPC will notice.
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return peer;
  if (storage.ss_family == AF_INET6) {
    const auto* address = reinterpret_cast<const sockaddr_in6*>(&storage);
    peer = {address->sin6_addr, ntohs(address->sin6_port)};
  } else if (storage.ss_family == AF_INET) {
    const auto* address = reinterpret_cast<const sockaddr_in*>(&storage);
    peer = {Mapped(address->sin_addr), ntohs(address->sin_port)};
  }
  return peer;
}

// "ipv4:127.0.0.1:80", "ipv6:[::1%eth0]:80"; the brackets may be escaped as in a URI.
bool Guests::Parse(absl::string_view text, Peer* peer) {
  const size_t colon = text.rfind(':');
  int port = 0;
  if (colon == absl::string_view::npos || !absl::SimpleAtoi(text.substr(colon + 1), &port)) {
    return false;
  }
  peer->port = static_cast<in_port_t>(port);
  absl::string_view host = text.substr(0, colon);
  if (absl::ConsumePrefix(&host, "ipv4:")) {
    in_addr address;
    if (inet_pton(AF_INET, std::string(host).c_str(), &address) != 1) return false;
    peer->address = Mapped(address);
    return true;
  }
  if (!absl::ConsumePrefix(&host, "ipv6:")) return false;
  const std::string plain =
      absl::StrReplaceAll(host, {{"%5B", ""}, {"%5D", ""}, {"[", ""}, {"]", ""}});
  return inet_pton(AF_INET6, plain.substr(0, plain.find('%')).c_str(), &peer->address) == 1;
}

// Uses a duplicate descriptor: gRPC may close its own at any time, and its number may be reused.
void Guests::Shut(const Guest& guest) {
  const int fd = fcntl(guest.fd, F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return;
  if (InodeOf(fd) == guest.inode) {
    // Discards unsent bytes.
    const linger now = {1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    shutdown(fd, SHUT_RDWR);
  }
  close(fd);
}

bool Guests::Admit(int fd) {
  const Peer peer = PeerOf(fd);
  const std::string host = peer.Host();
  absl::MutexLock lock(&mutex_);
  if (IsFull() || IsFullFor(host)) {
    ForgetClosed();
    // First within its own host, so that other hosts lose no connection.
    if (IsFullFor(host) ? !MakeRoom(&host) : IsFull() && !MakeRoom(nullptr)) return false;
  }
  guests_.push_back({fd, InodeOf(fd), peer, SteadyNow()});
  ++strangers_;
  return true;
}

// Those that are being closed do not count: their room is as good as free.
bool Guests::IsFull() const { return static_cast<int>(guests_.size()) - closing_ >= options_.most; }

bool Guests::IsFullFor(const std::string& host) const {
  const auto of_host = [&](const Guest& guest) {
    return guest.is != kClosing && guest.peer.Host() == host;
  };
  // One host may have half: behind a gateway many users share one address.
  return std::count_if(guests_.begin(), guests_.end(), of_host) >= std::max(1, options_.most / 2);
}

bool Guests::MakeRoom(const std::string* host) {
  // gRPC closes connections that we shut down at some later time; until then they hold a
  // descriptor.
  if (closing_ >= kMostClosing) return false;
  absl::flat_hash_map<std::string, int> strangers;
  int most = 0;
  for (const Guest& guest : guests_) {
    if (guest.is == kStranger) most = std::max(most, ++strangers[guest.peer.Host()]);
  }
  for (Guest& guest : guests_) {
    if (guest.is != kStranger) continue;
    const std::string its_host = guest.peer.Host();
    // The oldest connection without credentials, of the host that has most of them. Known callers
    // are never cut off for strangers.
    if (host != nullptr ? its_host != *host : strangers[its_host] < most) continue;
    End(&guest);
    return true;
  }
  return false;
}

void Guests::End(Guest* guest) {
  Become(kClosing, guest);
  Shut(*guest);
}

void Guests::Become(Standing standing, Guest* guest) {
  // The counts follow from each change of standing, so that no list has to be walked for them.
  strangers_ += (standing == kStranger) - (guest->is == kStranger);
  closing_ += (standing == kClosing) - (guest->is == kClosing);
  guest->is = standing;
}

void Guests::ForgetClosed() {
  const auto closed = [this](Guest& guest) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (InodeOf(guest.fd) == guest.inode) return false;
    Become(kKnown, &guest);
    return true;
  };
  guests_.erase(std::remove_if(guests_.begin(), guests_.end(), closed), guests_.end());
}

Guests::Guest* Guests::Find(absl::string_view peer) {
  Peer wanted;
  if (!Parse(peer, &wanted)) return nullptr;
  // Searches backwards: an earlier connection from the same port has ended.
  const auto found = std::find_if(guests_.rbegin(), guests_.rend(),
                                  [&](const Guest& guest) { return guest.peer == wanted; });
  return found == guests_.rend() ? nullptr : &*found;
}

void Guests::Know(absl::string_view peer) {
  absl::MutexLock lock(&mutex_);
  Guest* guest = Find(peer);
  // Never from "closing": a call that arrives late does not revive a connection.
  if (guest != nullptr && guest->is == kStranger) Become(kKnown, guest);
}

void Guests::LetWait(absl::string_view peer) {
  absl::MutexLock lock(&mutex_);
  if (Guest* guest = Find(peer)) guest->may_wait = true;
}

void Guests::CutOff(absl::string_view peer) {
  absl::MutexLock lock(&mutex_);
  if (Guest* guest = Find(peer)) End(guest);
}

int Guests::Sweep() {
  const absl::Time old = SteadyNow() - options_.strangers_limit;
  absl::MutexLock lock(&mutex_);
  ForgetClosed();
  for (Guest& guest : guests_) {
    // A watcher of the health service is a stranger for as long as it watches.
    if (guest.is == kStranger && !guest.may_wait && guest.since < old) End(&guest);
  }
  return static_cast<int>(guests_.size());
}

}  // namespace kiln
