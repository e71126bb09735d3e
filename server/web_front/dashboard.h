// The dashboard: one page, generated from dashboard.html at build time.
#ifndef KILN_SERVER_WEB_FRONT_DASHBOARD_H_
#define KILN_SERVER_WEB_FRONT_DASHBOARD_H_

namespace kiln {

extern const char kDashboardPage[];

}  // namespace kiln

#endif  // KILN_SERVER_WEB_FRONT_DASHBOARD_H_
