// A compiled kernel with the arguments of its next run: the object behind kiln_program.
#ifndef KILN_CLIENT_CPP_DSL_PROGRAM_H_
#define KILN_CLIENT_CPP_DSL_PROGRAM_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client_cpp/dsl/handles.h"
#include "client_cpp/field_tree.h"
#include "client_cpp/fields.h"
#include "client_cpp/instance.h"
#include "client_cpp/launcher.h"
#include "client_cpp/session.h"
#include "common/language/ids.h"
#include "kiln/compile.h"
#include "kiln/proto/type.pb.h"
#include "runtime/device.h"

struct kiln_program {
  // The kernel, and its gradient by all fields and some of the arrays that have one.
  struct Version {
    std::shared_ptr<const kiln::Instance> instance;
    absl::Status gradient;  // why the kernel has none
    std::unique_ptr<kiln::Launcher> launcher;
  };
  // The argument of the next runs.
  struct Array {
    kiln::proto::Type element;
    uint8_t* begin = nullptr;
    uint8_t* gradient = nullptr;  // null: none
    uint64_t bytes = 0;
    std::vector<uint64_t> shape;
    bool is_set = false;
    bool is_on_device = false;                // no copy of the host's has to go there
    std::shared_ptr<kiln::DenseField> field;  // whose memory it is; null: the caller's

    bool has_gradient() const {
      return gradient != nullptr || (field != nullptr && field->grad() != nullptr);
    }
  };
  // What launches have of a tree.
  struct Root {
    uint8_t* cell;
    KilnNode* const* nodes;  // at an address of the kernel's device
    std::vector<KilnNode*> host_nodes;
    std::unique_ptr<kiln::Buffer> nodes_on_device;  // null: `nodes` are the host's
  };
  using Number = std::variant<double, int64_t>;

  // For versions that are compiled later. `unit` is that of a kernel without arrays of floats, too.
  std::string name;
  std::shared_ptr<kiln::Session> session;
  kiln::FinishedUnit unit;
  kiln::CompileSettings settings;  // with the gradients of fields
  absl::Status no_gradient;        // why the kernel has none, whatever its arrays are

  kiln::Device* device = nullptr;
  int max_threads = 0;          // of launches; 0: one per CPU
  bool uses_gradients = false;  // a field that the kernel names has one
  // By the arrays with gradients. That without any is always there.
  std::map<std::vector<kiln::ParamId>, Version> versions;
  Version* current = nullptr;  // has all arguments

  // The launchers use their memory.
  std::vector<std::pair<std::shared_ptr<kiln::DenseField>, kiln::ParamId>> fields;
  std::vector<std::shared_ptr<kiln::FieldTree>> trees;
  std::vector<kiln_trace::TreeInput> tree_inputs;
  std::vector<std::shared_ptr<const Root>> roots;  // by tree of the launches

  std::map<kiln::ParamId, Array> arrays;
  std::map<std::pair<kiln::ParamId, uint32_t>, Number> values;  // by number of the element
};

namespace kiln::dsl {

// Has the version with the gradient by these arrays, which it compiles if need be, take the next
// run.
absl::Status UseVersion(const std::vector<ParamId>& arrays, kiln_program* program);
// Gives the version in use the array.
void BindArray(ParamId param, const kiln_program::Array& array, kiln_program* program);

enum class RunOf { kKernel, kGradient };
absl::Status Run(RunOf what, kiln_program* program);

// Hand what the host has written to data on a device over to it.
absl::Status HandOverField(const DenseField& field);  // with its gradient
absl::Status HandOverTree(const FieldTree& tree);

}  // namespace kiln::dsl

#endif  // KILN_CLIENT_CPP_DSL_PROGRAM_H_
