// TLS of the public API.
#ifndef KILN_SERVER_DAEMON_SERVICE_CREDENTIALS_H_
#define KILN_SERVER_DAEMON_SERVICE_CREDENTIALS_H_

#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace kiln {

struct TlsFiles {
  std::string certificate;  // PEM, with the chain; "": no TLS
  std::string key;
  std::string client_ca;  // callers must show a certificate by it; "": they need none
};

// TLS 1.2 at least. The files are read again when they change; what was wrong with them at
// first is an error that names the file, later the old ones go on.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeCredentials(const TlsFiles& files);

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_SERVICE_CREDENTIALS_H_
