#include "client_cpp/print_format.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "client_cpp/host/scalar_bytes.h"
#include "runtime/number_format.h"

namespace kiln {
namespace {

constexpr size_t kFlushBytes = 1 << 16;
constexpr int64_t kFlushNanoseconds = 20'000'000;

class Renderer {
 public:
  Renderer(const TypeTable& types, const uint64_t* values, uint32_t count)
      : types_(types), next_(values), end_(values + count) {}

  void Text(const std::string& text) { out_ += text; }

  void Value(TypeId type_id, const NumberSpec& spec) {
    const Type& type = types_[type_id];
    if (type.IsStruct()) {
      out_ += '{';
      for (size_t i = 0; i < type.members.size(); ++i) {
        if (i > 0) out_ += ", ";
        out_ += type.members[i].first + ": ";
        Value(type.members[i].second, spec);
      }
      out_ += '}';
    } else {
      Tensor(type, 0, spec);
    }
  }

  std::string Take() { return std::move(out_); }

 private:
  void Tensor(const Type& type, size_t axis, const NumberSpec& spec) {
    if (axis == type.shape.size()) return Number(type.scalar, spec);
    out_ += '[';
    for (uint32_t i = 0; i < type.shape[axis]; ++i) {
      if (i > 0) out_ += ", ";
      Tensor(type, axis + 1, spec);
    }
    out_ += ']';
  }

  void Number(Scalar scalar, const NumberSpec& spec) {
    if (next_ != end_) AppendNumber(SlotScalarOf(scalar), *next_++, spec, &out_);
  }

  const TypeTable& types_;
  const uint64_t* next_;
  const uint64_t* end_;
  std::string out_;
};

int64_t NowNanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

std::string RenderFormat(const proto::Format& format, const TypeTable& types,
                         const uint64_t* values, uint32_t count) {
  Renderer renderer(types, values, count);
  for (const proto::Format::Piece& piece : format.pieces()) {
    renderer.Text(piece.text());
    const TypeId type(piece.type());
    if (type && types.Has(type)) {
      renderer.Value(type, ParseNumberSpec(piece.spec()));
    }
  }
  renderer.Text(format.end());
  return renderer.Take();
}

void PrintSink::Add(const std::string& text) {
  pending_ += text;
  const int64_t now = NowNanoseconds();
  if (pending_.size() >= kFlushBytes || now - last_write_ns_ >= kFlushNanoseconds) {
    Flush();
    last_write_ns_ = now;
  }
}

void PrintSink::Flush() {
  const char* data = pending_.data();
  size_t left = pending_.size();
  while (left > 0) {
    const ssize_t written = write(STDOUT_FILENO, data, left);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;  // a closed standard output loses prints, but the program continues
    data += written;
    left -= written;
  }
  pending_.clear();
}

}  // namespace kiln
