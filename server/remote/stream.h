// A byte stream to a server, in the clear or in TLS, whose every wait ends at a deadline.
#ifndef KILN_SERVER_REMOTE_STREAM_H_
#define KILN_SERVER_REMOTE_STREAM_H_

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "proto/config.pb.h"

namespace kiln {

// What cannot be meant: half a certificate, files without `enabled`, no name to check.
absl::Status CheckTls(const proto::Tls& tls, const std::string& address);

// Why a connection in TLS (`enabled`) cannot be had, in more words than other libraries have
// for it; OK if it can. Refusals of our certificate are waited for, which come after the
// handshake.
absl::Status TryTls(const std::string& address, const proto::Tls& tls, absl::Time deadline);

// For one thread. A call that fails leaves it unusable.
class Stream {
 public:
  // Connects to `address` (connect.h) and, with `tls`, shakes hands: TLS 1.2 or newer, the
  // server's certificate is checked for the address's host or `server_name`. Its files are
  // read each time. Unavailable says what is wrong with the certificate.
  static absl::StatusOr<std::unique_ptr<Stream>> Open(const std::string& address,
                                                      const proto::Tls& tls, absl::Time deadline);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Removes from the front of `left` what could be sent, without waiting.
  absl::Status Send(absl::string_view* left);
  // How many bytes came, without waiting: perhaps none. Unavailable: it was closed.
  absl::StatusOr<size_t> Receive(char* to, size_t size);
  // Waits until one of these may get on.
  absl::Status Await(bool to_send, absl::Time deadline);
  // Between calls a server says nothing: readable means that it closed.
  bool Quiet() const;
  // Of TLS.
  bool OwnCertificateExpired() const;

 private:
  explicit Stream(int fd);
  absl::Status StartTls(const std::string& address, const proto::Tls& tls, absl::Time deadline);
  // What a call of the TLS library that did not succeed waits for (poll.h), or its failure.
  absl::StatusOr<short> WaitsFor(int result);  // NOLINT(google-runtime-int): poll's

  const int fd_;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_{nullptr, &SSL_free};
  // Of the last calls: TLS may have to read in order to send, and the other way round.
  short to_send_;     // NOLINT(google-runtime-int): poll's
  short to_receive_;  // NOLINT(google-runtime-int): poll's
};

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_STREAM_H_
