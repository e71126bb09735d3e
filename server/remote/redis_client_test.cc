// Servers that send too much, or never stop: each call ends at its deadline.
#include "server/remote/redis_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "gtest/gtest.h"

namespace kiln {
namespace {

// A server that answers any request with `head`, and then repeats `body` until the client
// disconnects.
class EndlessServer {
 public:
  EndlessServer(std::string head, std::string body)
      : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    bind(listener_, reinterpret_cast<sockaddr*>(&address), size);
    listen(listener_, 4);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    address_ = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
    thread_ = std::thread([this, head = std::move(head), body = std::move(body)] {
      const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      bool more = send(fd, head.data(), head.size(), MSG_NOSIGNAL) >= 0;
      while (more) more = send(fd, body.data(), body.size(), MSG_NOSIGNAL) > 0;
      close(fd);
    });
  }
  ~EndlessServer() {
    thread_.join();
    close(listener_);
  }
  EndlessServer(const EndlessServer&) = delete;

  // Requests `count` values from it.
  absl::Status Get(int count, absl::Duration limit) const {
    proto::Redis config;
    config.set_address(address_);
    const std::vector<RedisClient::Command> commands(count, {"GET", "key"});
    return (*RedisClient::Make(config))->Run(commands, SteadyNow() + limit).status();
  }

 private:
  const int listener_;
  std::string address_;
  std::thread thread_;
};

TEST(RedisClient, DoesNotReadTooLargeAnswers) {
  const EndlessServer server("$268435456\r\n", std::string(1 << 20, '0'));
  const absl::Time start = SteadyNow();
  EXPECT_TRUE(absl::IsDataLoss(server.Get(1, absl::Seconds(60))));
  EXPECT_LT(SteadyNow() - start, absl::Seconds(10));
}

// Good replies of 300 megabytes take longer than this, and come without a pause.
TEST(RedisClient, TheDeadlineLimitsEndlessReplies) {
  constexpr int kSize = 500000, kReplies = 600;
  const EndlessServer server("", absl::StrCat("$", kSize, "\r\n", std::string(kSize, '0'), "\r\n"));
  const absl::Status status = server.Get(kReplies, absl::Milliseconds(50));
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
}

}  // namespace
}  // namespace kiln
