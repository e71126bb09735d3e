#include "runtime/host_arrays.h"

#include <algorithm>
#include <tuple>

namespace kiln {

HostArrays::~HostArrays() {
  for (const Scratch& one : scratch_) device_->ReturnScratch(one.memory, one.bytes);
}

bool HostArrays::AreWritten() const {
  return std::any_of(arrays_.begin(), arrays_.end(),
                     [](const Array& array) { return array.is_written && array.bytes > 0; });
}

// Arrays that overlap are parts of one copy, so that writes to one show in the other.
Result<> HostArrays::CopyIn() {
  std::vector<Array*> sorted;
  sorted.reserve(arrays_.size());
  for (Array& array : arrays_) sorted.push_back(&array);
  std::sort(sorted.begin(), sorted.end(),
            [](const Array* a, const Array* b) { return a->host < b->host; });
  for (size_t first = 0, last; first < sorted.size(); first = last) {
    uint8_t* const begin = sorted[first]->host;
    uint8_t* end = begin + sorted[first]->bytes;
    for (last = first + 1; last < sorted.size() && sorted[last]->host < end; ++last) {
      end = std::max(end, sorted[last]->host + sorted[last]->bytes);
    }
    // At the distance that the host has to a boundary, so that all parts are as aligned as there.
    constexpr uint64_t kBoundary = 256;
    const uint64_t shift = reinterpret_cast<uintptr_t>(begin) % kBoundary;
    const uint64_t bytes = static_cast<uint64_t>(end - begin);
    Result<uint8_t*> memory = device_->TakeScratch(shift + bytes);
    if (!memory.ok()) return memory.error();
    scratch_.push_back({*memory, shift + bytes});
    uint8_t* const copy = *memory + shift;
    if (bytes > 0) device_->CopyIn(copy, begin, bytes);
    for (size_t i = first; i < last; ++i) {
      sorted[i]->copy = copy + (sorted[i]->host - begin);
      *sorted[i]->slot = reinterpret_cast<uint64_t>(sorted[i]->copy);
    }
  }
  return {};
}

Result<> HostArrays::CopyBack() {
  // Of an array that is only read, not even the same bytes may be written: its memory may be
  // read-only.
  const Array* last = nullptr;
  std::sort(arrays_.begin(), arrays_.end(), [](const Array& a, const Array& b) {
    return std::tie(a.host, a.bytes) < std::tie(b.host, b.bytes);
  });
  for (const Array& array : arrays_) {
    if (!array.is_written || array.bytes == 0) continue;
    // A graph may pass one array to many launches.
    if (last != nullptr && array.host == last->host && array.bytes == last->bytes) continue;
    device_->CopyOut(array.host, array.copy, array.bytes);
    last = &array;
  }
  return last != nullptr ? device_->Synchronize() : Result<>();
}

}  // namespace kiln
