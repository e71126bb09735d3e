// A traced kernel, compiled or fetched, with the arguments of its next launch.
//
// Thread safety: one object for one thread at a time.
#ifndef KILN_CLIENT_CPP_DSL_PROGRAM_H_
#define KILN_CLIENT_CPP_DSL_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <string>

#include "client_cpp/dsl/trace.h"

namespace kiln {
class Session;
}

namespace kiln::dsl {

// The session of all kernels that are compiled from now on. Without a call, kernels share one of
// default options (client_cpp/session.h), which is made when the first is compiled.
void UseSession(std::shared_ptr<Session> session);

class Program {
 public:
  Program();
  ~Program();
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;

  // Compiles or fetches what `trace` holds, which is of no use afterwards. Fails with what is wrong
  // with the kernel, each mistake with its file and line.
  Failure Compile(const std::string& name, Trace* trace);

  // Whether what was compiled was in a cache, and where: "disk", "memory", "compiled", ….
  const std::string& tier() const;
  // Of the kernel, in the cache; 64 hexadecimal digits.
  const std::string& key() const;

  void SetFloat(ParamId param, uint32_t element, double value);
  void SetInteger(ParamId param, uint32_t element, int64_t value);
  // The memory is used by the next run.
  void SetArray(ParamId param, void* data, const uint64_t* shape, int axes);
  Failure Run();
  // The slot of a result of the last run.
  uint64_t result(int index) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kiln::dsl

#endif  // KILN_CLIENT_CPP_DSL_PROGRAM_H_
