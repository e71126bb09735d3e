#include "client_cpp/print_format.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "client_cpp/host/scalar_bytes.h"

namespace kiln {
namespace {

constexpr size_t kFlushBytes = 1 << 16;
constexpr int64_t kFlushNanoseconds = 20'000'000;

// The longest text of one number. A spec may ask for billions of digits.
constexpr int kLongestNumber = 1 << 16;

// A format spec for printf: flags, width and precision, without length modifier, and the conversion
// letter. Only what fits a number: other letters, such as n, and * would make printf read or write
// what it was not given.
struct Spec {
  std::string flags;
  char conversion = 0;
};

Spec ParseSpec(const std::string& text) {
  Spec spec;
  for (char c : text) {
    if (std::strchr("diuxXocaAeEfFgG", c) != nullptr) {
      spec.conversion = c;
    } else if (std::strchr("-+ #.0123456789", c) != nullptr) {
      spec.flags += c;
    }
  }
  return spec;
}

char DefaultConversion(Scalar scalar) {
  if (IsFloat(scalar)) return 'f';
  return IsUnsignedInt(scalar) ? 'u' : 'd';
}

class Renderer {
 public:
  Renderer(const TypeTable& types, const uint64_t* values, uint32_t count)
      : types_(types), next_(values), end_(values + count) {}

  void Text(const std::string& text) { out_ += text; }

  void Value(TypeId type_id, const Spec& spec) {
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
  void Tensor(const Type& type, size_t axis, const Spec& spec) {
    if (axis == type.shape.size()) return Number(type.scalar, spec);
    out_ += '[';
    for (uint32_t i = 0; i < type.shape[axis]; ++i) {
      if (i > 0) out_ += ", ";
      Tensor(type, axis + 1, spec);
    }
    out_ += ']';
  }

  void Number(Scalar scalar, const Spec& spec) {
    if (next_ == end_) return;
    const uint64_t* slot = next_++;
    const char conversion = spec.conversion != 0 ? spec.conversion : DefaultConversion(scalar);
    std::string pattern = "%" + spec.flags;
    switch (conversion) {
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o': {
        const long long number = IsFloat(scalar)
                                     ? static_cast<long long>(ScalarToDouble(scalar, slot))
                                     : ScalarToInt(scalar, slot);
        pattern += "ll";
        pattern += conversion;
        // A negative number in hexadecimal shows the bits of its own type, not 64 bits.
        const bool masks = conversion != 'd' && conversion != 'i' && ScalarBits(scalar) < 64;
        const long long shown = masks ? number & ((1ll << ScalarBits(scalar)) - 1) : number;
        return Append(pattern, shown);
      }
      case 'c':
        pattern += conversion;
        return Append(pattern, static_cast<int>(ScalarToInt(scalar, slot)));
      default: {
        const double number = ScalarToDouble(scalar, slot);
        if (spec.flags.empty() && spec.conversion == 0 && scalar == proto::F64) pattern += ".12";
        pattern += conversion;
        // Drop the sign of a NaN, which printf would show.
        return Append(pattern, std::isnan(number) ? NAN : number);
      }
    }
  }

  // `pattern` has one conversion, which fits the number.
  template <typename T>
  void Append(const std::string& pattern, T number) {
    char text[512];
    const int size = std::snprintf(text, sizeof text, pattern.c_str(), number);
    if (size < static_cast<int>(sizeof text)) {
      if (size > 0) out_.append(text, static_cast<size_t>(size));
      return;
    }
    // 1e308 with many digits after the point, or a large width.
    std::string longer(static_cast<size_t>(std::min(size, kLongestNumber)) + 1, '\0');
    std::snprintf(longer.data(), longer.size(), pattern.c_str(), number);
    out_.append(longer, 0, longer.size() - 1);
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
      renderer.Value(type, ParseSpec(piece.spec()));
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
