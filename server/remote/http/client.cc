#include "server/remote/http/client.h"

#include <curl/curl.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"
#include "server/remote/grpc_endpoint.h"

namespace kiln {
namespace {

constexpr long kConnections = 8;    // at once, per caller
constexpr size_t kIdleMultis = 16;  // kept, with their connections
constexpr int kPollMs = 100;

// "HOST:PORT" of a valid URL.
absl::string_view HostOf(absl::string_view url) {
  absl::ConsumePrefix(&url, "http://");
  absl::ConsumePrefix(&url, "https://");
  return url.substr(0, url.find('/'));
}

absl::Status CheckUrl(const proto::Http& config) {
  const absl::string_view url = config.url();
  const bool https = absl::StartsWith(url, "https://");
  if ((!https && !absl::StartsWith(url, "http://")) || HostOf(url).empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("url: \"", url, "\": expected http://HOST/… or https://HOST/…"));
  }
  // Such a URL appears in logs and in lists of processes, and the secret with it.
  if (absl::StrContains(HostOf(url), '@')) {
    return absl::InvalidArgumentError(
        "url: holds a user's name or password; user and password_file are for them");
  }
  // The entry's path is appended: it would become part of the query.
  if (url.find_first_of("?#") != absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat("url: \"", url, "\" ends in ? or #"));
  }
  if (!https && config.has_tls() && config.tls().enabled()) {
    return absl::InvalidArgumentError(
        absl::StrCat("url: \"", url, "\" and tls { enabled: true }: expected https://"));
  }
  if (config.user().empty() != config.password_file().empty()) {
    return absl::InvalidArgumentError("user and password_file belong together, and one is missing");
  }
  // In Basic authentication the first colon ends the name.
  if (absl::StrContains(config.user(), ':')) {
    return absl::InvalidArgumentError("user: expected a name without a colon");
  }
  if (!config.user().empty() && !config.token_file().empty()) {
    return absl::InvalidArgumentError("token_file, or user and password_file: not both");
  }
  // A token in the clear could be read by any machine on the way.
  const bool secret = !config.token_file().empty() || !config.user().empty();
  if (secret && !https && !IsLocalAddress(HostOf(url))) {
    return absl::InvalidArgumentError(absl::StrCat(
        config.user().empty() ? "token_file: the token" : "password_file: the password",
        " would travel in the clear to ", HostOf(url), "; use https://"));
  }
  if (config.tls().certificate_file().empty() != config.tls().key_file().empty()) {
    return absl::InvalidArgumentError(
        "tls: certificate_file and key_file belong together, and one is missing");
  }
  // curl checks the name of the URL only; an ignored setting would promise more.
  if (!config.tls().server_name().empty()) {
    return absl::InvalidArgumentError(
        "tls: server_name is not for HTTP tiers; the url's host is the name that is checked");
  }
  return absl::OkStatus();
}

absl::Status Failure(CURLcode code, const char* words) {
  const std::string text(words[0] != '\0' ? words : curl_easy_strerror(code));
  if (code == CURLE_OPERATION_TIMEDOUT) return absl::DeadlineExceededError(text);
  // Take alone writes, and fails only when the answer is too large.
  if (code == CURLE_FILESIZE_EXCEEDED || code == CURLE_WRITE_ERROR) {
    return absl::DataLossError("the answer is larger than any entry");
  }
  return absl::UnavailableError(text);
}

}  // namespace

// One request in progress.
struct HttpClient::Transfer {
  Transfer() : easy(curl_easy_init()) {}
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer() {
    curl_easy_cleanup(easy);
    curl_slist_free_all(headers);
  }

  static size_t Take(char* data, size_t one, size_t count, void* self) {
    auto* transfer = static_cast<Transfer*>(self);
    // Returning less than it was given makes curl end the transfer with CURLE_WRITE_ERROR.
    if (transfer->reply.body.size() + one * count > transfer->max_bytes) return 0;
    transfer->reply.body.append(data, one * count);
    return one * count;
  }
  static size_t Give(char* to, size_t one, size_t count, void* self) {
    auto* transfer = static_cast<Transfer*>(self);
    const size_t n = std::min(one * count, transfer->to_send.size());
    std::memcpy(to, transfer->to_send.data(), n);
    transfer->to_send.remove_prefix(n);
    return n;
  }
  // Runs all transfers of `multi` to their ends. Each has its own time limit.
  static void Perform(CURLM* multi) {
    for (int running = 1; running != 0;) {
      if (curl_multi_perform(multi, &running) != CURLM_OK) break;
      if (running != 0) curl_multi_poll(multi, nullptr, 0, kPollMs, nullptr);
    }
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      Transfer* transfer = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
      transfer->ended = true;
      transfer->code = message->data.result;
    }
  }
  // Of a transfer that ended. Every code is an answer; what it means depends on the request.
  absl::StatusOr<HttpReply> Reply() {
    if (code != CURLE_OK) return Failure(code, words);
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    reply.code = static_cast<int>(status);
    return std::move(reply);
  }
  // Called when a reused connection turns out to be dead after the body was begun.
  static int Rewind(void* self, curl_off_t offset, int origin) {
    auto* transfer = static_cast<Transfer*>(self);
    if (origin != SEEK_SET || offset < 0 || static_cast<size_t>(offset) > transfer->body.size()) {
      return CURL_SEEKFUNC_FAIL;
    }
    transfer->to_send = transfer->body.substr(static_cast<size_t>(offset));
    return CURL_SEEKFUNC_OK;
  }

  CURL* const easy;
  curl_slist* headers = nullptr;
  // curl writes into it while it runs, so it must not move: transfers are neither copied nor moved.
  char words[CURL_ERROR_SIZE] = "";
  size_t max_bytes = 0;
  absl::string_view body;
  absl::string_view to_send;
  HttpReply reply;
  bool ended = false;
  CURLcode code = CURLE_OK;
};

absl::StatusOr<std::unique_ptr<HttpClient>> HttpClient::Make(const proto::Http& config) {
  // Once in the process: the initialisation of a static is thread-safe, curl's own is not.
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (ready != CURLE_OK) return absl::InternalError(curl_easy_strerror(ready));
  RETURN_IF_ERROR(CheckUrl(config));
  return std::unique_ptr<HttpClient>(new HttpClient(config));
}

HttpClient::HttpClient(const proto::Http& config)
    : url_(absl::StripSuffix(config.url(), "/")),
      tls_(config.tls()),
      user_(config.user()),
      secret_(user_.empty() ? config.token_file() : config.password_file()) {}

HttpClient::~HttpClient() {
  for (void* multi : idle_) curl_multi_cleanup(multi);
}

void* HttpClient::TakeMulti() {
  {
    absl::MutexLock lock(&mutex_);
    // The one used last: its connections are the least likely to have been closed by the server.
    if (!idle_.empty()) {
      void* multi = idle_.back();
      idle_.pop_back();
      return multi;
    }
  }
  CURLM* multi = curl_multi_init();
  curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, kConnections);
  return multi;
}

absl::StatusOr<std::string> HttpClient::Authorization() {
  if (secret_.path().empty()) return std::string();
  ASSIGN_OR_RETURN(const std::string secret, secret_.ReadSecret());
  if (user_.empty()) return absl::StrCat("Authorization: Bearer ", secret);
  return absl::StrCat("Authorization: Basic ",
                      absl::Base64Escape(absl::StrCat(user_, ":", secret)));
}

absl::Status HttpClient::SetUp(const HttpRequest& request, const std::string& authorization,
                               absl::Time deadline, Transfer* transfer) {
  // 0 would mean "no limit" to curl.
  const int64_t left = absl::ToInt64Milliseconds(deadline - SteadyNow());
  if (left <= 0) return absl::DeadlineExceededError("the deadline has passed");
  CURL* easy = transfer->easy;
  const auto set = [easy](CURLoption option, auto value) { curl_easy_setopt(easy, option, value); };
  set(CURLOPT_URL, absl::StrCat(url_, request.path).c_str());
  set(CURLOPT_ERRORBUFFER, transfer->words);
  // curl would otherwise use SIGALRM for time limits, which is not safe with threads.
  set(CURLOPT_NOSIGNAL, 1L);
  // Whatever the URL says: no files, no other protocols.
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(std::min<int64_t>(left, INT32_MAX)));
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(CURLOPT_USERAGENT, "kiln");
  // Each new connection reads the files, so certificates may be replaced.
  if (!tls_.ca_file().empty()) set(CURLOPT_CAINFO, tls_.ca_file().c_str());
  if (!tls_.certificate_file().empty()) {
    set(CURLOPT_SSLCERT, tls_.certificate_file().c_str());
    set(CURLOPT_SSLKEY, tls_.key_file().c_str());
  }
  if (!authorization.empty()) {
    transfer->headers = curl_slist_append(transfer->headers, authorization.c_str());
  }
  transfer->max_bytes = request.max_bytes;
  set(CURLOPT_WRITEFUNCTION, &Transfer::Take);
  set(CURLOPT_WRITEDATA, static_cast<void*>(transfer));
  // Otherwise curl would wait for a body that does not come.
  if (request.method == HttpRequest::kHead) set(CURLOPT_NOBODY, 1L);
  if (request.method == HttpRequest::kPut) {
    transfer->body = transfer->to_send = request.body;
    transfer->max_bytes = 64 << 10;  // for the server's error text
    set(CURLOPT_UPLOAD, 1L);
    set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set(CURLOPT_READFUNCTION, &Transfer::Give);
    set(CURLOPT_READDATA, static_cast<void*>(transfer));
    set(CURLOPT_SEEKFUNCTION, &Transfer::Rewind);
    set(CURLOPT_SEEKDATA, static_cast<void*>(transfer));
    // Disables "Expect": servers that do not know it would cost a second each.
    transfer->headers = curl_slist_append(transfer->headers, "Expect:");
    transfer->headers =
        curl_slist_append(transfer->headers, "Content-Type: application/octet-stream");
  }
  set(CURLOPT_HTTPHEADER, transfer->headers);
  set(CURLOPT_PRIVATE, static_cast<void*>(transfer));
  return absl::OkStatus();
}

std::vector<absl::StatusOr<HttpReply>> HttpClient::Run(absl::Span<const HttpRequest> requests,
                                                       absl::Time deadline) {
  std::vector<absl::StatusOr<HttpReply>> replies(requests.size());
  const absl::StatusOr<std::string> authorization = Authorization();
  if (!authorization.ok()) {
    for (auto& reply : replies) reply = authorization.status();
    return replies;
  }

  // A multi handle keeps connections open between calls. Each call has one to itself.
  CURLM* multi = TakeMulti();
  std::vector<Transfer> transfers(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    const absl::Status status = SetUp(requests[i], *authorization, deadline, &transfers[i]);
    if (status.ok()) {
      curl_multi_add_handle(multi, transfers[i].easy);
    } else {
      replies[i] = status;
    }
  }
  Transfer::Perform(multi);
  for (size_t i = 0; i < requests.size(); ++i) {
    Transfer& transfer = transfers[i];
    // Each easy handle leaves the multi handle before it is destroyed.
    curl_multi_remove_handle(multi, transfer.easy);
    if (transfer.ended) {
      replies[i] = transfer.Reply();
    } else if (replies[i].status().code() == absl::StatusCode::kUnknown) {
      // Not yet filled by an error of SetUp: a default-constructed StatusOr has this code.
      replies[i] = absl::UnavailableError("the transfer could not be made");
    }
  }
  absl::MutexLock lock(&mutex_);
  if (idle_.size() < kIdleMultis) {
    idle_.push_back(multi);
  } else {
    curl_multi_cleanup(multi);
  }
  return replies;
}

}  // namespace kiln
