// The web front's answers, independent of HTTP itself.
//
//   /metrics            Prometheus' text format
//   /healthz            200 while this process lives
//   /readyz             200 if the daemon serves and knows its compiler, else 503 and why
//   /, /kernel?key=HEX  the dashboard, one page
//   /api/...            its data, JSON
//
// The dashboard shows kernels, so it is for their user only: the page for programs of that user,
// the data for those that also know the secret (address_file.h). The first three paths are public.
// Thread-safe.
#ifndef KILN_SERVER_WEB_FRONT_SITE_H_
#define KILN_SERVER_WEB_FRONT_SITE_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "server/web_front/daemon_link.h"
#include "server/web_front/history.h"

namespace kiln {

struct WebRequest {
  std::string method;
  std::string path;
  std::map<std::string, std::string> query;
  bool own_user = false;      // the request comes from a program of the daemon's own user
  bool knows_secret = false;  // and states the dashboard's secret
};

struct WebResponse {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
};

class Site {
 public:
  // None owned.
  Site(const DaemonLink* daemon, const History* history) : daemon_(daemon), history_(history) {}

  WebResponse Answer(const WebRequest& request) const;

 private:
  WebResponse Metrics() const;
  WebResponse Ready() const;
  absl::Status Readiness() const;
  absl::StatusOr<std::string> Api(const WebRequest& request) const;
  absl::StatusOr<std::string> Overview(const WebRequest& request) const;
  absl::StatusOr<std::string> Kernel(const std::string& key) const;
  // Has the kernel compiled again and shows the stages.
  absl::StatusOr<std::string> Stages(const std::string& key) const;

  const DaemonLink* const daemon_;
  const History* const history_;
};

}  // namespace kiln

#endif  // KILN_SERVER_WEB_FRONT_SITE_H_
