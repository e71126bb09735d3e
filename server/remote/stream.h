// A byte stream to a server, plain or over TLS. Every wait ends at a deadline.
#ifndef KILN_SERVER_REMOTE_STREAM_H_
#define KILN_SERVER_REMOTE_STREAM_H_

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "kiln/proto/config.pb.h"

namespace kiln {

// Rejects contradictory settings: half a certificate, files without `enabled`, no name to check.
absl::Status CheckTls(const proto::Tls& tls, const std::string& address);

// Explains why a TLS connection (`enabled`) fails, in more detail than other libraries; OK if it
// succeeds. Waits for refusals of our certificate, which arrive after the handshake.
absl::Status TryTls(const std::string& address, const proto::Tls& tls, absl::Time deadline);

// For one thread. Unusable after a call that fails.
class Stream {
 public:
  // Connects to `address` (connect.h) and, with `tls`, performs a handshake: TLS 1.2 or newer; the
  // server's certificate must match the address's host or `server_name`. Rereads its files each
  // time. Unavailable says what is wrong with the certificate.
  static absl::StatusOr<std::unique_ptr<Stream>> Open(const std::string& address,
                                                      const proto::Tls& tls, absl::Time deadline);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Sends what it can without waiting, and removes it from the front of `left`.
  absl::Status Send(absl::string_view* left);
  // The number of bytes received without waiting, perhaps 0. Unavailable: the peer closed.
  absl::StatusOr<size_t> Receive(char* to, size_t size);
  // Waits until one of these calls can progress.
  absl::Status Await(bool to_send, absl::Time deadline);
  // Whether an idle connection was closed: between calls a server sends nothing, so readable means
  // closed.
  bool Quiet() const;
  // Of TLS.
  bool OwnCertificateExpired() const;

 private:
  explicit Stream(int fd);
  absl::Status StartTls(const std::string& address, const proto::Tls& tls, absl::Time deadline);
  // The event (poll.h) that an unfinished call of the TLS library waits for, or its failure.
  absl::StatusOr<short> WaitsFor(int result);  // NOLINT(google-runtime-int): poll's

  const int fd_;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_{nullptr, &SSL_free};
  // For the last calls: TLS may have to read in order to send, and vice versa.
  short to_send_;     // NOLINT(google-runtime-int): poll's
  short to_receive_;  // NOLINT(google-runtime-int): poll's
};

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_STREAM_H_
