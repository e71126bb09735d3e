#include "runtime/module/tables.h"

#include <cstddef>

#include "common/layout/snode_kinds.h"
#include "common/layout/tree_shape.h"

namespace kiln {

using module::kNone;
using module::Span;
using module::Text;

namespace {

Error Damaged(const std::string& what) {
  return {ErrorCode::kDataLoss, "the module is damaged: " + what};
}

Error OtherVersion(const char* what, uint64_t has, uint64_t oldest, uint64_t newest) {
  std::string text = std::string("the module has ") + what + ' ' + std::to_string(has) +
                     ", this library reads " + std::to_string(newest);
  if (oldest != newest) text += " and older down to " + std::to_string(oldest);
  return {ErrorCode::kFailedPrecondition, std::move(text)};
}

// The least bytes of a record: those of the format's first version that has it.
uint32_t SmallestRecord(module::TableKind kind) {
  switch (kind) {
    case module::TableKind::kStrings:
    case module::TableKind::kImageBytes:
      return 1;
    case module::TableKind::kNumbers:
      return sizeof(uint64_t);
    case module::TableKind::kKernels:
      return offsetof(module::Kernel, images);
    case module::TableKind::kParams:
      return sizeof(module::Param);
    case module::TableKind::kSlots:
      return sizeof(module::Slot);
    case module::TableKind::kBindings:
      return sizeof(module::Binding);
    case module::TableKind::kVariants:
      return sizeof(module::Variant);
    case module::TableKind::kTasks:
      return sizeof(module::Task);
    case module::TableKind::kResults:
      return sizeof(module::Result);
    case module::TableKind::kFormats:
      return sizeof(module::Format);
    case module::TableKind::kPieces:
      return sizeof(module::Piece);
    case module::TableKind::kPlaces:
      return sizeof(module::Place);
    case module::TableKind::kTrees:
      return sizeof(module::Tree);
    case module::TableKind::kNodes:
      return sizeof(module::Node);
    case module::TableKind::kLevels:
      return sizeof(module::Level);
    case module::TableKind::kFields:
      return sizeof(module::Field);
    case module::TableKind::kComponents:
      return sizeof(module::Component);
    case module::TableKind::kGraphs:
      return sizeof(module::Graph);
    case module::TableKind::kGraphArgs:
      return sizeof(module::GraphArg);
    case module::TableKind::kDispatches:
      return sizeof(module::Dispatch);
    case module::TableKind::kFacts:
      return sizeof(module::Fact);
    case module::TableKind::kImages:
      return sizeof(module::Image);
    case module::TableKind::kImageTasks:
      return sizeof(module::ImageTask);
  }
  return 0;
}

}  // namespace

// Checks every reference of every record once, so that readers need not.
class ModuleTables::Checker {
 public:
  explicit Checker(const ModuleTables& tables) : tables_(tables) {}

  Result<> Check() {
    CheckText(tables_.header_.name);
    All<module::Kernel>([this](const module::Kernel& kernel) { CheckKernel(kernel); });
    All<module::Variant>(
        [this](const module::Variant& one) { CheckSpan<module::Task>(one.tasks); });
    All<module::Image>([this](const module::Image& image) { CheckImage(image); });
    All<module::ImageTask>([this](const module::ImageTask& task) {
      CheckText(task.symbol);
      CheckNumbers(task.length_slots);
    });
    All<module::Format>(
        [this](const module::Format& one) { CheckSpan<module::Piece>(one.pieces); });
    All<module::Piece>([this](const module::Piece& one) {
      CheckText(one.text);
      CheckText(one.spec);
    });
    All<module::Place>([this](const module::Place& one) { CheckText(one.file); });
    All<module::Fact>([this](const module::Fact& one) {
      CheckText(one.name);
      CheckText(one.value);
    });
    All<module::Tree>([this](const module::Tree& tree) { CheckTree(tree); });
    All<module::Node>([this](const module::Node& one) {
      CheckText(one.name);
      CheckSpan<module::Level>(one.levels);
    });
    All<module::Field>([this](const module::Field& field) { CheckField(field); });
    All<module::Component>([this](const module::Component& one) {
      CheckNumbers(one.axes);
      Expect(NodesOf(one.tree) > one.place, "a field's place");
    });
    All<module::Graph>([this](const module::Graph& graph) { CheckGraph(graph); });
    if (wrong_ != nullptr) return Damaged(std::string(wrong_) + " leads nowhere");
    return {};
  }

 private:
  template <typename Record, typename Visit>
  void All(const Visit& visit) {
    tables_.ForEach<Record>({0, tables_.Count<Record>()}, visit);
  }

  void Expect(bool holds, const char* what) {
    if (!holds && wrong_ == nullptr) wrong_ = what;
  }
  void Within(Span span, uint32_t count, const char* what) {
    Expect(span.first <= count && span.count <= count - span.first, what);
  }
  template <typename Record>
  void CheckSpan(Span span) {
    Within(span, tables_.Count<Record>(), "a span of records");
  }
  void CheckNumbers(Span span) {
    Within(span, tables_.At(module::TableKind::kNumbers).count, "a span of numbers");
  }
  void CheckText(Text text) {
    Within({text.offset, text.size}, tables_.At(module::TableKind::kStrings).count, "a text");
  }
  uint64_t NodesOf(uint32_t tree) {
    return tree < tables_.Count<module::Tree>() ? tables_.Get<module::Tree>(tree).nodes.count : 0;
  }

  void CheckKernel(const module::Kernel& kernel) {
    CheckText(kernel.name);
    CheckSpan<module::Param>(kernel.params);
    CheckSpan<module::Slot>(kernel.slots);
    CheckSpan<module::Binding>(kernel.bindings);
    CheckSpan<module::Result>(kernel.results);
    CheckSpan<module::Variant>(kernel.variants);
    CheckSpan<module::Image>(kernel.images);
    CheckSpan<module::Format>(kernel.formats);
    CheckSpan<module::Place>(kernel.places);
    if (wrong_ != nullptr) return;
    tables_.ForEach<module::Param>(kernel.params, [&](const module::Param& param) {
      CheckText(param.name);
      CheckNumbers(param.scalars);
      CheckNumbers(param.shape);
      if (wrong_ != nullptr) return;
      Within({param.first_slot, SlotsOf(param)}, kernel.slots.count, "a parameter's slots");
    });
    tables_.ForEach<module::Result>(kernel.results, [&](const module::Result& result) {
      CheckNumbers(result.scalars);
      CheckNumbers(result.shape);
    });
    tables_.ForEach<module::Binding>(kernel.bindings, [&](const module::Binding& binding) {
      Expect(binding.slot < kernel.slots.count, "a binding's slot");
      if (binding.kind == module::Binding::kNumber) return;
      Expect(binding.tree < tables_.Count<module::Tree>(), "a binding's tree");
      CheckNumbers(binding.nodes);
      if (wrong_ != nullptr) return;
      for (const uint64_t node : tables_.Numbers(binding.nodes)) {
        Expect(node < NodesOf(binding.tree), "a binding's node");
      }
    });
  }

  void CheckImage(const module::Image& image) {
    CheckSpan<module::ImageTask>(image.tasks);
    Within(image.payload, tables_.At(module::TableKind::kImageBytes).count, "an image");
    // Messages name it as "sm_90".
    Expect(image.arch >= 10 && image.arch < 1000, "an image's device");
  }

  uint32_t SlotsOf(const module::Param& param) {
    if (param.kind == module::Param::kArray) return param.rank < ~0u ? 1 + param.rank : ~0u;
    if (param.scalars.count > 0) return param.scalars.count;
    uint64_t count = 1;
    for (const uint64_t extent : tables_.Numbers(param.shape)) {
      if (__builtin_mul_overflow(count, extent, &count)) return ~0u;
    }
    return static_cast<uint32_t>(std::min<uint64_t>(count, ~0u));
  }

  void CheckTree(const module::Tree& tree) {
    CheckSpan<module::Node>(tree.nodes);
    Expect(tree.nodes.count > 0, "a tree without nodes");
    if (wrong_ != nullptr) return;
    for (uint32_t i = 0; i < tree.nodes.count; ++i) {
      const auto node = tables_.Get<module::Node>(tree.nodes.first + i);
      Expect(i == 0 ? node.parent == kNone : node.parent < i, "a node's parent");
      Expect(FindSNodeKind(static_cast<int>(node.kind)) != nullptr, "a node's kind");
      Expect(node.levels.count <= kMaxIndices, "a node's axes");
      CheckSpan<module::Level>(node.levels);
      if (wrong_ != nullptr) return;
      tables_.ForEach<module::Level>(node.levels, [&](const module::Level& level) {
        Expect(level.axis < kMaxIndices && level.extent > 0, "an axis of a node");
      });
    }
  }

  void CheckField(const module::Field& field) {
    CheckText(field.name);
    CheckNumbers(field.shape);
    CheckNumbers(field.element);
    CheckNumbers(field.offsets);
    CheckSpan<module::Component>(field.components);
    Expect(field.components.count > 0, "a field without components");
    Expect(field.offsets.count == 0 || field.offsets.count == field.shape.count,
           "a field's first indices");
    Expect(field.tree == kNone || field.tree < tables_.Count<module::Tree>(), "a field's tree");
    Expect(field.gradient == kNone || field.gradient < tables_.Count<module::Field>(),
           "a field's gradient");
    if (wrong_ != nullptr) return;
    tables_.ForEach<module::Component>(field.components, [&](const module::Component& one) {
      Expect(one.axes.count == field.shape.count, "a component's axes");
      CheckNumbers(one.axes);
      if (wrong_ != nullptr) return;
      for (const uint64_t axis : tables_.Numbers(one.axes)) {
        Expect(axis == kNone || axis < kMaxIndices, "a component's axis");
      }
    });
  }

  void CheckGraph(const module::Graph& graph) {
    CheckText(graph.name);
    CheckSpan<module::GraphArg>(graph.args);
    CheckSpan<module::Dispatch>(graph.dispatches);
    if (wrong_ != nullptr) return;
    tables_.ForEach<module::GraphArg>(graph.args, [&](const module::GraphArg& arg) {
      CheckText(arg.name);
      CheckNumbers(arg.shape);
    });
    tables_.ForEach<module::Dispatch>(graph.dispatches, [&](const module::Dispatch& dispatch) {
      CheckNumbers(dispatch.args);
      CheckNumbers(dispatch.constants);
      Expect(dispatch.kernel < tables_.Count<module::Kernel>(), "a launch's kernel");
      if (wrong_ != nullptr) return;
      CheckDispatch(graph, dispatch);
    });
  }

  void CheckDispatch(const module::Graph& graph, const module::Dispatch& dispatch) {
    const auto kernel = tables_.Get<module::Kernel>(dispatch.kernel);
    Expect(dispatch.args.count == kernel.params.count, "a launch's arguments");
    uint64_t constants = 0;
    for (uint32_t i = 0; wrong_ == nullptr && i < dispatch.args.count; ++i) {
      const uint64_t arg = tables_.Number(dispatch.args.first + i);
      const auto param = tables_.Get<module::Param>(kernel.params.first + i);
      if (arg == kNone) {
        constants += SlotsOf(param);
        // Constants are numbers: a module holds no arrays.
        Expect(param.kind == module::Param::kValue, "a launch's constant");
      } else {
        Expect(arg < graph.args.count, "a launch's argument");
      }
    }
    Expect(constants == dispatch.constants.count, "a launch's constants");
  }

  const ModuleTables& tables_;
  const char* wrong_ = nullptr;  // the first thing that is
};

Result<ModuleTables> ModuleTables::Read(const uint8_t* data, uint64_t available) {
  ModuleTables tables;
  tables.data_ = data;
  module::Header& header = tables.header_;
  if (available < sizeof header) return Damaged("it ends within its header");
  std::memcpy(&header, data, sizeof header);
  if (header.magic != module::kMagic) return Damaged("it does not begin as a module does");
  // Before anything else: another version may have another header.
  if (header.major != module::kMajor) {
    return OtherVersion("format", header.major, module::kMajor, module::kMajor);
  }
  if (header.module_abi > module::kModuleAbi || header.module_abi < module::kOldestModuleAbi) {
    return OtherVersion("module ABI", header.module_abi, module::kOldestModuleAbi,
                        module::kModuleAbi);
  }
  if (header.tree_abi != 0 &&
      (header.tree_abi > module::kTreeAbi || header.tree_abi < module::kOldestTreeAbi)) {
    return OtherVersion("tree ABI", header.tree_abi, module::kOldestTreeAbi, module::kTreeAbi);
  }
  if (header.bytes > available) return Damaged("it ends within its tables");
  const uint64_t directory = sizeof header + uint64_t{header.tables} * sizeof(module::Table);
  if (directory > header.bytes) return Damaged("it ends within its directory");
  for (uint32_t i = 0; i < header.tables; ++i) {
    module::Table table;
    std::memcpy(&table, data + sizeof header + i * sizeof table, sizeof table);
    const auto kind = static_cast<size_t>(table.kind);
    if (kind == 0 || kind >= kKinds) continue;  // of a newer writer
    if (table.stride < SmallestRecord(table.kind) || table.offset % 8 != 0 ||
        table.offset > header.bytes ||
        uint64_t{table.count} * table.stride > header.bytes - table.offset) {
      return Damaged("table " + std::to_string(kind) + " leaves it");
    }
    tables.tables_[kind] = table;
  }
  if (const Result<> checked = Checker(tables).Check(); !checked.ok()) return checked.error();
  return tables;
}

Result<> ModuleTables::CheckCudaAbi() const {
  const uint32_t abi = header_.cuda_abi;
  if (abi >= module::kOldestCudaAbi && abi <= module::kCudaAbi) return {};
  return OtherVersion("CUDA ABI", abi, module::kOldestCudaAbi, module::kCudaAbi);
}

std::string_view ModuleTables::BytesOf(Span payload) const {
  const module::Table& bytes = At(module::TableKind::kImageBytes);
  return {reinterpret_cast<const char*>(data_ + bytes.offset + payload.first), payload.count};
}

std::string_view ModuleTables::TextOf(Text text) const {
  const module::Table& strings = At(module::TableKind::kStrings);
  return {reinterpret_cast<const char*>(data_ + strings.offset + text.offset), text.size};
}

uint64_t ModuleTables::Number(uint32_t number) const {
  uint64_t value;
  const module::Table& numbers = At(module::TableKind::kNumbers);
  std::memcpy(&value, data_ + numbers.offset + uint64_t{number} * numbers.stride, sizeof value);
  return value;
}

std::vector<uint64_t> ModuleTables::Numbers(Span span) const {
  std::vector<uint64_t> values(span.count);
  for (uint32_t i = 0; i < span.count; ++i) values[i] = Number(span.first + i);
  return values;
}

}  // namespace kiln
