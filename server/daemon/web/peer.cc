#include "server/daemon/web/peer.h"

#include <arpa/inet.h>
#include <string.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace kiln {
namespace {

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

bool OwnedRow(const char* table, const std::string& local, int remote_port) {
  std::FILE* file = std::fopen(table, "re");
  if (file == nullptr) return false;
  char line[512], from[64], to[64];
  unsigned uid = 0;
  bool owned = false;
  const std::string port = absl::StrFormat(":%04X", remote_port);
  while (!owned && std::fgets(line, sizeof line, file) != nullptr) {
    if (std::sscanf(line, " %*d: %63s %63s %*x %*s %*s %*s %u", from, to, &uid) != 3) continue;
    owned = local == from && absl::EndsWith(to, port) && (uid == geteuid() || uid == 0);
  }
  std::fclose(file);
  return owned;
}

}  // namespace

bool IsOwnUser(const sockaddr* peer, int port) {
  if (peer->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(peer);
    const std::string suffix = absl::StrFormat(":%04X", ntohs(v4->sin_port));
    const std::string address = Words(&v4->sin_addr, 1);
    // A program may reach an IPv4 address through an IPv6 socket.
    return OwnedRow("/proc/net/tcp", address + suffix, port) ||
           OwnedRow("/proc/net/tcp6", "0000000000000000FFFF0000" + address + suffix, port);
  }
  if (peer->sa_family != AF_INET6) return false;
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(peer);
  return OwnedRow("/proc/net/tcp6",
                  Words(&v6->sin6_addr, 4) + absl::StrFormat(":%04X", ntohs(v6->sin6_port)), port);
}

bool IsLoopbackHost(absl::string_view host) {
  if (absl::StartsWith(host, "[::1]")) return true;
  host = host.substr(0, host.rfind(':'));
  in_addr address;
  return host == "localhost" || (inet_pton(AF_INET, std::string(host).c_str(), &address) == 1 &&
                                 (ntohl(address.s_addr) >> 24) == 127);
}

}  // namespace kiln
