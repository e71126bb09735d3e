// An HTTP/2 caller without a gRPC library, for tests: it connects, calls and refuses to read at
// will.
#ifndef KILN_SERVER_GRPC_FRONT_RAW_HTTP2_H_
#define KILN_SERVER_GRPC_FRONT_RAW_HTTP2_H_

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace kiln {

class RawHttp2 {
 public:
  explicit RawHttp2(int port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~RawHttp2() { close(fd_); }
  RawHttp2(const RawHttp2&) = delete;

  bool connected() const { return connected_; }
  // Begins HTTP/2, with windows that let the server send everything.
  bool Begin() {
    return Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") &&
           SendFrame(kSettings, 0, 0, std::string("\0\4\x7f\xff\xff\xff", 6)) &&
           SendFrame(kWindowUpdate, 0, 0, std::string("\x7f\xfe\xff\xff", 4));
  }
  // Calls `path` with one message; `stream` is odd, and larger than those before.
  bool Call(uint32_t stream, absl::string_view path, absl::string_view token,
            const std::string& message) {
    // HPACK's simplest form: POST and http are in its table, all else are literals.
    std::string headers = "\x83\x86";
    AddHeader(":path", path, &headers);
    AddHeader(":authority", "localhost", &headers);
    AddHeader("content-type", "application/grpc", &headers);
    AddHeader("te", "trailers", &headers);
    AddHeader("authorization", "Bearer " + std::string(token), &headers);
    std::string body(1, '\0');
    AppendNumber(4, message.size(), &body);
    return SendFrame(kHeaders, kEndHeaders, stream, headers) &&
           SendFrame(kData, kEndStream, stream, body + message);
  }
  // Whether the server has closed the connection; reads what has arrived.
  bool Ended() const {
    char bytes[4096];
    while (true) {
      const ssize_t got = recv(fd_, bytes, sizeof bytes, MSG_DONTWAIT);
      if (got < 0) return errno != EAGAIN && errno != EINTR;
      if (got == 0) return true;
    }
  }
  // The same, without reading.
  bool HungUp() const {
    pollfd entry = {fd_, POLLRDHUP, 0};
    return poll(&entry, 1, 0) > 0;
  }

 private:
  enum Type : char { kData = 0, kHeaders = 1, kSettings = 4, kWindowUpdate = 8 };
  static constexpr char kEndStream = 1, kEndHeaders = 4;

  static void AppendNumber(int bytes, uint64_t number, std::string* out) {
    for (int i = bytes - 1; i >= 0; --i) out->push_back(static_cast<char>(number >> (8 * i)));
  }
  static void AddHeader(absl::string_view name, absl::string_view value, std::string* out) {
    out->push_back('\0');
    for (const absl::string_view text : {name, value}) {
      out->push_back(static_cast<char>(text.size()));  // below 127
      out->append(text.data(), text.size());
    }
  }
  bool SendFrame(Type type, char flags, uint32_t stream, const std::string& body) {
    std::string frame;
    AppendNumber(3, body.size(), &frame);
    frame.push_back(type);
    frame.push_back(flags);
    AppendNumber(4, stream, &frame);
    return Send(frame + body);
  }
  bool Send(const std::string& bytes) {
    return send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }

  const int fd_;
  bool connected_ = false;
};

}  // namespace kiln

#endif  // KILN_SERVER_GRPC_FRONT_RAW_HTTP2_H_
