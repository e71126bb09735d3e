// The part of ModuleWriter that makes the tables, and with them the request to link.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "client_cpp/kernel_facts.h"
#include "client_cpp/module/flat_format.h"
#include "client_cpp/module/module_writer.h"
#include "client_cpp/module/record_tables.h"
#include "common/artifact/target_proto.h"
#include "common/base/digest.h"
#include "common/base/status_macros.h"
#include "common/language/type.h"
#include "common/unit/node_number.h"

namespace kiln {
namespace {

using module::kNone;

bool IsForCuda(const ExportedCode& code) { return code.info.target().has_cuda(); }

}  // namespace

// Makes the records of one module.
class ModuleWriter::Tables {
 public:
  explicit Tables(const ModuleWriter& writer) : of_(writer) {}

  absl::Status Make() {
    for (const ExportedTree& tree : of_.trees_) AddTree(tree);
    for (const auto& [_, field] : of_.fields_) AddField(field);
    for (const auto& [_, kernel] : of_.kernels_) RETURN_IF_ERROR(AddKernel(kernel));
    for (const auto& [_, graph] : of_.graphs_) AddGraph(graph);
    for (const auto& [library, version] : needs_) {
      Add(module::Fact{Put(absl::StrCat("needs.", library)), Put(version)});
    }
    for (const auto& [name, value] : of_.facts_) Add(module::Fact{Put(name), Put(value)});
    return absl::OkStatus();
  }

  // The request without form and symbol.
  proto::LinkRequest Request() {
    module::Header header{};
    header.magic = module::kMagic;
    header.major = module::kMajor;
    header.minor = module::kMinor;
    header.module_abi = LeastAbi();
    header.tree_abi = of_.trees_.empty() ? 0 : module::kTreeAbi;
    header.cuda_abi = Count<module::Image>() > 0 ? module::kCudaAbi : 0;
    header.name = Put(of_.name_);
    const Digest digest = Sha256Of(signatures_);
    std::memcpy(header.signatures, digest.bytes.data(), sizeof header.signatures);
    proto::LinkRequest request;
    for (const std::string* object : objects_) request.add_objects(*object);
    request.set_tables(tables_.Bytes(header));
    for (const auto& [task, offset, symbol] : fixups_) {
      proto::LinkRequest::Fixup& fixup = *request.add_fixups();
      fixup.set_offset(tables_.OffsetOf<module::Task>(task) + static_cast<uint32_t>(offset));
      fixup.set_symbol(symbol);
    }
    return request;
  }

 private:
  // Of the readers that run the module.
  uint32_t LeastAbi() const {
    const auto has_contents = [](const ExportedTree& tree) { return !tree.contents.empty(); };
    if (absl::c_any_of(of_.trees_, has_contents)) return module::kModuleAbi;
    return lacks_cpu_code_ ? module::kModuleAbiOfImages : module::kModuleAbiWithCpuCode;
  }

  template <typename Record>
  uint32_t Add(const Record& record) {
    return tables_.Add(record);
  }
  module::Text Put(absl::string_view text) { return tables_.Put(text); }
  template <typename Numbers>
  module::Span PutNumbers(const Numbers& numbers) {
    return tables_.PutNumbers(std::vector<uint64_t>(numbers.begin(), numbers.end()));
  }
  template <typename Record>
  uint32_t Count() const {
    return tables_.Count<Record>();
  }
  template <typename Record>
  module::Span Since(uint32_t first) const {
    return {first, Count<Record>() - first};
  }

  void AddTree(const ExportedTree& tree) {
    const uint32_t first = Count<module::Node>();
    module::Tree record{};
    for (int n = 0; n < tree.shape.size(); ++n) {
      const NodeLayout& node = tree.shape[n];
      const uint32_t first_level = Count<module::Level>();
      for (const NodeLayout::Level& level : node.levels) {
        Add(module::Level{level.axis, 0, level.extent, level.multiplier});
      }
      module::Node made{};
      made.name = Put(static_cast<size_t>(n) < tree.names.size() ? tree.names[n] : "");
      made.kind = static_cast<uint32_t>(node.kind->kind);
      made.parent = node.parent < 0 ? kNone : static_cast<uint32_t>(node.parent);
      made.num_cells = node.num_cells;
      made.cell_bytes = node.cell_bytes;
      made.container_bytes = node.container_bytes;
      made.alignment = node.alignment;
      made.offset = node.offset;
      made.mask_offset = node.mask_offset;
      made.chunk_cells = node.chunk_cells;
      made.bit_offset = node.bit_offset;
      made.exponent_offset = node.exponent_offset;
      made.levels = Since<module::Level>(first_level);
      Add(made);
      if (node.kind->is_sparse) record.flags |= module::Tree::kSparse;
    }
    record.nodes = Since<module::Node>(first);
    if (!tree.contents.empty()) record.contents = tables_.PutBytes(tree.contents);
    Add(record);
  }

  void AddField(const ExportedField& field) {
    module::Field record{};
    record.name = Put(field.name);
    record.tree = static_cast<uint32_t>(field.components.at(0).tree);
    record.scalar = field.scalar;
    record.shape = PutNumbers(field.shape);
    record.element = PutNumbers(field.element);
    record.offsets = PutNumbers(field.offsets);
    const uint32_t first = Count<module::Component>();
    for (const ExportedField::Component& one : field.components) {
      if (static_cast<uint32_t>(one.tree) != record.tree) record.tree = kNone;
      std::vector<uint64_t> axes;
      axes.reserve(one.axes.size());
      for (const int32_t axis : one.axes) axes.push_back(axis < 0 ? kNone : axis);
      Add(module::Component{static_cast<uint32_t>(one.tree), static_cast<uint32_t>(one.place),
                            PutNumbers(axes)});
    }
    record.components = Since<module::Component>(first);
    record.flags = (field.is_sparse ? module::Field::kSparse : 0) |
                   (field.is_quantised ? module::Field::kQuantised : 0) |
                   (field.is_reordered ? module::Field::kReordered : 0);
    const auto gradient = of_.fields_.find(field.gradient);
    record.gradient = gradient == of_.fields_.end()
                          ? kNone
                          : static_cast<uint32_t>(std::distance(of_.fields_.begin(), gradient));
    Add(record);
    Sign("field ", field.name, " ", field.scalar);
    for (const uint64_t extent : field.shape) Sign(" ", extent);
    Sign(" of");
    for (const uint64_t extent : field.element) Sign(" ", extent);
    Sign("\n");
  }

  // What callers depend on, as text.
  template <typename... Parts>
  void Sign(const Parts&... parts) {
    absl::StrAppend(&signatures_, parts...);
  }
  void Sign(const ExportedType& type) {
    Sign(" ", type.scalar);
    for (const proto::Scalar scalar : type.scalars) Sign(",", scalar);
    for (const uint64_t extent : type.shape) Sign("x", extent);
    if (type.texels != 0) Sign(" texels ", type.texels);
  }
  void Sign(const ExportedParam& param) {
    Sign(" ", param.name, param.is_array ? " array" : " value");
    Sign(param.type);
    Sign(" ", param.rank);
  }

  absl::Status AddKernel(const ExportedKernel& kernel) {
    if (kernel.code.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("kernel '", kernel.name, "' has code for no target"));
    }
    module::Kernel record{};
    record.name = Put(kernel.name);
    Sign("kernel ", kernel.name);
    RETURN_IF_ERROR(AddArguments(kernel, &record));
    AddResults(kernel, &record);
    Sign("\n");
    AddVariants(kernel, &record);
    AddImages(kernel, &record);
    RETURN_IF_ERROR(AddTexts(kernel, &record));
    if (kernel.unit.kernel().autodiff_size() > 0) record.flags |= module::Kernel::kApart;
    Add(record);
    return absl::OkStatus();
  }

  static uint32_t FlagsOf(const proto::ArtifactInfo& info) {
    return (info.draws() ? module::Kernel::kDraws : 0) |
           (info.has_effects() ? module::Kernel::kPrints : 0) |
           (info.can_fail() ? module::Kernel::kCanFail : 0) |
           (info.tapes() ? module::Kernel::kTapes : 0);
  }

  static bool Writes(const ExportedKernel& kernel, uint32_t param) {
    return param >= kernel.writes.size() || kernel.writes[param];
  }

  // Slots, parameters and bindings.
  absl::Status AddArguments(const ExportedKernel& kernel, module::Kernel* record) {
    std::vector<ParamUse> uses(kernel.params.size());
    AddSlots(kernel, record, &uses);
    return AddParams(kernel, uses, record);
  }

  // How slots use one of a kernel's parameters.
  struct ParamUse {
    uint32_t first_slot = kNone;
    bool writes = false;
  };

  void AddSlots(const ExportedKernel& kernel, module::Kernel* record, std::vector<ParamUse>* uses) {
    const proto::ArtifactInfo& info = kernel.code[0].info;
    const uint32_t slots = Count<module::Slot>(), bindings = Count<module::Binding>();
    for (uint32_t at = 0; at < static_cast<uint32_t>(info.arguments_size()); ++at) {
      const proto::ArgumentSlot& slot = info.arguments(static_cast<int>(at));
      Add(module::Slot{static_cast<uint32_t>(slot.kind()), slot.param(), slot.element(),
                       slot.scalar()});
      if (slot.kind() == proto::ArgumentSlot::SLOT_TREE) {
        BindTree(kernel.parts.at(slot.param()), slot, at);
        continue;
      }
      const ExportedKernel::Source& source = kernel.sources.at(slot.param());
      if (source.param >= 0) {
        ParamUse& use = uses->at(static_cast<size_t>(source.param));
        use.first_slot = std::min(use.first_slot, at);
        use.writes |= Writes(kernel, slot.param());
      } else if (slot.kind() == proto::ArgumentSlot::SLOT_BASE) {
        module::Binding binding{};
        binding.kind = module::Binding::kAddress;
        binding.slot = at;
        binding.value = source.base_offsets.at(slot.element());
        binding.tree = static_cast<uint32_t>(source.tree);
        binding.flags = Writes(kernel, slot.param()) ? module::Binding::kWrites : 0;
        binding.bytes = source.base_bytes.at(slot.element());
        Add(binding);
      } else {
        module::Binding binding{};
        binding.kind = module::Binding::kNumber;
        binding.slot = at;
        binding.value = source.extents.at(slot.element());
        Add(binding);
      }
    }
    record->slots = Since<module::Slot>(slots);
    record->bindings = Since<module::Binding>(bindings);
  }

  absl::Status AddParams(const ExportedKernel& kernel, const std::vector<ParamUse>& uses,
                         module::Kernel* record) {
    const uint32_t params = Count<module::Param>();
    for (size_t i = 0; i < kernel.params.size(); ++i) {
      const ExportedParam& param = kernel.params[i];
      const ParamUse& use = uses[i];
      if (use.first_slot == kNone) {
        return absl::InvalidArgumentError(
            absl::StrCat("kernel '", kernel.name, "': argument '", param.name, "' has no slot"));
      }
      module::Param made{};
      made.name = Put(param.name);
      made.kind = param.is_array ? module::Param::kArray : module::Param::kValue;
      made.scalar = param.type.scalar;
      made.scalars = PutNumbers(param.type.scalars);
      made.shape = PutNumbers(param.type.shape);
      made.rank = param.rank;
      made.first_slot = use.first_slot;
      made.flags = param.type.texels | (param.is_array && use.writes ? module::Param::kWrites : 0);
      Add(made);
      Sign(param);
      Sign(" @", use.first_slot);
    }
    record->params = Since<module::Param>(params);
    return absl::OkStatus();
  }

  void BindTree(const ExportedKernel::Part& part, const proto::ArgumentSlot& slot, uint32_t at) {
    module::Binding binding{};
    binding.slot = at;
    binding.tree = static_cast<uint32_t>(part.tree);
    if (slot.element() == 0) {
      binding.kind = module::Binding::kAddress;
      binding.value = part.root_offset;
    } else {
      binding.kind = module::Binding::kNodes;
      binding.nodes = PutNumbers(part.nodes);
    }
    Add(binding);
  }

  void AddResults(const ExportedKernel& kernel, module::Kernel* record) {
    const uint32_t first = Count<module::Result>();
    uint32_t slot = 0;
    for (const ExportedType& type : kernel.results) {
      module::Result made{};
      made.scalar = type.scalar;
      made.first_slot = slot;
      made.scalars = PutNumbers(type.scalars);
      made.shape = PutNumbers(type.shape);
      Add(made);
      uint64_t count = type.scalars.empty() ? 1 : type.scalars.size();
      for (const uint64_t extent : type.shape) count *= extent;
      slot += static_cast<uint32_t>(count);
      Sign(" ->");
      Sign(type);
    }
    record->results = Since<module::Result>(first);
  }

  void AddVariants(const ExportedKernel& kernel, module::Kernel* record) {
    // Two kernels with the same unit share its object.
    const uint32_t first = Count<module::Variant>();
    for (const ExportedCode& code : kernel.code) {
      if (IsForCuda(code)) continue;
      record->temporary_bytes = code.info.temporary_bytes();
      record->flags = FlagsOf(code.info);
      const bool is_new = std::none_of(objects_.begin(), objects_.end(),
                                       [&](const std::string* o) { return *o == code.object; });
      if (is_new) objects_.push_back(&code.object);
      for (const auto& [library, version] : code.info.needs()) {
        std::string& highest = needs_[library];
        // "GLIBC_2.9" before "GLIBC_2.35": shorter numbers are smaller.
        if (version.size() > highest.size() ||
            (version.size() == highest.size() && version > highest)) {
          highest = version;
        }
      }
      const uint32_t tasks = Count<module::Task>();
      for (const proto::Task& task : code.info.tasks()) AddTask(task);
      Add(module::Variant{TargetOf(code.info.target()).level(), 0, Since<module::Task>(tasks)});
    }
    record->variants = Since<module::Variant>(first);
    lacks_cpu_code_ |= record->variants.count == 0;
  }

  void AddImages(const ExportedKernel& kernel, module::Kernel* record) {
    const uint32_t first = Count<module::Image>();
    for (const ExportedCode& code : kernel.code) {
      if (!IsForCuda(code)) continue;
      const Target target = TargetOf(code.info.target());
      module::Image made{};
      made.arch = target.level();
      made.flags = target.ptx_only() ? module::Image::kPtxOnly : 0;
      made.kernel_flags = FlagsOf(code.info);
      made.temporary_bytes = code.info.temporary_bytes();
      const uint32_t tasks = Count<module::ImageTask>();
      for (const proto::Task& task : code.info.tasks()) AddImageTask(task);
      made.tasks = Since<module::ImageTask>(tasks);
      made.payload = tables_.PutBytes(code.object);
      Add(made);
    }
    record->images = Since<module::Image>(first);
  }

  void AddImageTask(const proto::Task& task) {
    module::ImageTask made{};
    made.kind = static_cast<uint32_t>(task.kind());
    made.flags = (task.constant_bounds() ? module::ImageTask::kConstantBounds : 0) |
                 (task.slices() ? module::ImageTask::kSlices : 0) |
                 (task.joined() ? module::ImageTask::kJoined : 0) |
                 (task.recurses() ? module::ImageTask::kRecurses : 0);
    made.symbol = Put(task.symbol());
    made.begin = task.begin();
    made.end = task.end();
    made.tree = task.tree();
    made.node = task.node();
    made.iterations = task.iterations();
    made.block_dim = task.block_dim();
    made.items_per_thread = task.items_per_thread();
    made.waves = task.waves();
    made.length_factor = task.length_factor();
    made.length_slots = PutNumbers(task.length_slots());
    Add(made);
  }

  void AddTask(const proto::Task& task) {
    module::Task made{};
    made.kind = static_cast<uint32_t>(task.kind());
    made.flags = (task.constant_bounds() ? module::Task::kConstantBounds : 0) |
                 (task.slices() ? module::Task::kSlices : 0);
    made.begin = task.begin();
    made.end = task.end();
    made.max_threads = task.max_threads();
    made.cost = task.cost();
    made.tree = task.tree();
    made.node = task.node();
    made.iterations = task.iterations();
    made.partial_bytes = task.partial_bytes();
    made.grain = task.grain();
    const uint32_t number = Add(made);
    const std::pair<size_t, const std::string*> functions[] = {
        {offsetof(module::Task, run), &task.symbol()},
        {offsetof(module::Task, bounds), &task.bounds_symbol()},
        {offsetof(module::Task, alone), &task.alone_symbol()},
        {offsetof(module::Task, finish), &task.finish_symbol()}};
    for (const auto& [offset, symbol] : functions) {
      if (!symbol->empty()) fixups_.push_back({number, offset, *symbol});
    }
  }

  absl::Status AddTexts(const ExportedKernel& kernel, module::Kernel* record) {
    ASSIGN_OR_RETURN(const TypeTable types, TypeTable::FromProto(kernel.unit.kernel().types()));
    // A map of protobuf has no order.
    std::map<uint32_t, const proto::Format*> formats;
    for (const auto& [node, format] : kernel.source_map.formats()) formats[node] = &format;
    const uint32_t first = Count<module::Format>();
    for (const auto& [node, format] : formats) {
      const uint32_t pieces = Count<module::Piece>();
      for (const FlatPiece& piece : FlatPiecesOf(*format, types)) {
        Add(module::Piece{Put(piece.text), Put(piece.spec), piece.scalar, 0});
      }
      Add(module::Format{node, 0, Since<module::Piece>(pieces)});
    }
    record->formats = Since<module::Format>(first);

    const uint32_t places = Count<module::Place>();
    const auto add_place = [&](NodeNumber node) {
      const std::vector<SourcePosition> at = PositionsOf(kernel.source_map, node);
      if (!at.empty()) Add(module::Place{node.number(), at[0].line, Put(at[0].file)});
    };
    const proto::CodeOptions& options = kernel.unit.options();
    if (options.debug() || options.check_bounds()) {
      // Any node may fail.
      const auto& body = kernel.unit.kernel().body();
      for (int n = 0; n < body.nodes_size(); ++n) {
        add_place(NumberOfNode(FunctionId(0), NodeId(static_cast<uint32_t>(n))));
      }
    } else {
      for (const auto& [node, _] : formats) add_place(NodeNumber(node));
    }
    record->places = Since<module::Place>(places);
    return absl::OkStatus();
  }

  void AddGraph(const ExportedGraph& graph) {
    module::Graph record{};
    record.name = Put(graph.name);
    Sign("graph ", graph.name);
    const uint32_t args = Count<module::GraphArg>();
    for (const ExportedParam& arg : graph.args) {
      module::GraphArg made{};
      made.name = Put(arg.name);
      made.kind = arg.is_array ? module::Param::kArray : module::Param::kValue;
      made.scalar = arg.type.scalar;
      made.shape = PutNumbers(arg.type.shape);
      made.rank = arg.rank;
      made.flags = arg.type.texels;
      Add(made);
      Sign(arg);
    }
    Sign("\n");
    record.args = Since<module::GraphArg>(args);
    const uint32_t first = Count<module::Dispatch>();
    for (const ExportedGraph::Launch& launch : graph.launches) {
      std::vector<uint64_t> numbers;
      numbers.reserve(launch.args.size());
      for (const int arg : launch.args) numbers.push_back(arg < 0 ? kNone : arg);
      const auto kernel = of_.kernels_.find(launch.kernel);
      Add(module::Dispatch{static_cast<uint32_t>(std::distance(of_.kernels_.begin(), kernel)), 0,
                           PutNumbers(numbers), PutNumbers(launch.constants)});
    }
    record.dispatches = Since<module::Dispatch>(first);
    Add(record);
  }

  struct Fixup {
    uint32_t task;
    size_t offset;
    std::string symbol;
  };

  const ModuleWriter& of_;
  RecordTables tables_;
  std::string signatures_;
  std::vector<const std::string*> objects_;
  std::vector<Fixup> fixups_;
  std::map<std::string, std::string> needs_;
  bool lacks_cpu_code_ = false;  // a kernel does
};

absl::StatusOr<proto::LinkRequest> ModuleWriter::Link(proto::LinkRequest::Form form) const {
  RETURN_IF_ERROR(CheckContents());
  Tables tables(*this);
  RETURN_IF_ERROR(tables.Make());
  proto::LinkRequest request = tables.Request();
  request.set_form(form);
  request.set_symbol(form == proto::LinkRequest::SHARED
                         ? std::string(module::kSymbol)
                         : absl::StrCat(module::kSymbol, "_", name_));
  return request;
}

}  // namespace kiln
