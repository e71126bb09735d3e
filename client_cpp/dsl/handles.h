// The objects behind the pointers of compile.h.
#ifndef KILN_CLIENT_CPP_DSL_HANDLES_H_
#define KILN_CLIENT_CPP_DSL_HANDLES_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "client_cpp/dsl/service.h"
#include "client_cpp/field_tree.h"
#include "client_cpp/fields.h"
#include "client_cpp/kernel_builder.h"
#include "client_cpp/tape.h"
#include "common/layout/tree_builder.h"
#include "kiln/compile.h"
#include "runtime/cpu_device.h"

struct kiln_dense {
  std::shared_ptr<kiln::DenseField> field;
};

struct kiln_tree {
  // A field's components are consecutive places.
  struct Placed {
    std::vector<int> places;
    kiln::proto::Type element;
    int gradient = -1;      // the first place of the field's gradient; -1: none
    kiln::TreeField field;  // for the host, once the tree is made
  };

  kiln::Device* const device = kiln::dsl::CurrentDevice();
  const std::shared_ptr<kiln::MemoryBudget> budget = kiln::dsl::CurrentBudget();
  kiln::TreeBuilder nodes;
  std::map<int, Placed> fields;  // by their first places
  absl::Status failure;          // the first
  std::shared_ptr<kiln::FieldTree> made;

  // Makes it unless it is made; returns the first failure.
  absl::Status Finish();
  // Null for an SNode that is no field.
  const Placed* FindField(kiln_snode snode) const;

 private:
  absl::Status Make();
};

struct kiln_tape {
  explicit kiln_tape(kiln::Tape::Overwritten overwritten) : tape(overwritten) {}
  kiln::Tape tape;
  // Those of the recorded launches, which the program may have dropped.
  absl::flat_hash_set<std::shared_ptr<kiln::DenseField>> fields;
  absl::flat_hash_set<std::shared_ptr<const void>> kept;  // trees, and what programs have of them
  kiln::Device* device = &kiln::CpuDevice();  // of a launch on another one, if there is one
};

struct kiln_trace {
  kiln::Device* const device = kiln::dsl::CurrentDevice();  // on which the kernel will run
  kiln::KernelBuilder builder;
  absl::Status failure;  // the first
  std::string file;      // where the program is, if a place was told
  int line = 0;
  std::map<std::string, uint32_t> files;
  int open_functions = 0;
  std::vector<std::pair<std::shared_ptr<kiln::DenseField>, kiln::ParamId>> fields;
  std::vector<std::pair<kiln::ParamId, kiln::proto::Type>> arrays;  // with their elements
  // The position is the builder's number of the tree.
  std::vector<std::shared_ptr<kiln::FieldTree>> trees;
  struct TreeInput {
    uint32_t tree = 0;
    uint32_t snode = 0;
    bool is_field = false;
    kiln::ParamId param;
    kiln::TreeField field;    // of an SNode, the storage alone
    int gradient_snode = -1;  // -1: it has none
    kiln::TreeField gradient;
  };
  std::vector<TreeInput> tree_inputs;

  kiln::TypeId TypeFor(kiln_value_type type);
  std::vector<kiln::TypeId> TypesFor(const kiln_value_type* types, size_t count);
  // InvalidArgument if kernels on the trace's device cannot use data of this one.
  absl::Status CheckDevice(const kiln::Device& of_data) const;
  // Keeps the first failure, with the program's place.
  void Fail(const absl::Status& status);

  // Calls `make`, which returns a status or what was made, unless the trace has failed.
  template <typename Make>
  auto Try(const Make& make) -> typename decltype(make())::value_type {
    if (!failure.ok()) return {};
    auto made = make();
    if (made.ok()) return *std::move(made);
    Fail(made.status());
    return {};
  }
  template <typename Do>
  void Check(const Do& act) {
    if (failure.ok()) Fail(act());
  }
};

namespace kiln::dsl {

// The tape whose body the thread runs; null: none.
kiln_tape* RunningTape();

}  // namespace kiln::dsl

#endif  // KILN_CLIENT_CPP_DSL_HANDLES_H_
