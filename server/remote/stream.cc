#include "server/remote/stream.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "server/remote/connect.h"

namespace kiln {
namespace {

absl::Status Lost(const char* why) {
  return absl::UnavailableError(absl::StrCat("the connection is lost: ", why));
}

// The text of the library's first error.
std::string TlsWords() {
  const unsigned long code = ERR_get_error();  // NOLINT(google-runtime-int): the library's
  ERR_clear_error();
  const char* reason = ERR_reason_error_string(code);
  return reason == nullptr ? "the connection broke" : reason;
}

absl::Status BadFile(const std::string& path) {
  return absl::UnavailableError(absl::StrCat("tls: cannot use ", path, ": ", TlsWords()));
}

using Context = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;

absl::StatusOr<Context> MakeContext(const proto::Tls& tls) {
  Context context(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
  if (context == nullptr) return absl::ResourceExhaustedError("no memory for TLS");
  // Older versions are broken; every server of the last ten years has this one.
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  // Send may continue an unfinished write from another buffer with the same bytes.
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (tls.ca_file().empty()) {
    SSL_CTX_set_default_verify_paths(context.get());
  } else if (SSL_CTX_load_verify_file(context.get(), tls.ca_file().c_str()) != 1) {
    return BadFile(tls.ca_file());
  }
  if (tls.certificate_file().empty()) return context;
  if (SSL_CTX_use_certificate_chain_file(context.get(), tls.certificate_file().c_str()) != 1) {
    return BadFile(tls.certificate_file());
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), tls.key_file().c_str(), SSL_FILETYPE_PEM) != 1) {
    return BadFile(tls.key_file());
  }
  return context;
}

// The certificate must be for this name, or this address.
bool ExpectName(SSL* ssl, const std::string& name) {
  X509_VERIFY_PARAM* expected = SSL_get0_param(ssl);
  // "f*.example" in a certificate is not accepted, as in browsers.
  X509_VERIFY_PARAM_set_hostflags(expected, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  // Addresses come first: an address must not be sent as the name of a server.
  if (X509_VERIFY_PARAM_set1_ip_asc(expected, name.c_str()) == 1) return true;
  return SSL_set1_host(ssl, name.c_str()) == 1 && SSL_set_tlsext_host_name(ssl, name.c_str()) == 1;
}

}  // namespace

absl::Status CheckTls(const proto::Tls& tls, const std::string& address) {
  if (tls.certificate_file().empty() != tls.key_file().empty()) {
    return absl::InvalidArgumentError(
        "tls: certificate_file and key_file belong together, and one is missing");
  }
  // Files without TLS: the user believes that the connection is encrypted.
  if (!tls.enabled() && tls.ByteSizeLong() != 0) {
    return absl::InvalidArgumentError("tls: files or a name, but enabled is not true");
  }
  if (tls.enabled() && tls.server_name().empty() && HostOf(address).empty()) {
    return absl::InvalidArgumentError("tls: server_name is missing; a socket's path is not a name");
  }
  return absl::OkStatus();
}

absl::Status TryTls(const std::string& address, const proto::Tls& tls, absl::Time deadline) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, Stream::Open(address, tls, deadline));
  char byte;
  // In TLS 1.3 the server checks our certificate after the handshake, so its refusal can only be
  // read. A server that accepts us sends nothing, and the deadline ends the loop.
  while (true) {
    const absl::StatusOr<size_t> got = stream->Receive(&byte, 1);
    if (!got.ok()) {
      // Some servers state a reason, others hang up.
      return absl::UnavailableError(
          absl::StrCat("TLS with ", address, ": ", got.status().message(),
                       stream->OwnCertificateExpired()
                           ? absl::StrCat("; our certificate has expired: ", tls.certificate_file())
                           : "; it may want another certificate of us"));
    }
    if (*got > 0 || !stream->Await(/*to_send=*/false, deadline).ok()) return absl::OkStatus();
  }
}

absl::StatusOr<std::unique_ptr<Stream>> Stream::Open(const std::string& address,
                                                     const proto::Tls& tls, absl::Time deadline) {
  ASSIGN_OR_RETURN(const int fd, ConnectTo(address, deadline));
  std::unique_ptr<Stream> stream(new Stream(fd));
  if (tls.enabled()) RETURN_IF_ERROR(stream->StartTls(address, tls, deadline));
  return stream;
}

Stream::Stream(int fd) : fd_(fd), to_send_(POLLOUT), to_receive_(POLLIN) {}

Stream::~Stream() {
  // Before the descriptor is closed, which it uses.
  ssl_.reset();
  close(fd_);
}

absl::Status Stream::StartTls(const std::string& address, const proto::Tls& tls,
                              absl::Time deadline) {
  ASSIGN_OR_RETURN(const Context context, MakeContext(tls));
  ssl_.reset(SSL_new(context.get()));
  const std::string name = tls.server_name().empty() ? HostOf(address) : tls.server_name();
  if (ssl_ == nullptr || SSL_set_fd(ssl_.get(), fd_) != 1 || !ExpectName(ssl_.get(), name)) {
    return absl::InvalidArgumentError(absl::StrCat("tls: no server has the name ", name));
  }
  while (true) {
    ERR_clear_error();  // SSL_get_error would take an older error for this call's
    const int result = SSL_connect(ssl_.get());
    if (result == 1) return absl::OkStatus();
    const auto events = WaitsFor(result);
    if (!events.ok()) {
      const auto verdict = SSL_get_verify_result(ssl_.get());
      return absl::UnavailableError(absl::StrCat(
          "TLS with ", address, ": ",
          verdict != X509_V_OK
              ? absl::StrCat("its certificate: ", X509_verify_cert_error_string(verdict))
              : std::string(events.status().message())));
    }
    RETURN_IF_ERROR(kiln::Await(fd_, *events, deadline));
  }
}

absl::StatusOr<short> Stream::WaitsFor(int result) {  // NOLINT(google-runtime-int): poll's
  const int error = SSL_get_error(ssl_.get(), result);
  // TLS may have to read in order to write and the reverse, so each direction remembers what it
  // awaits.
  if (error == SSL_ERROR_WANT_READ) return POLLIN;
  if (error == SSL_ERROR_WANT_WRITE) return POLLOUT;
  if (error == SSL_ERROR_ZERO_RETURN) return Lost("it was closed");
  if (error == SSL_ERROR_SYSCALL && errno != 0) return Lost(std::strerror(errno));
  return Lost(TlsWords().c_str());
}

absl::Status Stream::Send(absl::string_view* left) {
  if (left->empty()) return absl::OkStatus();
  if (ssl_ != nullptr) {
    ERR_clear_error();
    size_t sent = 0;
    const int result = SSL_write_ex(ssl_.get(), left->data(), left->size(), &sent);
    // Unless the library says otherwise below.
    to_send_ = POLLOUT;
    if (result == 1) {
      left->remove_prefix(sent);
    } else {
      ASSIGN_OR_RETURN(to_send_, WaitsFor(result));
    }
    return absl::OkStatus();
  }
  // NOSIGNAL: a closed connection must be an error here and not a SIGPIPE.
  const ssize_t sent = send(fd_, left->data(), left->size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) {
    left->remove_prefix(sent);
  } else if (errno != EAGAIN && errno != EINTR) {
    return Lost(std::strerror(errno));
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> Stream::Receive(char* to, size_t size) {
  if (ssl_ != nullptr) {
    ERR_clear_error();
    size_t got = 0;
    const int result = SSL_read_ex(ssl_.get(), to, size, &got);
    to_receive_ = POLLIN;
    if (result != 1) {
      ASSIGN_OR_RETURN(to_receive_, WaitsFor(result));
    }
    return got;
  }
  const ssize_t got = recv(fd_, to, size, MSG_DONTWAIT);
  if (got > 0) return static_cast<size_t>(got);
  // 0 is the end of the stream; "nothing yet" is EAGAIN.
  if (got == 0) return Lost("it was closed");
  if (errno != EAGAIN && errno != EINTR) return Lost(std::strerror(errno));
  return size_t{0};
}

absl::Status Stream::Await(bool to_send, absl::Time deadline) {
  return kiln::Await(fd_, static_cast<short>(to_receive_ | (to_send ? to_send_ : 0)), deadline);
}

bool Stream::OwnCertificateExpired() const {
  const X509* own = SSL_get_certificate(ssl_.get());
  return own != nullptr && X509_cmp_current_time(X509_get0_notAfter(own)) < 0;
}

// An idle connection has nothing to read. If it is readable, the server closed it or is out of
// step.
bool Stream::Quiet() const {
  pollfd entry = {fd_, POLLIN, 0};
  return poll(&entry, 1, 0) == 0;
}

}  // namespace kiln
