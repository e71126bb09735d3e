// Tapes: record launches, and run their gradients in the opposite order.
#ifndef KILN_DSL_TAPE_HPP_
#define KILN_DSL_TAPE_HPP_

#include <memory>

#include "kiln/dsl/body.hpp"
#include "kiln/dsl/data.hpp"
#include "kiln/dsl/error.hpp"

namespace kiln::dsl {

// Of values that gradients need. Kiln may see overwritten values where there are none: it knows
// ranges of indices.
enum class Overwritten { kRefused, kIgnored };

// Computes the derivatives of a loss by the elements of all fields with gradients.
//
//   Field<float, 1> x({100}, kGrad);
//   Field<float, 0> loss({}, kGrad);
//   Kernel measure("measure", [&] { ForEach(x, [&](Int i) { loss() += x[i] * x[i]; }); });
//   Tape tape;
//   tape.Run(loss, [&] { measure(); });
//   x.grad().get(3);  // 2 * x.get(3)
//
// It sees the launches of its body's own thread. Memory of arguments must stay as it is until the
// gradients have run. All functions throw Error; what the body throws passes through them, and
// gradients are then as they were. One tape is for one thread at a time, and may be used again.
class Tape {
 public:
  explicit Tape(Overwritten overwritten = Overwritten::kRefused)
      : tape_(kiln_tape_new(overwritten == Overwritten::kIgnored ? 1 : 0)) {
    if (tape_ == nullptr) throw Error(KILN_RESOURCE_EXHAUSTED, "no memory for a tape");
  }

  // Sets `loss` to 0 and records the launches of body(). Then sets the loss's gradient to 1 and all
  // others to 0, and runs the launches' gradients. The gradient of a field that no launch uses
  // stays. Throws if a launch has no gradient and may need one. Also throws if a gradient would
  // read what a later launch may have overwritten, with the lines of both.
  template <typename T, typename Body>
  void Run(const Field<T, 0>& loss, const Body& body) {
    detail::InBody(body, [&](auto call, void* self) {
      return kiln_tape_run(tape_.get(), loss.get_dense(), call, self);
    });
  }

  // The steps of Run, for programs that set gradients themselves.
  template <typename Body>
  void Record(const Body& body) {
    detail::InBody(
        body, [&](auto call, void* self) { return kiln_tape_record(tape_.get(), call, self); });
  }
  void ClearGradients() { Check(kiln_tape_clear_gradients(tape_.get())); }
  void Gradients() { Check(kiln_tape_gradients(tape_.get())); }

 private:
  struct Free {
    void operator()(::kiln_tape* tape) const { kiln_tape_free(tape); }
  };
  std::unique_ptr<::kiln_tape, Free> tape_;
};

}  // namespace kiln::dsl

#endif  // KILN_DSL_TAPE_HPP_
