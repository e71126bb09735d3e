#include "runtime/tree/tree.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/status_macros.h"
#include "runtime/device_lib/tree.h"
#include "runtime/tree/tree_node.h"

namespace kiln {
namespace {

static_assert(KILN_MAX_AXES == kMaxIndices);  // common/layout/layout.h: an axis for each index

constexpr uint64_t kMaxCells = (uint64_t{1} << 31) - 1;  // of a container: numbers are i32

bool IsSparse(proto::SNodeKind kind) {
  return kind == proto::SNODE_POINTER || kind == proto::SNODE_BITMASKED ||
         kind == proto::SNODE_DYNAMIC;
}

const char* KindName(proto::SNodeKind kind) {
  switch (kind) {
    case proto::SNODE_ROOT:
      return "root";
    case proto::SNODE_DENSE:
      return "dense";
    case proto::SNODE_POINTER:
      return "pointer";
    case proto::SNODE_BITMASKED:
      return "bitmasked";
    case proto::SNODE_DYNAMIC:
      return "dynamic";
    case proto::SNODE_PLACE:
      return "place";
    default:
      return "packed";
  }
}

SparseNode* NodeOf(const KilnNode* node) { return static_cast<SparseNode*>(node->state); }

uint64_t RoomFor(uint64_t cell_bytes) { return (cell_bytes + 127) / 64 * 64; }

}  // namespace

// ---- TreeState

TreeState::TreeState(TreeLayout layout, TreeOptions options)
    : layout(std::move(layout)), options(std::move(options)), arena(this->options.budget.get()) {
  const int nodes = this->layout.tree().nodes_size();
  sparse.resize(nodes);
  // Parents first, whatever their numbers.
  std::vector<std::pair<int, SparseNode*>> open = {{0, nullptr}};
  while (!open.empty()) {
    auto [node, parent] = open.back();
    open.pop_back();
    const proto::SNode& described = this->layout.tree().nodes(node);
    if (IsSparse(described.kind())) {
      sparse[node] = std::make_unique<SparseNode>(this, node, parent);
      if (parent != nullptr) parent->nested.push_back(sparse[node].get());
      parent = sparse[node].get();
    }
    for (int c = described.children_size(); c-- > 0;) {
      open.emplace_back(static_cast<int>(described.children(c)), parent);
    }
  }
}

absl::Status TreeState::Allocate() {
  MemoryBudget* budget = options.budget.get();
  const uint64_t bytes = layout.root_bytes();
  if (budget != nullptr && !budget->Take(bytes)) {
    return absl::ResourceExhaustedError(absl::StrCat("the root of the fields takes ", bytes,
                                                     " bytes; of the limit of ", budget->limit(),
                                                     " bytes ", budget->used(), " are taken"));
  }
  budget_bytes = budget == nullptr ? 0 : bytes;
  ASSIGN_OR_RETURN(root, RootBuffer::Allocate(bytes));
  uint64_t room = 0;
  for (const auto& node : sparse) {
    if (node != nullptr) room += 2 * RoomFor(node->cell_bytes);
  }
  ASSIGN_OR_RETURN(stand_ins, RootBuffer::Allocate(room));
  uint8_t* next = stand_ins->data();
  for (const auto& node : sparse) {
    if (node == nullptr) continue;
    node->shared.ambient = next;
    node->shared.dump = next + RoomFor(node->cell_bytes);
    next += 2 * RoomFor(node->cell_bytes);
  }
  return absl::OkStatus();
}

TreeState::~TreeState() {
  if (options.budget != nullptr) options.budget->Return(budget_bytes);
}

std::string TreeState::Name(int node) const {
  const char* kind = KindName(layout.tree().nodes(node).kind());
  if (static_cast<size_t>(node) < options.names.size() && !options.names[node].empty()) {
    return absl::StrCat("'", options.names[node], "' (", kind, ")");
  }
  return absl::StrCat("S", node, " (", kind, ")");
}

std::string TreeState::Refusal(const SparseNode& node) const {
  const bool chunk = node.kind == proto::SNODE_DYNAMIC;
  std::string text =
      absl::StrCat("out of memory: cannot activate another ", chunk ? "chunk" : "cell",
                   " of SNode ", Name(node.number), ", ", node.memory->stride(),
                   " bytes; the cells of its tree take ", arena.bytes(), " bytes");
  const MemoryBudget* budget = options.budget.get();
  if (budget == nullptr) return absl::StrCat(text, ", and the system gives no more");
  return absl::StrCat(text, ", and of the limit of ", budget->limit(), " bytes ", budget->used(),
                      " are taken");
}

// ---- Tree

absl::StatusOr<std::unique_ptr<Tree>> Tree::Make(TreeLayout layout, TreeOptions options) {
  for (int n = 0; n < layout.tree().nodes_size(); ++n) {
    if (IsSparse(layout.tree().nodes(n).kind()) && layout[n].num_cells > kMaxCells) {
      return absl::InvalidArgumentError(absl::StrCat("SNode ", n, ": ", layout[n].num_cells,
                                                     " cells; at most ", kMaxCells,
                                                     " fit into a sparse container"));
    }
  }
  auto state = std::make_unique<TreeState>(std::move(layout), std::move(options));
  RETURN_IF_ERROR(state->Allocate());
  return std::unique_ptr<Tree>(new Tree(std::move(state)));
}

Tree::Tree(std::unique_ptr<TreeState> state) : state_(std::move(state)) { state_->self = this; }
Tree::~Tree() = default;

const TreeLayout& Tree::layout() const { return state_->layout; }
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
  uint8_t* cell = NodeOf(node)->Activate(slot);
  if (cell == nullptr) *why = NodeOf(node)->tree->Refusal(*NodeOf(node));
  return cell;
}

uint8_t* Tree::ActivateChunk(KilnNode* node, uint8_t* container, uint64_t chunk, std::string* why) {
  uint8_t* made = NodeOf(node)->ActivateChunk(container, chunk);
  if (made == nullptr) *why = NodeOf(node)->tree->Refusal(*NodeOf(node));
  return made;
}

void Tree::Deactivate(KilnNode* node, uint8_t* container, uint64_t cell) {
  NodeOf(node)->Deactivate(container, cell);
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
  stats.cells_peak = std::max(sparse->peak.load(std::memory_order_relaxed), sparse->CellsInUse());
  return stats;
}

}  // namespace kiln
