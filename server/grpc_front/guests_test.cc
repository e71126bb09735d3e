#include "server/grpc_front/guests.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace kiln {
namespace {

// One connection over TCP, of which `Guests` sees the accepted end.
class Link {
 public:
  // `host` is the last byte of the client's loopback address.
  Link(int listener, int host) : client_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in own = {}, to = {};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + host);
    socklen_t size = sizeof to;
    getsockname(listener, reinterpret_cast<sockaddr*>(&to), &size);
    if (bind(client_, reinterpret_cast<sockaddr*>(&own), size) != 0 ||
        connect(client_, reinterpret_cast<sockaddr*>(&to), size) != 0) {
      ADD_FAILURE() << "no connection";
    }
    accepted_ = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    getsockname(client_, reinterpret_cast<sockaddr*>(&own), &size);
    name_ = absl::StrCat("ipv4:127.0.0.", host, ":", ntohs(own.sin_port));
  }
  ~Link() {
    close(client_);
    CloseAccepted();
  }
  Link(const Link&) = delete;
  // Closes the accepted end, as gRPC does after the connection has ended.
  void CloseAccepted() {
    if (accepted_ >= 0) close(accepted_);
    accepted_ = -1;
  }

  int accepted() const { return accepted_; }
  const std::string& name() const { return name_; }
  bool CutOff() const {
    pollfd entry = {client_, POLLRDHUP, 0};
    return poll(&entry, 1, 0) > 0;
  }

 private:
  int client_;
  int accepted_ = -1;
  std::string name_;
};

class GuestsTest : public testing::Test {
 protected:
  GuestsTest() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    listen(listener_, 64);
  }
  ~GuestsTest() override { close(listener_); }
  std::unique_ptr<Link> Come(int host) { return std::make_unique<Link>(listener_, host); }
  // A new connection, which must be admitted.
  Link& Admitted(Guests* guests, int host) {
    links_.push_back(Come(host));
    EXPECT_TRUE(guests->Admit(links_.back()->accepted()));
    return *links_.back();
  }

  const int listener_;
  std::vector<std::unique_ptr<Link>> links_;
};

TEST_F(GuestsTest, DisconnectsUnauthenticatedPeersAfterAWhile) {
  Guests guests({8, absl::Milliseconds(50)});
  const Link& stranger = Admitted(&guests, 1);
  const Link& known = Admitted(&guests, 1);
  const Link& watcher = Admitted(&guests, 2);
  EXPECT_TRUE(guests.has_strangers());
  guests.Know(known.name());
  guests.LetWait(watcher.name());
  EXPECT_EQ(guests.Sweep(), 3);
  EXPECT_FALSE(stranger.CutOff());
  absl::SleepFor(absl::Milliseconds(60));
  guests.Sweep();
  EXPECT_TRUE(stranger.CutOff());
  EXPECT_FALSE(known.CutOff());
  EXPECT_FALSE(watcher.CutOff());
}

TEST_F(GuestsTest, ANewPeerReplacesTheOldestUnauthenticatedOne) {
  Guests guests({4, absl::Hours(1)});
  // Host 1 may have half of all connections; then its own strangers make room.
  const Link& known = Admitted(&guests, 1);
  const Link& first = Admitted(&guests, 1);
  guests.Know(known.name());
  const Link& second = Admitted(&guests, 1);
  EXPECT_TRUE(first.CutOff());
  EXPECT_FALSE(known.CutOff());
  // The host with the most strangers loses one.
  const Link& other = Admitted(&guests, 2);
  const Link& others = Admitted(&guests, 2);
  const Link& third = Admitted(&guests, 3);
  EXPECT_TRUE(other.CutOff());
  for (const Link* link : {&known, &second, &others, &third}) EXPECT_FALSE(link->CutOff());
}

TEST_F(GuestsTest, AuthenticatedPeersStay) {
  Guests guests({2, absl::Hours(1)});
  const Link& one = Admitted(&guests, 1);
  guests.Know(one.name());
  EXPECT_FALSE(guests.has_strangers());
  const auto same_host = Come(1);
  EXPECT_FALSE(guests.Admit(same_host->accepted()));
  const Link& two = Admitted(&guests, 2);
  guests.Know(two.name());
  const auto third = Come(3);
  EXPECT_FALSE(guests.Admit(third->accepted()));
  EXPECT_FALSE(one.CutOff());
  EXPECT_FALSE(two.CutOff());
}

TEST_F(GuestsTest, ClosedConnectionsMakeRoom) {
  Guests guests({2, absl::Hours(1)});
  Link& one = Admitted(&guests, 1);
  guests.Know(one.name());
  // Another connection reuses the descriptor.
  one.CloseAccepted();
  const auto next = Come(2);
  EXPECT_TRUE(guests.Admit(next->accepted()));
  EXPECT_EQ(guests.Sweep(), 1);
  guests.CutOff(one.name());
  EXPECT_FALSE(next->CutOff());
  guests.CutOff(next->name());
  EXPECT_TRUE(next->CutOff());
}

}  // namespace
}  // namespace kiln
