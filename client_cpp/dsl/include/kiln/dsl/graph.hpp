// Captured graphs: launches that are repeated, on a CUDA device by one call of its driver.
#ifndef KILN_DSL_GRAPH_HPP_
#define KILN_DSL_GRAPH_HPP_

#include <memory>

#include "kiln/dsl/body.hpp"
#include "kiln/dsl/error.hpp"

namespace kiln::dsl {

// The launches of a function, and of gradients in it, with the arguments that they have there.
//
//   Graph step([&] {
//     collide(0.01f);
//     advance(0.01f);
//   });
//   for (int i = 0; i < 1000; ++i) step();
//
// The function runs once, in the constructor, where its launches do not take place. What else it
// does with fields takes place there, and only there. Kernels that print or may fail are launched
// by themselves. Memory of arguments must stay where it is. One graph is for one thread at a time.
//
// The constructor throws what the function throws. It throws Error for a launch that returns a
// value, or has an array that a CUDA device would have to copy. It also throws within the function
// of another graph or a tape, and so do runs.
class Graph {
 public:
  template <typename Body>
  explicit Graph(const Body& body) : capture_(kiln_capture_new()) {
    if (capture_ == nullptr) throw Error(KILN_RESOURCE_EXHAUSTED, "no memory for a graph");
    detail::InBody(body, [&](auto call, void* self) {
      return kiln_capture_record(capture_.get(), call, self);
    });
  }
  // Runs the launches, in order. On a CUDA device they may end later: see Sync. Throws Error, as
  // they do.
  void operator()() const { Check(kiln_capture_run(capture_.get())); }

 private:
  struct Free {
    void operator()(::kiln_capture* capture) const { kiln_capture_free(capture); }
  };
  std::unique_ptr<::kiln_capture, Free> capture_;
};

}  // namespace kiln::dsl

#endif  // KILN_DSL_GRAPH_HPP_
