// A traced kernel, compiled or fetched, with the arguments of its next launch.
//
// Thread safety: one object for one thread at a time.
#ifndef KILN_DSL_PROGRAM_HPP_
#define KILN_DSL_PROGRAM_HPP_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "kiln/dsl/error.hpp"
#include "kiln/dsl/trace.hpp"

namespace kiln::dsl {

// How kernels are compiled and run from now on: see kiln_compile_options.
struct Service {
  std::string home, server, programs;  // "": what the environment says
  bool strict = false;
  bool debug = false;
  std::string arch;  // "cuda": fields and kernels that are made from now on are on a CUDA device
  // Options of ti.init.
  int cuda_device = 0;
  int cpu_max_num_threads = 0;
  bool fast_math = true;
  bool check_out_of_bound = false;
  bool deterministic = false;
  std::int64_t random_seed = 0;
  double snode_memory_GB = 0;
  double ad_tape_GB = 0;
};
inline void Use(const Service& service) {
  const auto text = [](const std::string& of) { return of.empty() ? nullptr : of.c_str(); };
  ::kiln_compile_options options{};
  options.size = sizeof options;
  options.strict = service.strict ? 1 : 0;
  options.debug = service.debug ? 1 : 0;
  options.home = text(service.home);
  options.server = text(service.server);
  options.programs = text(service.programs);
  options.arch = text(service.arch);
  options.cuda_device = service.cuda_device;
  options.cpu_max_num_threads = service.cpu_max_num_threads;
  options.exact_floats = service.fast_math ? 0 : 1;
  options.check_out_of_bound = service.check_out_of_bound ? 1 : 0;
  options.deterministic = service.deterministic ? 1 : 0;
  options.random_seed = service.random_seed;
  options.snode_memory_GB = service.snode_memory_GB;
  options.ad_tape_GB = service.ad_tape_GB;
  Check(kiln_compile_use(&options));
}

// Returns when a CUDA device has run all launches so far, which throws the Error of one that
// failed; at once on the CPU.
inline void Sync() { Check(kiln_compile_sync()); }

class Program {
 public:
  // Compiles or fetches what `trace` holds, which is of no use afterwards. Throws Error for what is
  // wrong with the kernel, each mistake with its file and line.
  Program(const std::string& name, const Trace& trace) {
    ::kiln_program* made = nullptr;
    Check(kiln_program_new(trace.get(), name.c_str(), &made));
    program_.reset(made);
  }

  // Whether what was compiled was in a cache, and where: "disk", "memory", "compiled", ….
  std::string tier() const { return kiln_program_tier(program_.get()); }
  // Of the kernel, in the cache; 64 hexadecimal digits.
  std::string key() const { return kiln_program_key(program_.get()); }

  void SetFloat(ParamId param, std::uint32_t element, double value) {
    kiln_program_set_float(program_.get(), param, element, value);
  }
  void SetInteger(ParamId param, std::uint32_t element, std::int64_t value) {
    kiln_program_set_int(program_.get(), param, element, value);
  }
  // The memory is used by the next run.
  void SetArray(ParamId param, void* data, const std::uint64_t* shape, std::size_t axes) {
    kiln_program_set_array(program_.get(), param, data, shape, axes);
  }
  void SetArrayWithGradient(ParamId param, void* data, void* gradient, const std::uint64_t* shape,
                            std::size_t axes) {
    Check(kiln_program_set_array_with_gradient(program_.get(), param, data, gradient, shape, axes));
  }
  void SetField(ParamId param, const ::kiln_dense* field) {
    Check(kiln_program_set_field(program_.get(), param, field));
  }
  void Run() { Check(kiln_program_run(program_.get())); }
  void RunGradient() { Check(kiln_program_run_gradient(program_.get())); }
  // The slot of a result of the last run.
  std::uint64_t result(std::size_t index) const {
    return kiln_program_result(program_.get(), index);
  }

 private:
  struct Free {
    void operator()(::kiln_program* program) const { kiln_program_free(program); }
  };
  std::unique_ptr<::kiln_program, Free> program_;
};

}  // namespace kiln::dsl

#endif  // KILN_DSL_PROGRAM_HPP_
