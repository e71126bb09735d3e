#include "client_cpp/upstream.h"

#include <cstdlib>
#include <filesystem>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace kiln {
namespace {

bool IsHostAndPort(absl::string_view text, absl::string_view* host) {
  const size_t colon = text.rfind(':');
  int port = 0;
  if (colon == absl::string_view::npos || colon == 0 ||
      !absl::SimpleAtoi(text.substr(colon + 1), &port) || port < 1 || port > 65535) {
    return false;
  }
  *host = text.substr(0, colon);
  if (host->front() == '[') return host->size() > 2 && host->back() == ']';
  return host->find_first_of(":/ ") == absl::string_view::npos;
}

// Makes the path absolute: the daemon that reads the file has another working directory.
std::string PathFrom(const char* variable) {
  const char* path = std::getenv(variable);
  if (path == nullptr || *path == '\0') return "";
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.string();
}

}  // namespace

absl::StatusOr<proto::Upstream> ParseUpstream(const std::string& server) {
  absl::string_view host;
  if (!IsHostAndPort(server, &host)) {
    return absl::InvalidArgumentError(
        absl::StrCat("KILN_SERVER=", server,
                     ": HOST:PORT of a kilnd to ask, 'off' for no daemon, or unset for the local "
                     "daemon alone"));
  }
  proto::Upstream upstream;
  upstream.set_address(server);
  upstream.set_token_file(PathFrom("KILN_SERVER_TOKEN_FILE"));
  proto::Tls& tls = *upstream.mutable_tls();
  tls.set_ca_file(PathFrom("KILN_SERVER_CA"));
  tls.set_certificate_file(PathFrom("KILN_SERVER_CERTIFICATE"));
  tls.set_key_file(PathFrom("KILN_SERVER_KEY"));
  if (tls.certificate_file().empty() != tls.key_file().empty()) {
    return absl::InvalidArgumentError(
        "KILN_SERVER_CERTIFICATE and KILN_SERVER_KEY belong together, and one is missing");
  }
  const bool here = host == "127.0.0.1" || host == "[::1]" || host == "localhost";
  tls.set_enabled(!here || !tls.ca_file().empty() || !tls.certificate_file().empty());
  return upstream;
}

}  // namespace kiln
