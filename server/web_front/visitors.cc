#include "server/web_front/visitors.h"

#include <netinet/in.h>

#include <algorithm>

namespace kiln {
namespace {

// The unit of the per-address limit: for IPv6 the whole /64 network, which belongs to one host.
std::string AddressOf(const sockaddr* peer) {
  const auto bytes = [](const void* data, size_t size) {
    return std::string(static_cast<const char*>(data), size);
  };
  if (peer == nullptr) return "";
  if (peer->sa_family == AF_INET) {
    return bytes(&reinterpret_cast<const sockaddr_in*>(peer)->sin_addr, 4);
  }
  if (peer->sa_family != AF_INET6) return "";
  const in6_addr& v6 = reinterpret_cast<const sockaddr_in6*>(peer)->sin6_addr;
  return IN6_IS_ADDR_V4MAPPED(&v6) ? bytes(v6.s6_addr + 12, 4) : bytes(v6.s6_addr, 8);
}

}  // namespace

void Visitors::Came(int fd, const sockaddr* peer, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  const std::string address = AddressOf(peer);
  // Entered first, so that the newcomer counts.
  visitors_[fd] = {address, kAsking, now};
  // A peer with many connections loses one of its own, not those of others.
  if (CountOf(address) > limits_.of_one_address) {
    Evict(&address, fd);
  } else if (visitors_.size() > limits_.connections) {
    Evict(nullptr, fd);
  }
}

void Visitors::Asked(int fd) { Enter(fd, kWaiting, absl::InfiniteFuture()); }
void Visitors::Answered(int fd, absl::Time now) { Enter(fd, kTaking, now); }
void Visitors::Served(int fd, absl::Time now) { Enter(fd, kAsking, now); }

void Visitors::Left(int fd) {
  absl::MutexLock lock(&mutex_);
  visitors_.erase(fd);
}

void Visitors::HangUpOnSlow(absl::Time now) {
  absl::MutexLock lock(&mutex_);
  for (auto it = visitors_.begin(); it != visitors_.end();) {
    const Visitor& visitor = it->second;
    const absl::Duration limit = visitor.state == kTaking ? limits_.reply : limits_.request;
    if (now - visitor.since > limit) {
      shutdown(it->first, SHUT_RDWR);
      // The library closes the descriptor later; until then its number cannot be that of another
      // visitor.
      it = visitors_.erase(it);
    } else {
      ++it;
    }
  }
}

size_t Visitors::busy() const {
  absl::MutexLock lock(&mutex_);
  return std::count_if(visitors_.begin(), visitors_.end(),
                       [](const auto& each) { return each.second.state != kAsking; });
}

size_t Visitors::CountOf(const std::string& address) const {
  return std::count_if(visitors_.begin(), visitors_.end(),
                       [&](const auto& each) { return each.second.address == address; });
}

void Visitors::Evict(const std::string* address, int newcomer) {
  auto oldest = visitors_.end();
  for (auto it = visitors_.begin(); it != visitors_.end(); ++it) {
    const Visitor& visitor = it->second;
    // A peer whose answer kilnd is making has done nothing wrong.
    if (it->first == newcomer || visitor.state == kWaiting) continue;
    if (address != nullptr && visitor.address != *address) continue;
    if (oldest == visitors_.end() || visitor.since < oldest->second.since) oldest = it;
  }
  if (oldest == visitors_.end()) return;
  // The connection's own thread notices, and closes it.
  shutdown(oldest->first, SHUT_RDWR);
  visitors_.erase(oldest);
}

void Visitors::Enter(int fd, State state, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  const auto found = visitors_.find(fd);
  if (found == visitors_.end()) return;  // it was shut down
  found->second.state = state;
  found->second.since = now;
}

}  // namespace kiln
