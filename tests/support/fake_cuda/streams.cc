#include "tests/support/fake_cuda/streams.h"

#include <algorithm>
#include <utility>

namespace kiln::fake_cuda {
namespace {

constexpr size_t kLongQueue = 1024;

}  // namespace

Streams::Streams(uint32_t seed) : random_(seed) {}

Stream* Streams::Create(Stream::Kind kind, const void* owner) {
  streams_.push_back(std::make_unique<Stream>());
  streams_.back()->kind = kind;
  streams_.back()->owner = owner;
  return streams_.back().get();
}

Stream* Streams::Default(Stream::Kind kind, const void* owner) {
  for (const auto& stream : streams_) {
    if (stream->kind == kind && stream->owner == owner) return stream.get();
  }
  return Create(kind, owner);
}

void Streams::Destroy(Stream* stream) {
  RunUntilEmpty(stream);
  streams_.erase(std::find_if(streams_.begin(), streams_.end(),
                              [&](const auto& known) { return known.get() == stream; }));
}

bool Streams::Exists(const Stream* stream) const {
  return std::any_of(streams_.begin(), streams_.end(),
                     [&](const auto& known) { return known.get() == stream; });
}

Done Streams::Add(Stream* stream, std::function<void()> work, Done after) {
  auto done = std::make_shared<bool>(false);
  stream->queue.push_back({next_++, std::move(work), std::move(after), done});
  while (stream->queue.size() > kLongQueue && RunOne()) {
  }
  return done;
}

// The legacy stream and blocking streams wait for each other's earlier work.
bool Streams::CanRun(const Stream& stream) const {
  if (stream.queue.empty()) return false;
  const Stream::Work& work = stream.queue.front();
  if (work.after != nullptr && !*work.after) return false;
  if (stream.kind == Stream::kNonBlocking) return true;
  for (const auto& other : streams_) {
    if (other.get() == &stream || other->owner != stream.owner ||
        other->kind == Stream::kNonBlocking || other->queue.empty()) {
      continue;
    }
    const bool ordered = stream.kind == Stream::kLegacy || other->kind == Stream::kLegacy;
    if (ordered && other->queue.front().number < work.number) return false;
  }
  return true;
}

bool Streams::RunOne() {
  std::vector<Stream*> ready;
  for (const auto& stream : streams_) {
    if (CanRun(*stream)) ready.push_back(stream.get());
  }
  if (ready.empty()) return false;
  Stream* stream = ready[random_() % ready.size()];
  const Stream::Work work = std::move(stream->queue.front());
  stream->queue.pop_front();
  work.run();
  *work.done = true;
  return true;
}

void Streams::RunUntil(const Done& done) {
  while (!*done && RunOne()) {
  }
}

void Streams::RunUntilEmpty(Stream* stream) {
  while (!stream->queue.empty() && RunOne()) {
  }
}

void Streams::RunAll() {
  while (RunOne()) {
  }
}

void Streams::RunAllOf(const void* owner) {
  for (const auto& stream : streams_) {
    if (stream->owner == owner) RunUntilEmpty(stream.get());
  }
}

bool Streams::HasWorkOf(const void* owner) const {
  return std::any_of(streams_.begin(), streams_.end(), [owner](const auto& stream) {
    return stream->owner == owner && !stream->queue.empty();
  });
}

void Streams::Clear() {
  for (const auto& stream : streams_) {
    for (const Stream::Work& work : stream->queue) *work.done = true;
    stream->queue.clear();
  }
}

}  // namespace kiln::fake_cuda
