#include "server/front/generation.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <new>

namespace kiln {
namespace {

constexpr size_t kBytes = sizeof(std::atomic<uint64_t>);
static_assert(std::atomic<uint64_t>::is_always_lock_free, "it is shared by processes");

// A front maps it read-only: an atomic load needs no more.
void* Map(int fd, int protection) {
  void* memory = mmap(nullptr, kBytes, protection, MAP_SHARED, fd, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

Generation::Generation() : fd_(memfd_create("kilnd-generation", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  if (fd_ < 0 || ftruncate(fd_, kBytes) != 0) return;
  // Seals the size: a front must not truncate the memory.
  fcntl(fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  if (void* memory = Map(fd_, PROT_READ | PROT_WRITE)) {
    number_ = new (memory) std::atomic<uint64_t>(kOver + 1);
  }
}

Generation::Generation(int fd) {
  struct stat info;
  if (fd < 0 || fstat(fd, &info) != 0 || info.st_size < static_cast<off_t>(kBytes)) return;
  number_ = static_cast<std::atomic<uint64_t>*>(Map(fd, PROT_READ));
}

Generation::~Generation() {
  if (fd_ >= 0) {
    End();
    close(fd_);
  }
  if (number_ != nullptr) munmap(number_, kBytes);
}

void Generation::Advance() {
  if (number_ == nullptr) return;
  uint64_t number = number_->load();
  while (number != kOver && !number_->compare_exchange_weak(number, number + 1)) {
  }
}

void Generation::End() {
  if (number_ != nullptr) number_->store(kOver);
}

}  // namespace kiln
