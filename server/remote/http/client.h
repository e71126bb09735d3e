// Requests to one HTTP server, several at once, over persistent connections.
#ifndef KILN_SERVER_REMOTE_HTTP_CLIENT_H_
#define KILN_SERVER_REMOTE_HTTP_CLIENT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "kiln/proto/config.pb.h"
#include "server/remote/watched_file.h"

namespace kiln {

struct HttpRequest {
  enum Method { kGet, kHead, kPut };

  Method method = kGet;
  std::string path;        // below the server's URL: "/ac/…"
  absl::string_view body;  // of kPut; owned by the caller
  size_t max_bytes = 0;    // of the reply to kGet: a longer one is DataLoss
};

struct HttpReply {
  int code = 0;
  std::string body;
};

// Thread-safe.
class HttpClient {
 public:
  // Does not connect yet. InvalidArgument: a URL that is neither http nor https, that contains a
  // password, or over which a secret would travel unencrypted; or both kinds of secret.
  static absl::StatusOr<std::unique_ptr<HttpClient>> Make(const proto::Http& config);
  ~HttpClient();

  // The replies in the order of the requests, whatever their codes. Only a request without a reply
  // has a status, Unavailable or DeadlineExceeded. Follows no redirections.
  std::vector<absl::StatusOr<HttpReply>> Run(absl::Span<const HttpRequest> requests,
                                             absl::Time deadline);

 private:
  struct Transfer;

  explicit HttpClient(const proto::Http& config);
  void* TakeMulti();  // a CURLM with its open connections
  // The Authorization header, read anew; empty if no secret is configured.
  absl::StatusOr<std::string> Authorization();
  absl::Status SetUp(const HttpRequest& request, const std::string& authorization,
                     absl::Time deadline, Transfer* transfer);

  const std::string url_;  // without a trailing slash
  const proto::Tls tls_;
  const std::string user_;  // "": a bearer token
  WatchedFile secret_;
  absl::Mutex mutex_;
  std::vector<void*> idle_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_HTTP_CLIENT_H_
