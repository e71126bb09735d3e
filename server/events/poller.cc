#include "server/events/poller.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/check.h"

namespace kiln {
namespace {

epoll_event EventOf(Tag* tag) {
  epoll_event event = {};
  // ONESHOT: after an event the descriptor is silent until Arm, so one thread handles a connection.
  event.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT;
  event.data.ptr = tag;
  return event;
}

}  // namespace

Poller::Poller() : epoll_fd_(epoll_create1(EPOLL_CLOEXEC)), end_fd_(eventfd(0, EFD_CLOEXEC)) {
  KILN_CHECK(epoll_fd_ >= 0 && end_fd_ >= 0);
  epoll_event end = {};  // without a tag; wakes all waiting threads
  end.events = EPOLLIN;
  KILN_CHECK(epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, end_fd_, &end) == 0);
}

Poller::~Poller() {
  close(epoll_fd_);
  close(end_fd_);
}

absl::Status Poller::Add(int fd, Tag* tag) {
  epoll_event event = EventOf(tag);
  if (epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, "epoll_ctl");
}

void Poller::Arm(int fd, Tag* tag) {
  epoll_event event = EventOf(tag);
  KILN_CHECK(epoll_ctl(epoll_fd_, EPOLL_CTL_MOD, fd, &event) == 0);
}

void Poller::End() { KILN_CHECK(eventfd_write(end_fd_, 1) == 0); }

bool Poller::Next(Tag** tag, bool* ok) {
  epoll_event event;
  int count;
  do {
    count = epoll_wait(epoll_fd_, &event, 1, -1);
  } while (count < 0 && errno == EINTR);
  KILN_CHECK(count == 1);
  *tag = static_cast<Tag*>(event.data.ptr);
  *ok = true;
  return *tag != nullptr;
}

}  // namespace kiln
