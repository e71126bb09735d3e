// Functions of the program that the library calls back.
#ifndef KILN_DSL_BODY_HPP_
#define KILN_DSL_BODY_HPP_

#include <exception>

#include "kiln/dsl/error.hpp"

namespace kiln::dsl::detail {

// Calls act(function, self) with a function of C that calls the body. What the body throws, this
// throws again: no exception passes through the library.
template <typename Body, typename Act>
void InBody(const Body& body, const Act& act) {
  struct Call {
    const Body& body;
    std::exception_ptr thrown;
  } call = {body, nullptr};
  const auto function = [](void* self) -> kiln_status {
    auto* const of = static_cast<Call*>(self);
    try {
      of->body();
      return KILN_OK;
    } catch (...) {
      of->thrown = std::current_exception();
      return KILN_ABORTED;
    }
  };
  const kiln_status done = act(+function, &call);
  if (call.thrown) std::rethrow_exception(call.thrown);
  Check(done);
}

}  // namespace kiln::dsl::detail

#endif  // KILN_DSL_BODY_HPP_
