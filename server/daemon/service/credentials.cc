#include "server/daemon/service/credentials.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "absl/strings/str_cat.h"
#include "lang/status_macros.h"

namespace kiln {
namespace {

constexpr unsigned kLookAgainSeconds = 1;

absl::Status Wrong(const std::string& file) {
  char reason[256] = "cannot be used";
  if (const unsigned long error = ERR_get_error()) ERR_error_string_n(error, reason, sizeof reason);
  ERR_clear_error();
  return absl::InvalidArgumentError(absl::StrCat(file, ": ", reason));
}

// gRPC would start with files that are wrong, and refuse every caller.
absl::Status Check(const TlsFiles& files) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_server_method()),
                                                                  SSL_CTX_free);
  SSL_CTX* const raw = context.get();
  if (SSL_CTX_use_certificate_chain_file(raw, files.certificate.c_str()) != 1) {
    return Wrong(files.certificate);
  }
  if (SSL_CTX_use_PrivateKey_file(raw, files.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(raw) != 1) {
    return Wrong(files.key);
  }
  if (!files.client_ca.empty() &&
      SSL_CTX_load_verify_locations(raw, files.client_ca.c_str(), nullptr) != 1) {
    return Wrong(files.client_ca);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeCredentials(const TlsFiles& files) {
  if (files.certificate.empty()) return grpc::InsecureServerCredentials();
  RETURN_IF_ERROR(Check(files));
  namespace tls = grpc::experimental;
  auto provider = std::make_shared<tls::FileWatcherCertificateProvider>(
      files.key, files.certificate, files.client_ca, kLookAgainSeconds);
  tls::TlsServerCredentialsOptions options(provider);
  options.watch_identity_key_cert_pairs();
  if (!files.client_ca.empty()) {
    options.watch_root_certs();
    options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return tls::TlsServerCredentials(options);
}

}  // namespace kiln
