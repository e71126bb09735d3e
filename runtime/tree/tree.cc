#include "runtime/tree/tree.h"

#include <algorithm>
#include <cstring>

#include "runtime/tree/containers.h"
#include "runtime/tree/tree_node.h"

namespace kiln {
namespace {

static_assert(KILN_MAX_AXES == kMaxIndices);  // an axis for each index

SparseNode* NodeOf(const KilnNode* node) { return static_cast<SparseNode*>(node->state); }

std::string Taken(const MemoryBudget& budget) {
  return "of the limit of " + std::to_string(budget.limit()) + " bytes " +
         std::to_string(budget.used()) + " are taken";
}

}  // namespace

// ---- TreeState

TreeState::TreeState(TreeShape shape, TreeOptions options)
    : shape(std::move(shape)),
      options(std::move(options)),
      arena(this->options.budget.get(), this->options.memory) {
  sparse.resize(this->shape.size());
  // A stack, not recursion over numbers: a node's number says nothing about its depth.
  // Parents first, whatever their numbers.
  std::vector<std::pair<int, SparseNode*>> open = {{0, nullptr}};
  while (!open.empty()) {
    auto [node, parent] = open.back();
    open.pop_back();
    const NodeLayout& layout = this->shape[node];
    if (layout.kind->is_sparse) {
      sparse[node] = std::make_unique<SparseNode>(this, node, parent);
      if (parent != nullptr) parent->nested.push_back(sparse[node].get());
      parent = sparse[node].get();
    }
    // Reversed, so that the stack yields children in order. `nested` and memory indices follow that
    // order.
    for (size_t c = layout.children.size(); c-- > 0;) {
      open.emplace_back(layout.children[c], parent);
    }
  }
}

Result<> TreeState::Allocate() {
  MemoryBudget* budget = options.budget.get();
  const uint64_t bytes = shape.root_bytes();
  if (budget != nullptr && !budget->Take(bytes)) {
    return Error{
        ErrorCode::kResourceExhausted,
        "the root of the fields takes " + std::to_string(bytes) + " bytes; " + Taken(*budget)};
  }
  budget_bytes = budget == nullptr ? 0 : bytes;
  Result<std::unique_ptr<RootBuffer>> container = RootBuffer::Allocate(bytes, options.memory);
  if (!container.ok()) return container.error();
  root = *std::move(container);
  // Two stand-ins per sparse node: reads of inactive cells get `ambient`, which stays zero, and
  // writes to cells that could not be activated get `dump`.
  uint64_t room = 0;
  for (const auto& node : sparse) {
    if (node != nullptr) room += 2 * StandInBytes(node->cell_bytes);
  }
  Result<std::unique_ptr<RootBuffer>> cells = RootBuffer::Allocate(room, options.memory);
  if (!cells.ok()) return cells.error();
  stand_ins = *std::move(cells);
  uint8_t* next = stand_ins->data();
  for (const auto& node : sparse) {
    if (node == nullptr) continue;
    node->shared.ambient = next;
    node->shared.dump = next + StandInBytes(node->cell_bytes);
    next += 2 * StandInBytes(node->cell_bytes);
  }
  return {};
}

TreeState::~TreeState() {
  if (options.budget != nullptr) options.budget->Return(budget_bytes);
}

std::string TreeState::Name(int node) const {
  const std::string kind = std::string(" (") + shape[node].kind->name + ")";
  if (static_cast<size_t>(node) < options.names.size() && !options.names[node].empty()) {
    return "'" + options.names[node] + "'" + kind;
  }
  return "S" + std::to_string(node) + kind;
}

std::string TreeState::Refusal(const SparseNode& node) const {
  const bool chunk = node.kind.cells == CellsAre::kInChunks;
  const std::string text =
      std::string("out of memory: cannot activate another ") + (chunk ? "chunk" : "cell") +
      " of SNode " + Name(node.number) + ", " + std::to_string(node.memory->stride()) +
      " bytes; the cells of its tree take " + std::to_string(arena.bytes()) + " bytes, and ";
  const MemoryBudget* budget = options.budget.get();
  return text + (budget == nullptr ? "the system gives no more" : Taken(*budget));
}

// ---- Tree

Result<std::unique_ptr<Tree>> Tree::Make(TreeShape shape, TreeOptions options) {
  if (Result<> checked = CheckContainers(shape); !checked.ok()) return checked.error();
  auto state = std::make_unique<TreeState>(std::move(shape), std::move(options));
  // The state's destructor returns what Allocate took before it failed.
  if (const Result<> allocated = state->Allocate(); !allocated.ok()) return allocated.error();
  return std::unique_ptr<Tree>(new Tree(std::move(state)));
}

Tree::Tree(std::unique_ptr<TreeState> state) : state_(std::move(state)) { state_->self = this; }
Tree::~Tree() = default;

const TreeShape& Tree::shape() const { return state_->shape; }
uint8_t* Tree::root() const { return state_->root->data(); }

KilnNode* Tree::node(int node) const {
  SparseNode* sparse = state_->sparse[node].get();
  return sparse == nullptr ? nullptr : &sparse->shared;
}

Tree& Tree::Of(const KilnNode* node, int* number) {
  *number = NodeOf(node)->number;
  return *NodeOf(node)->tree->self;
}

uint8_t* Tree::Activate(KilnNode* node, uint8_t** slot, std::string* why) {
  uint8_t* cell = PointerCells::Activate(*NodeOf(node), slot);
  if (cell == nullptr) *why = NodeOf(node)->tree->Refusal(*NodeOf(node));
  return cell;
}

uint8_t* Tree::ActivateChunk(KilnNode* node, uint8_t* container, uint64_t chunk, std::string* why) {
  uint8_t* made = DynamicCells::ActivateChunk(*NodeOf(node), container, chunk);
  if (made == nullptr) *why = NodeOf(node)->tree->Refusal(*NodeOf(node));
  return made;
}

void Tree::Deactivate(KilnNode* node, uint8_t* container, uint64_t cell) {
  SparseNode& sparse = *NodeOf(node);
  const bool changed =
      WithKind(sparse, [&](auto kind) { return kind.Deactivate(sparse, container, cell); });
  // After the deactivation. A list that is built in between may lack the cell or have it, and both
  // are right; the mark makes the next list lack it.
  if (changed) sparse.SetChanged();
}

TreeStats Tree::Stats() const {
  TreeStats stats;
  stats.root_bytes = state_->root->size();
  stats.cell_bytes = state_->arena.bytes();
  stats.list_bytes = state_->element_memory->bytes();
  stats.lists_made = state_->lists_made.load(std::memory_order_relaxed);
  stats.lists_kept = state_->lists_kept.load(std::memory_order_relaxed);
  stats.collections = state_->collections.load(std::memory_order_relaxed);
  return stats;
}

NodeStats Tree::Stats(int node) const {
  NodeStats stats;
  const SparseNode* sparse = state_->sparse[node].get();
  if (sparse == nullptr || sparse->memory == nullptr) return stats;
  stats.cells_made = sparse->memory->taken();
  stats.cells_collected = sparse->collected.load(std::memory_order_relaxed);
  // `peak` is as of the last collection. Between collections the number only grows, so it is now.
  stats.cells_peak = std::max(sparse->peak.load(std::memory_order_relaxed), sparse->CellsInUse());
  return stats;
}

}  // namespace kiln
