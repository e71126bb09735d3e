#include "server/grpc_front/credentials.h"

#include <errno.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace kiln {
namespace {

// gRPC's provider watches files by reading them; these are in memory.
constexpr unsigned kLookAgainSeconds = 1;

absl::StatusOr<std::string> Read(const std::string& path) {
  if (path.empty()) return std::string();
  std::ifstream in(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  return text;
}

absl::Status Wrong(const std::string& file) {
  char reason[256] = "cannot be used";
  if (const unsigned long error = ERR_get_error()) ERR_error_string_n(error, reason, sizeof reason);
  // The queue belongs to the thread: leftovers would be reported for the next file.
  ERR_clear_error();
  return absl::InvalidArgumentError(absl::StrCat(file, ": ", reason));
}

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

Bio BioOf(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free};
}

// The first certificate of a file.
Certificate FirstOf(const std::string& text) {
  return {PEM_read_bio_X509(BioOf(text).get(), nullptr, nullptr, nullptr), X509_free};
}

std::string PathOf(int fd) { return absl::StrCat("/proc/self/fd/", fd); }

absl::Status Replace(int fd, const std::string& text) {
  const auto size = static_cast<ssize_t>(text.size());
  // gRPC may read between the two calls: then PEM's end marks make it ignore what is left of the
  // old text.
  if (pwrite(fd, text.data(), text.size(), 0) != size || ftruncate(fd, size) != 0) {
    return absl::ErrnoToStatus(errno, "cannot keep the certificates");
  }
  return absl::OkStatus();
}

}  // namespace

Credentials::Credentials(TlsFiles files)
    : files_(std::move(files)),
      // In memory, because files are replaced one after the other: gRPC must not see a new
      // certificate with the old key. Only pairs that fit are copied here.
      identity_fd_(memfd_create("identity", MFD_CLOEXEC)),
      client_ca_fd_(memfd_create("client-ca", MFD_CLOEXEC)) {}

Credentials::~Credentials() {
  close(identity_fd_);
  close(client_ca_fd_);
}

absl::Status Credentials::Check(const Texts& texts) const {
  const Certificate certificate = FirstOf(texts.certificate);
  if (certificate == nullptr) return Wrong(files_.certificate);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(BioOf(texts.key).get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
  if (key == nullptr || X509_check_private_key(certificate.get(), key.get()) != 1) {
    return Wrong(files_.key);
  }
  if (!files_.client_ca.empty() && FirstOf(texts.client_ca) == nullptr) {
    return Wrong(files_.client_ca);
  }
  return absl::OkStatus();
}

absl::Status Credentials::Reload() {
  if (files_.certificate.empty()) return absl::OkStatus();
  Texts texts;
  ASSIGN_OR_RETURN(texts.certificate, Read(files_.certificate));
  ASSIGN_OR_RETURN(texts.key, Read(files_.key));
  ASSIGN_OR_RETURN(texts.client_ca, Read(files_.client_ca));
  // The same files give the same verdict; the caller logs it when it changes.
  if (texts == seen_) return verdict_;
  verdict_ = Check(texts);
  if (verdict_.ok()) {
    verdict_ = Replace(identity_fd_, absl::StrCat(texts.certificate, "\n", texts.key));
  }
  if (verdict_.ok()) verdict_ = Replace(client_ca_fd_, texts.client_ca);
  seen_ = std::move(texts);
  return verdict_;
}

std::shared_ptr<grpc::ServerCredentials> Credentials::ForServer() const {
  if (files_.certificate.empty()) return grpc::InsecureServerCredentials();
  namespace tls = grpc::experimental;
  const bool mutual = !files_.client_ca.empty();
  auto provider = std::make_shared<tls::FileWatcherCertificateProvider>(
      // Key and certificate in one file, so that one read gives both.
      PathOf(identity_fd_), PathOf(identity_fd_), mutual ? PathOf(client_ca_fd_) : "",
      kLookAgainSeconds);
  tls::TlsServerCredentialsOptions options(provider);
  options.watch_identity_key_cert_pairs();
  if (mutual) {
    options.watch_root_certs();
    options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return tls::TlsServerCredentials(options);
}

}  // namespace kiln
