// TLS of the public API.
#ifndef KILN_SERVER_GRPC_FRONT_CREDENTIALS_H_
#define KILN_SERVER_GRPC_FRONT_CREDENTIALS_H_

#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>

#include "absl/status/status.h"

namespace kiln {

struct TlsFiles {
  std::string certificate;  // PEM, with the chain; "": no TLS
  std::string key;
  std::string client_ca;  // callers must show a certificate by it; "": they need none
};

// Our certificate and the trusted authorities: TLS 1.2 at least. gRPC would accept faulty files and
// then refuse every caller, so it gets copies of files that were checked before.
//
// Not thread-safe.
class Credentials {
 public:
  explicit Credentials(TlsFiles files);
  ~Credentials();
  Credentials(const Credentials&) = delete;

  // Reads the files if they changed. An error names the faulty file, and changes nothing.
  absl::Status Reload();

  // Call after a successful Reload; follows later ones within a second.
  std::shared_ptr<grpc::ServerCredentials> ForServer() const;

 private:
  struct Texts {
    std::string certificate, key, client_ca;
    bool operator==(const Texts& other) const {
      return certificate == other.certificate && key == other.key && client_ca == other.client_ca;
    }
  };
  absl::Status Check(const Texts& texts) const;

  const TlsFiles files_;
  Texts seen_;
  absl::Status verdict_;  // on the files as last seen
  // Unlinked files: certificates and key in one, so that a pair is never half replaced.
  int identity_fd_ = -1;
  int client_ca_fd_ = -1;
};

}  // namespace kiln

#endif  // KILN_SERVER_GRPC_FRONT_CREDENTIALS_H_
