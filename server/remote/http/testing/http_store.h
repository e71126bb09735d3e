// A small HTTP server in the test's own process. It keeps bytes under the path that a request
// names, as build caches do, and has the faults that a test wants.
#ifndef KILN_SERVER_REMOTE_HTTP_TESTING_HTTP_STORE_H_
#define KILN_SERVER_REMOTE_HTTP_TESTING_HTTP_STORE_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"

namespace kiln {

struct HttpStoreRequest {
  std::string method, path, body, authorization;
};

class HttpStore {
 public:
  // What answers instead of the store; a code of 0: the store does.
  using Rule = std::function<std::pair<int, std::string>(const HttpStoreRequest&)>;

  HttpStore() : listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        listen(listener_, 64) != 0 ||
        getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      std::abort();
    }
    port_ = ntohs(address.sin_port);
    accepts_ = std::thread([this] {
      for (int fd; (fd = accept(listener_, nullptr, nullptr)) >= 0;) {
        absl::MutexLock lock(&mutex_);
        open_.push_back(fd);
        talks_.emplace_back([this, fd] { Talk(fd); });
      }
    });
  }
  ~HttpStore() {
    shutdown(listener_, SHUT_RDWR);
    accepts_.join();
    for (const int fd : open_) shutdown(fd, SHUT_RDWR);
    for (std::thread& talk : talks_) talk.join();
    for (const int fd : open_) close(fd);
    close(listener_);
  }

  std::string url() const { return absl::StrCat("http://127.0.0.1:", port_, "/cache"); }
  void Answer(Rule rule) {
    absl::MutexLock lock(&mutex_);
    rule_ = std::move(rule);
  }
  std::map<std::string, std::string> stored() {
    absl::MutexLock lock(&mutex_);
    return stored_;
  }
  void Replace(const std::string& path, const std::string& bytes) {
    absl::MutexLock lock(&mutex_);
    stored_[path] = bytes;
  }
  void Remove(const std::string& path) {
    absl::MutexLock lock(&mutex_);
    stored_.erase(path);
  }
  int count(const std::string& method) {
    absl::MutexLock lock(&mutex_);
    return counts_[method];
  }
  size_t connections() {
    absl::MutexLock lock(&mutex_);
    return open_.size();
  }

 private:
  static bool ReadRequest(int fd, std::string* buffer, HttpStoreRequest* request) {
    char block[65536];
    const auto more = [&] {
      const ssize_t n = recv(fd, block, sizeof block, 0);
      if (n > 0) buffer->append(block, static_cast<size_t>(n));
      return n > 0;
    };
    size_t end;
    while ((end = buffer->find("\r\n\r\n")) == std::string::npos) {
      if (!more()) return false;
    }
    const std::string head = buffer->substr(0, end);
    buffer->erase(0, end + 4);
    const std::vector<std::string> lines = absl::StrSplit(head, "\r\n");
    const std::vector<std::string> words = absl::StrSplit(lines[0], ' ');
    *request = {words[0], words[1], "", ""};
    size_t length = 0;
    for (const std::string& line : lines) {
      const std::string lower = absl::AsciiStrToLower(line);
      if (absl::StartsWith(lower, "content-length: ")) {
        if (!absl::SimpleAtoi(line.substr(16), &length)) return false;
      }
      if (absl::StartsWith(lower, "authorization: ")) request->authorization = line.substr(15);
    }
    while (buffer->size() < length) {
      if (!more()) return false;
    }
    request->body = buffer->substr(0, length);
    buffer->erase(0, length);
    return true;
  }
  void Talk(int fd) {
    std::string buffer;
    for (HttpStoreRequest request; ReadRequest(fd, &buffer, &request);) {
      Rule rule;
      {
        absl::MutexLock lock(&mutex_);
        ++counts_[request.method];
        rule = rule_;
      }
      std::pair<int, std::string> answer{0, ""};
      if (rule) answer = rule(request);
      if (answer.first < 0) break;  // hangs up
      if (answer.first == 0) answer = FromStore(request);
      std::string reply =
          absl::StrCat("HTTP/1.1 ", answer.first,
                       " Words\r\nContent-Length: ", answer.second.size(), "\r\n\r\n");
      if (request.method != "HEAD") reply += answer.second;
      if (send(fd, reply.data(), reply.size(), MSG_NOSIGNAL) < 0) break;
    }
    shutdown(fd, SHUT_RDWR);
  }
  std::pair<int, std::string> FromStore(const HttpStoreRequest& request) {
    absl::MutexLock lock(&mutex_);
    if (request.method == "PUT") {
      stored_[request.path] = request.body;
      return {200, ""};
    }
    const auto found = stored_.find(request.path);
    if (found == stored_.end()) return {404, "not here"};
    return {200, found->second};
  }

  const int listener_;
  int port_ = 0;
  std::thread accepts_;
  absl::Mutex mutex_;
  std::vector<std::thread> talks_;
  std::vector<int> open_;
  Rule rule_;
  std::map<std::string, std::string> stored_;
  std::map<std::string, int> counts_;
};

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_HTTP_TESTING_HTTP_STORE_H_
