// How functions of the runtime report failures: a value, or the reason why there is none. Plain, so
// that the runtime needs no Abseil; client_cpp/runtime_status.h converts to absl::Status.
#ifndef KILN_RUNTIME_RESULT_H_
#define KILN_RUNTIME_RESULT_H_

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace kiln {

// The numbers of absl::StatusCode.
enum class ErrorCode {
  kInvalidArgument = 3,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kUnavailable = 14,
  kDataLoss = 15,
};

struct Error {
  ErrorCode code;
  std::string text;
};

template <typename T = void>
class [[nodiscard]] Result {
 public:
  // NOLINTBEGIN(google-explicit-constructor)
  Result(const T& value) : value_(value) {}
  Result(T&& value) : value_(std::move(value)) {}
  Result(Error error) : value_(std::move(error)) {}
  // NOLINTEND(google-explicit-constructor)

  bool ok() const { return value_.index() == 0; }
  // Requires: ok().
  T& operator*() & { return *std::get_if<0>(&value_); }
  const T& operator*() const& { return *std::get_if<0>(&value_); }
  T&& operator*() && { return std::move(*std::get_if<0>(&value_)); }
  T* operator->() { return std::get_if<0>(&value_); }
  const T* operator->() const { return std::get_if<0>(&value_); }
  // Requires: !ok().
  const Error& error() const { return *std::get_if<1>(&value_); }

 private:
  std::variant<T, Error> value_;
};

// Of functions that return nothing else: Result<>() is success.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return !error_.has_value(); }
  // Requires: !ok().
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace kiln

#endif  // KILN_RUNTIME_RESULT_H_
