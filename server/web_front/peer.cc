#include "server/web_front/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include <cstdio>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace kiln {
namespace {

constexpr unsigned kEstablished = 1;  // TCP_ESTABLISHED, as the tables write states

// An address as /proc/net/tcp and tcp6 write it: words of four bytes as numbers.
std::string Words(const void* bytes, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    uint32_t word;
    memcpy(&word, static_cast<const char*>(bytes) + 4 * i, 4);
    absl::StrAppendFormat(&text, "%08X", word);
  }
  return text;
}

// An end of a connection: in tcp6's form and, if it has an IPv4 address, in tcp's.
struct End {
  std::string v4, v6;
};

End EndOf(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    const std::string text = Words(&v4.sin_addr, 1) + absl::StrFormat(":%04X", ntohs(v4.sin_port));
    return {text, "0000000000000000FFFF0000" + text};
  }
  if (address.ss_family != AF_INET6) return {};
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  const std::string text = Words(&v6.sin6_addr, 4) + absl::StrFormat(":%04X", ntohs(v6.sin6_port));
  return {IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr) ? text.substr(24) : "", text};
}

bool HasRow(const char* table, const std::string& peer, const std::string& own) {
  if (peer.empty() || own.empty()) return false;
  std::FILE* file = std::fopen(table, "re");
  if (file == nullptr) return false;
  char line[512];
  bool held = false;
  while (!held && std::fgets(line, sizeof line, file) != nullptr) {
    held = IsHeldBy(line, peer, own, geteuid());
  }
  std::fclose(file);
  return held;
}

}  // namespace

bool IsHeldBy(absl::string_view row, const std::string& peer, const std::string& own,
              unsigned uid) {
  char from[64], to[64];
  unsigned state = 0, holder = 0;
  unsigned long long inode = 0;
  // sl local remote state queues timer retransmissions uid timeout inode
  if (std::sscanf(std::string(row).c_str(), " %*d: %63s %63s %x %*s %*s %*s %u %*s %llu", from, to,
                  &state, &holder, &inode) != 5) {
    return false;
  }
  return peer == from && own == to && state == kEstablished && inode != 0 &&
         (holder == uid || holder == 0);
}

bool IsOwnUser(int fd) {
  sockaddr_storage peer = {}, own = {};
  socklen_t peer_size = sizeof peer, own_size = sizeof own;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_size) != 0) {
    return false;
  }
  const End from = EndOf(peer), to = EndOf(own);
  // A program may reach an IPv4 address through an IPv6 socket.
  return HasRow("/proc/net/tcp", from.v4, to.v4) || HasRow("/proc/net/tcp6", from.v6, to.v6);
}

bool IsLoopbackHost(absl::string_view host) {
  if (absl::StartsWith(host, "[::1]")) return true;
  host = host.substr(0, host.rfind(':'));
  in_addr address;
  return host == "localhost" || (inet_pton(AF_INET, std::string(host).c_str(), &address) == 1 &&
                                 (ntohl(address.s_addr) >> 24) == 127);
}

}  // namespace kiln
