// What Trace and Program share.
#ifndef KILN_CLIENT_CPP_DSL_TRACE_STATE_H_
#define KILN_CLIENT_CPP_DSL_TRACE_STATE_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "client_cpp/dsl/trace.h"
#include "client_cpp/fields.h"
#include "client_cpp/kernel_builder.h"

namespace kiln::dsl {

struct Trace::Impl {
  KernelBuilder builder;
  Failure failure;  // the first
  Place place{nullptr, 0};
  std::map<std::string, uint32_t> files;
  std::vector<std::pair<std::shared_ptr<DenseField>, ParamId>> fields;

  TypeId TypeFor(ValueType type);
  // Keeps the first failure, with the program's place.
  void Fail(const absl::Status& status);
  bool failed() const { return failure.code != 0; }

  // Calls `make`, which returns a status or what was made, unless the trace has failed.
  template <typename Make>
  auto Try(const Make& make) -> typename decltype(make())::value_type {
    if (failed()) return {};
    auto made = make();
    if (made.ok()) return *std::move(made);
    Fail(made.status());
    return {};
  }
  template <typename Do>
  void Check(const Do& act) {
    if (!failed()) Fail(act());
  }
};

}  // namespace kiln::dsl

#endif  // KILN_CLIENT_CPP_DSL_TRACE_STATE_H_
