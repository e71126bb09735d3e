// Writes modules: the tables of common/module/format.h from what a program exports, and the file
// from what the linker made of them.
//
//   ModuleWriter writer("sim");
//   const int tree = writer.AddTree(shape, names);
//   writer.AddField({"x", tree, …});
//   RETURN_IF_ERROR(writer.AddKernel(std::move(kernel)));
//   ASSIGN_OR_RETURN(proto::LinkRequest request, writer.Link(proto::LinkRequest::SHARED));
//   ASSIGN_OR_RETURN(proto::LinkReply linked, session->Link(request));
//   ASSIGN_OR_RETURN(std::string file, FinishModule(linked.file()));
//
// The same input makes the same bytes. Not thread-safe.
#ifndef KILN_CLIENT_CPP_MODULE_MODULE_WRITER_H_
#define KILN_CLIENT_CPP_MODULE_MODULE_WRITER_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/layout/tree_shape.h"
#include "common/module/format.h"
#include "kiln/proto/artifact.pb.h"
#include "kiln/proto/service.pb.h"
#include "kiln/proto/source_map.pb.h"
#include "kiln/proto/type.pb.h"
#include "kiln/proto/unit.pb.h"

namespace kiln {

// A value's or element's type for callers.
struct ExportedType {
  proto::Scalar scalar = proto::SCALAR_NONE;  // none: a struct
  std::vector<proto::Scalar> scalars;         // of structs, of each number
  std::vector<uint64_t> shape;                // of tensors
  uint32_t texels = 0;  // module::Param::kTexture, kFractions: of arrays that stand for textures
};

struct ExportedParam {
  std::string name;
  bool is_array = false;
  ExportedType type;
  uint32_t rank = 0;  // of arrays
};

// Code for one target.
struct ExportedCode {
  std::string object;
  proto::ArtifactInfo info;
};

struct ExportedKernel {
  // Where the slots of a parameter of the unit's kernel come from.
  struct Source {
    int param = -1;                      // the caller's parameter, or
    int tree = -1;                       // a field in dense form: the writer's tree,
    std::vector<uint64_t> base_offsets;  // its bases from the tree's root,
    std::vector<uint64_t> base_bytes;    // the bytes from each base to the field's end, and
    std::vector<uint64_t> extents;       // what a launch passes as extents. Neither: tree form
  };
  // A tree of the unit: the writer's number, and the part that the unit has of it.
  struct Part {
    int tree = 0;
    uint64_t root_offset = 0;
    std::vector<uint32_t> nodes;
  };
  std::string name;
  std::vector<ExportedParam> params;
  std::vector<ExportedType> results;
  std::vector<Source> sources;  // by parameter of the unit's kernel
  std::vector<Part> parts;      // by tree of the unit
  std::vector<bool> writes;     // by parameter of the unit's kernel
  proto::CompileUnit unit;
  proto::SourceMap source_map;
  std::vector<ExportedCode> code;  // by target, of each kind the least first
};

struct ExportedField {
  struct Component {
    int tree;
    int place;
    std::vector<int32_t> axes;  // of the tree, by index; -1: none
  };
  std::string name;
  proto::Scalar scalar;
  std::vector<uint64_t> shape, element;
  std::vector<int64_t> offsets;  // the first index of each axis; empty: zeros
  std::vector<Component> components;
  bool is_sparse = false, is_quantised = false;
  bool is_reordered = false;  // module::Field::kReordered
  std::string gradient;       // the name of the field of gradients; "": none, or not exported
};

struct ExportedGraph {
  struct Launch {
    std::string kernel;
    std::vector<int> args;            // by parameter: the graph's argument, or -1
    std::vector<uint64_t> constants;  // the slots of the other parameters, in order
  };
  std::string name;
  std::vector<ExportedParam> args;
  std::vector<Launch> launches;
};

class ModuleWriter {
 public:
  explicit ModuleWriter(std::string name) : name_(std::move(name)) {}

  // Returns the tree's number. `contents`: what each world's root container begins with, of a tree
  // without sparse levels; the rest is zeros.
  int AddTree(const TreeShape& shape, const std::vector<std::string>& names,
              std::string contents = "");
  // The functions below: InvalidArgument for a name that is taken, or is no name (letters, digits,
  // '_', and what template arguments are written with).
  absl::Status AddField(ExportedField field);
  // InvalidArgument too if the code of two targets takes different arguments.
  absl::Status AddKernel(ExportedKernel kernel);
  absl::Status AddGraph(ExportedGraph graph);
  // What `kiln module show` shows, besides what follows from the content.
  void AddFact(std::string name, std::string value) { facts_[std::move(name)] = std::move(value); }

  // What a worker links. Requires that every kernel of a graph was added. InvalidArgument for
  // contents that are larger than a module can be.
  absl::StatusOr<proto::LinkRequest> Link(proto::LinkRequest::Form form) const;

 private:
  class Tables;

  absl::Status CheckContents() const;

  struct ExportedTree {
    TreeShape shape;
    std::vector<std::string> names;
    std::string contents;
  };

  std::string name_;
  std::vector<ExportedTree> trees_;
  // By name, so that the order of the calls does not matter.
  std::map<std::string, ExportedField> fields_;
  std::map<std::string, ExportedKernel> kernels_;
  std::map<std::string, ExportedGraph> graphs_;
  std::map<std::string, std::string> facts_;
};

// The file of a module: what the linker made, and its trailer. DataLoss if `object` has no tables.
absl::StatusOr<std::string> FinishModule(std::string object);

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_MODULE_MODULE_WRITER_H_
