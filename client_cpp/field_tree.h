// Trees of SNodes for C++ programs: fields whose cells are allocated when they are first written,
// or are in memory in another order than C's.
//
//   TreeBuilder nodes;
//   const int block = nodes.Add(proto::SNODE_POINTER, TreeBuilder::kRoot, {{0, 16}, {1, 16}});
//   const int place = nodes.Place(block, proto::F32);
//   ASSIGN_OR_RETURN(const auto tree, FieldTree::Create(nodes.tree()));
//   const uint32_t number = builder.AddTree(tree->layout().DescribeTree());
//   ASSIGN_OR_RETURN(const TreeField x, tree->Field({place}, element, number));
//   const ParamId param = builder.AddStorageParam(x.storage);
//   ...
//   ASSIGN_OR_RETURN(const InstanceOutcome made, MakeInstance(*session, &builder, settings));
//   launcher.Bind(param, x).BindTree(0, tree->root() + made.trees[0].root_offset, nodes.data());
#ifndef KILN_CLIENT_CPP_FIELD_TREE_H_
#define KILN_CLIENT_CPP_FIELD_TREE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client_cpp/host/scattered_access.h"
#include "common/layout/layout.h"
#include "common/layout/prune_trees.h"
#include "kiln/proto/layout.pb.h"
#include "runtime/cpu_device.h"
#include "runtime/memory_budget.h"
#include "runtime/tree/tree_data.h"

namespace kiln {

// A field in a tree. Valid as long as the tree.
struct TreeField {
  proto::Storage storage;
  // A field of dense levels only is an array with strides; the slots of its launches. Others are
  // found through their tree, which the launch binds.
  std::vector<uint64_t> bases;
  uint64_t outer_extent = 0;

  std::vector<int64_t> shape;
  std::shared_ptr<const ScatteredAccess> access;  // for the host
};

// Threads may share a tree; accesses to cells are as thread-safe as those to plain memory.
class FieldTree {
 public:
  // Lays the tree out and allocates its root, zeroed. `names` are the nodes' names in messages.
  // `budget` limits the memory of a tree with sparse levels; null: no limit.
  // InvalidArgument names the node that is wrong, ResourceExhausted the memory that is missing.
  static absl::StatusOr<std::shared_ptr<FieldTree>> Create(
      const proto::Tree& nodes, std::vector<std::string> names = {}, Device* device = &CpuDevice(),
      std::shared_ptr<MemoryBudget> budget = nullptr);

  const TreeLayout& layout() const { return layout_; }
  // Null if no level is sparse.
  TreeData* sparse() const { return is_sparse_ ? data_.get() : nullptr; }
  // For kernels.
  uint8_t* root() const { return root_; }
  // What launches hand over: memory of a device of its own, with a mirror; else null.
  Buffer* mirrored() const { return mirrored_.get(); }

  // The field whose components, in order, are `places`. `number`: the builder's of this tree
  // (KernelBuilder::AddTree of DescribeTree()), by which storages refer to it.
  absl::StatusOr<TreeField> Field(const std::vector<int>& places, const proto::Type& element,
                                  uint32_t number) const;
  // Launcher::BindTree's nodes for a part of this tree.
  std::vector<KilnNode*> NodesOf(const ReachedTree& part) const;

 private:
  explicit FieldTree(TreeLayout layout) : layout_(std::move(layout)) {}
  absl::StatusOr<std::shared_ptr<const ScatteredAccess>> AccessTo(
      const std::vector<int>& places, Scalar scalar, const std::vector<int64_t>& shape) const;

  TreeLayout layout_;
  bool is_sparse_ = false;
  std::shared_ptr<TreeData> data_;  // null: a tree of the CPU without sparse levels, which has
  std::unique_ptr<Buffer> dense_;   // this memory
  std::shared_ptr<Buffer> mirrored_;
  uint8_t* root_ = nullptr;
};

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_FIELD_TREE_H_
