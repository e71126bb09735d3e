// A loaded module: kernels ready to launch, and the blueprints of fields, trees and graphs.
//
// Thread safety: immutable once loaded.
#ifndef KILN_RUNTIME_MODULE_MODULE_H_
#define KILN_RUNTIME_MODULE_MODULE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/artifact/target.h"
#include "common/layout/tree_shape.h"
#include "runtime/device.h"
#include "runtime/loaded_kernel.h"
#include "runtime/module/tables.h"
#include "runtime/result.h"

namespace kiln {

// A shape and what it is of, as programs see it: a parameter, a result, a graph's argument.
struct ValueShape {
  uint32_t scalar = 0;            // proto::Scalar; 0: a struct
  std::vector<uint32_t> scalars;  // of structs, of each number
  std::vector<uint64_t> shape;    // of a tensor, or of an array's elements
  uint32_t count = 1;             // numbers, of one element
  uint32_t texels = 0;            // module::Param::kTexture, kFractions: of an array

  uint32_t ScalarAt(uint32_t number) const { return scalar != 0 ? scalar : scalars[number]; }
};

struct ModuleParam {
  std::string name;
  bool is_array = false;
  ValueShape value;  // of arrays, their elements
  uint32_t rank = 0;
  uint32_t first_slot = 0;
  bool writes = false;  // the kernel may write to the array
};

struct ModuleResult {
  ValueShape value;
  uint32_t first_slot = 0;
};

struct ModuleKernel {
  std::string name;
  std::vector<ModuleParam> params;
  std::vector<ModuleResult> results;
  std::shared_ptr<const LoadedKernel> code;  // null if the module was only described
  module::Span bindings;                     // of the tables
  module::Span formats, places;
  bool has_data = false;  // launches need a world
  bool reports = false;   // it may print, fail or run out of memory
  bool has_arrays = false;
  bool is_apart = false;  // its arrays must not overlap one another
};

struct ModuleField {
  struct Component {
    uint32_t tree, place;
    std::vector<uint64_t> axes;  // of the tree, by index; module::kNone: none
  };
  std::string name;
  uint32_t scalar = 0;
  std::vector<uint64_t> shape, element;
  std::vector<int64_t> offsets;  // the first index of each axis
  std::vector<Component> components;
  bool is_sparse = false, is_quantised = false;
  // Why only kernels find its elements; null: their places follow from the indices.
  const char* only_kernels = nullptr;
  uint32_t gradient = module::kNone;

  // Of an array with all elements.
  uint64_t NumScalars() const;
  uint64_t ArrayBytes() const;
};

struct ModuleGraph {
  struct Arg {
    std::string name;
    bool is_array = false;
    ValueShape value;
    uint32_t rank = 0;
  };
  struct Launch {
    uint32_t kernel;
    std::vector<uint64_t> args;       // by parameter: the graph's argument, or module::kNone
    std::vector<uint64_t> constants;  // the slots of the other parameters, in order
  };
  std::string name;
  std::vector<Arg> args;
  std::vector<Launch> launches;
};

struct ModuleTree {
  TreeShape shape;
  std::vector<std::string> names;
};

class ModuleFile;

// On which device a module's kernels are to run.
struct DeviceWish {
  // kNone: a CUDA device, if the module has images for one that this process can use, else the CPU.
  Target::Device kind = Target::Device::kNone;
  int32_t number = -1;  // of the CUDA device; -1: the one in use, or the first one
};

class Module {
 public:
  // Loads the file at `path`, for the best target that the module has and the device runs.
  // FailedPrecondition if there is none, with what the module has and what this machine is, or if
  // this machine's glibc is too old; the errors of ModuleFile::Open.
  static Result<std::shared_ptr<const Module>> Open(const std::string& path,
                                                    const DeviceWish& wish = {});
  // A file's bytes, which are copied. Code for CPUs needs a directory or an anonymous file that may
  // be executed.
  static Result<std::shared_ptr<const Module>> FromBytes(const uint8_t* file, uint64_t bytes,
                                                         const DeviceWish& wish = {});
  // What the file has, without its code: the kernels cannot be launched, and any machine may ask.
  static std::shared_ptr<const Module> Describe(std::shared_ptr<const ModuleFile> file);
  // A module that is linked into the program: `tables` is its symbol.
  static Result<std::shared_ptr<const Module>> Linked(const void* tables,
                                                      const DeviceWish& wish = {});

  std::string_view name() const { return tables_.TextOf(tables_.header().name); }
  const ModuleTables& tables() const { return tables_; }
  Target target() const { return target_; }  // for which it was loaded
  // On which its kernels run; null: the CPU.
  Device* device() const { return device_; }
  // Why they run on the CPU although the module has images; "": they do not, or it has none.
  const std::string& why_on_cpu() const { return why_on_cpu_; }
  const std::vector<ModuleKernel>& kernels() const { return kernels_; }
  const std::vector<ModuleField>& fields() const { return fields_; }
  const std::vector<ModuleGraph>& graphs() const { return graphs_; }
  const std::vector<ModuleTree>& trees() const { return trees_; }
  // The number of a name; -1 if there is none.
  int FindKernel(std::string_view name) const { return Find(kernel_numbers_, name); }
  int FindField(std::string_view name) const { return Find(field_numbers_, name); }
  int FindGraph(std::string_view name) const { return Find(graph_numbers_, name); }

 private:
  using Names = std::unordered_map<std::string, int>;
  static int Find(const Names& names, std::string_view name);

  Module() = default;
  // `bytes`: the file's, if it is in memory.
  static Result<std::shared_ptr<const Module>> LoadFile(
      const std::shared_ptr<const ModuleFile>& file, const uint8_t* bytes, const DeviceWish& wish);
  // `code` keeps the tables loaded and, if `device` is null, the code at distances from them.
  static Result<std::shared_ptr<const Module>> Load(ModuleTables tables,
                                                    std::shared_ptr<const void> code,
                                                    Device* device, std::string why_on_cpu);
  void LoadTables();   // everything but code
  void LoadKernels();  // without their code
  Result<> LoadCode(const std::shared_ptr<const void>& code);
  // What all code of a kernel has in common.
  KernelInfo InfoOf(const module::Kernel& record, const ModuleKernel& kernel) const;
  Result<> LoadCode(const module::Kernel& record, const std::shared_ptr<const void>& code,
                    ModuleKernel* kernel);
  Result<> LoadImage(const module::Kernel& record, ModuleKernel* kernel);
  void LoadFields();
  void LoadGraphs();
  void LoadTrees();
  ValueShape ShapeOf(uint32_t scalar, module::Span scalars, module::Span shape,
                     uint32_t flags = 0) const;

  std::shared_ptr<const void> code_;
  ModuleTables tables_;
  Target target_;
  Device* device_ = nullptr;
  std::string why_on_cpu_;
  std::vector<ModuleKernel> kernels_;
  std::vector<ModuleField> fields_;
  std::vector<ModuleGraph> graphs_;
  std::vector<ModuleTree> trees_;
  Names kernel_numbers_, field_numbers_, graph_numbers_;
};

// The targets for which a module has code: levels of CPUs, then CUDA devices. And what it needs of
// libraries.
std::vector<Target> TargetsOf(const ModuleTables& tables);
LibraryVersions NeedsOf(const ModuleTables& tables);

}  // namespace kiln

#endif  // KILN_RUNTIME_MODULE_MODULE_H_
