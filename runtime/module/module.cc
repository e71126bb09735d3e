#include "runtime/module/module.h"

#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "runtime/cpu/glibc.h"
#include "runtime/cpu/host_target.h"
#include "runtime/library.h"
#include "runtime/module/module_file.h"
#include "runtime/scalar.h"

namespace kiln {
namespace {

constexpr std::string_view kNeedsPrefix = "needs.";

TaskInfo TaskOf(const module::Task& task) {
  TaskInfo info;
  info.kind = static_cast<TaskKind>(task.kind);
  const auto symbol = [](int32_t distance) {
    return distance == 0 ? std::string() : std::to_string(distance);
  };
  info.symbol = symbol(task.run);
  info.bounds_symbol = symbol(task.bounds);
  info.alone_symbol = symbol(task.alone);
  info.finish_symbol = symbol(task.finish);
  info.constant_bounds = (task.flags & module::Task::kConstantBounds) != 0;
  info.slices = (task.flags & module::Task::kSlices) != 0;
  info.begin = task.begin;
  info.end = task.end;
  info.max_threads = task.max_threads;
  info.cost = task.cost;
  info.tree = task.tree;
  info.node = task.node;
  info.iterations = task.iterations;
  info.partial_bytes = task.partial_bytes;
  info.grain = task.grain;
  return info;
}

// The levels of a kernel, least first.
std::vector<Target> LevelsOf(const ModuleTables& tables, const module::Kernel& kernel) {
  std::vector<Target> levels;
  tables.ForEach<module::Variant>(kernel.variants, [&](const module::Variant& variant) {
    levels.push_back(Target::Cpu(variant.level));
  });
  return levels;
}

std::string TextsOf(const std::vector<Target>& targets) {
  std::string text;
  for (const Target target : targets) text += (text.empty() ? "" : ", ") + target.text();
  return text;
}

}  // namespace

uint64_t ModuleField::NumScalars() const {
  uint64_t count = components.size();
  for (const uint64_t extent : shape) count *= extent;
  return count;
}

uint64_t ModuleField::ArrayBytes() const { return NumScalars() * ScalarBytesOf(scalar); }

std::vector<Target> TargetsOf(const ModuleTables& tables) {
  if (tables.Count<module::Kernel>() == 0) return {};
  return LevelsOf(tables, tables.Get<module::Kernel>(0));
}

LibraryVersions NeedsOf(const ModuleTables& tables) {
  LibraryVersions needs;
  for (uint32_t i = 0; i < tables.Count<module::Fact>(); ++i) {
    const auto fact = tables.Get<module::Fact>(i);
    const std::string_view name = tables.TextOf(fact.name);
    if (name.substr(0, kNeedsPrefix.size()) != kNeedsPrefix) continue;
    needs.emplace_back(name.substr(kNeedsPrefix.size()), tables.TextOf(fact.value));
  }
  return needs;
}

Result<std::shared_ptr<const Module>> Module::LoadFile(const ModuleFile& file,
                                                       const uint8_t* bytes) {
  // Before the loader sees it, whose errors do not tell an old machine from a damaged file.
  const std::string lacks = MissingFromGlibc(NeedsOf(file.tables()), HostGlibc());
  if (!lacks.empty()) {
    return Error{
        ErrorCode::kFailedPrecondition,
        "the module needs " + lacks + ", this machine has 2." + std::to_string(HostGlibc())};
  }
  Result<std::shared_ptr<void>> library =
      file.descriptor() >= 0 ? OpenLibraryDescriptor(file.descriptor())
                             : OpenLibraryBytes({reinterpret_cast<const char*>(bytes),
                                                 static_cast<size_t>(file.object_bytes())});
  if (!library.ok()) return library.error();
  const void* tables = dlsym(library->get(), module::kSymbol);
  if (tables == nullptr) {
    return Error{ErrorCode::kDataLoss,
                 std::string("the module has no symbol '") + module::kSymbol + "'"};
  }
  const uint32_t size = file.tables().header().bytes;
  Result<ModuleTables> loaded = ModuleTables::Read(static_cast<const uint8_t*>(tables), size);
  if (!loaded.ok()) return loaded.error();
  return Load(*std::move(loaded), *std::move(library));
}

Result<std::shared_ptr<const Module>> Module::Open(const std::string& path) {
  Result<std::shared_ptr<const ModuleFile>> file = ModuleFile::Open(path);
  if (!file.ok()) return file.error();
  Result<std::shared_ptr<const Module>> made = LoadFile(**file, nullptr);
  if (!made.ok()) return Error{made.error().code, path + ": " + made.error().text};
  return made;
}

Result<std::shared_ptr<const Module>> Module::FromBytes(const uint8_t* file, uint64_t bytes) {
  Result<std::shared_ptr<const ModuleFile>> view = ModuleFile::View(file, bytes);
  if (!view.ok()) return view.error();
  return LoadFile(**view, file);
}

Result<std::shared_ptr<const Module>> Module::Linked(const void* tables) {
  // The header states the size. What a program links is trusted to have all of it.
  module::Header header;
  std::memcpy(&header, tables, sizeof header);
  const uint64_t available = header.magic == module::kMagic ? header.bytes : sizeof header;
  Result<ModuleTables> read = ModuleTables::Read(static_cast<const uint8_t*>(tables), available);
  if (!read.ok()) return read.error();
  return Load(*std::move(read), nullptr);
}

Result<std::shared_ptr<const Module>> Module::Load(ModuleTables tables,
                                                   std::shared_ptr<const void> code) {
  std::shared_ptr<Module> made(new Module);
  made->tables_ = tables;
  made->LoadTables();
  if (const Result<> loaded = made->LoadCode(code); !loaded.ok()) return loaded.error();
  made->code_ = std::move(code);
  return std::shared_ptr<const Module>(std::move(made));
}

std::shared_ptr<const Module> Module::Describe(std::shared_ptr<const ModuleFile> file) {
  std::shared_ptr<Module> made(new Module);
  made->tables_ = file->tables();
  made->LoadTables();
  made->code_ = std::move(file);
  return made;
}

void Module::LoadTables() {
  LoadTrees();
  LoadFields();
  LoadKernels();
  LoadGraphs();
}

int Module::Find(const Names& names, std::string_view name) {
  const auto found = names.find(std::string(name));
  return found == names.end() ? -1 : found->second;
}

ValueShape Module::ShapeOf(uint32_t scalar, module::Span scalars, module::Span shape) const {
  ValueShape value;
  value.scalar = scalar;
  for (const uint64_t one : tables_.Numbers(scalars)) {
    value.scalars.push_back(static_cast<uint32_t>(one));
  }
  value.shape = tables_.Numbers(shape);
  if (scalars.count > 0) value.count = scalars.count;
  for (const uint64_t extent : value.shape) value.count *= static_cast<uint32_t>(extent);
  return value;
}

void Module::LoadKernels() {
  const uint32_t count = tables_.Count<module::Kernel>();
  kernels_.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    const auto record = tables_.Get<module::Kernel>(i);
    ModuleKernel& kernel = kernels_[i];
    kernel.name = tables_.TextOf(record.name);
    tables_.ForEach<module::Param>(record.params, [&](const module::Param& param) {
      kernel.params.push_back({std::string(tables_.TextOf(param.name)),
                               param.kind == module::Param::kArray,
                               ShapeOf(param.scalar, param.scalars, param.shape), param.rank,
                               param.first_slot, (param.flags & module::Param::kWrites) != 0});
    });
    tables_.ForEach<module::Result>(record.results, [&](const module::Result& result) {
      kernel.results.push_back(
          {ShapeOf(result.scalar, result.scalars, result.shape), result.first_slot});
    });
    for (const ModuleParam& param : kernel.params) kernel.has_arrays |= param.is_array;
    kernel.is_apart = (record.flags & module::Kernel::kApart) != 0;
    kernel.bindings = record.bindings;
    kernel.formats = record.formats;
    kernel.places = record.places;
    tables_.ForEach<module::Binding>(record.bindings, [&](const module::Binding& binding) {
      kernel.has_data |= binding.kind != module::Binding::kNumber;
    });
    kernel_numbers_.emplace(kernel.name, static_cast<int>(i));
  }
}

Result<> Module::LoadCode(const std::shared_ptr<const void>& code) {
  for (size_t i = 0; i < kernels_.size(); ++i) {
    const auto record = tables_.Get<module::Kernel>(static_cast<uint32_t>(i));
    if (const Result<> loaded = LoadCode(record, code, &kernels_[i]); !loaded.ok()) return loaded;
  }
  return {};
}

Result<> Module::LoadCode(const module::Kernel& record, const std::shared_ptr<const void>& code,
                          ModuleKernel* kernel) {
  KernelInfo info;
  info.temporary_bytes = record.temporary_bytes;
  info.draws = (record.flags & module::Kernel::kDraws) != 0;
  info.has_effects = (record.flags & module::Kernel::kPrints) != 0;
  info.can_fail = (record.flags & module::Kernel::kCanFail) != 0;
  tables_.ForEach<module::Slot>(record.slots, [&](const module::Slot& slot) {
    info.arguments.push_back(
        {static_cast<ArgumentSlot::Kind>(slot.kind), slot.param, slot.element, slot.scalar});
  });
  for (const ModuleResult& result : kernel->results) {
    for (uint32_t i = 0; i < result.value.count; ++i) {
      info.results.push_back(result.value.ScalarAt(i));
    }
  }
  // The highest level that this machine runs; they are sorted.
  const std::vector<Target> levels = LevelsOf(tables_, record);
  int chosen = -1;
  for (size_t i = 0; i < levels.size(); ++i) {
    if (HostTarget().Runs(levels[i])) chosen = static_cast<int>(i);
  }
  if (chosen < 0) {
    return Error{ErrorCode::kFailedPrecondition, "kernel '" + kernel->name + "' is for " +
                                                     TextsOf(levels) + ", this machine is " +
                                                     HostTarget().text()};
  }
  info.target = target_ = levels[chosen];
  const auto variant =
      tables_.Get<module::Variant>(record.variants.first + static_cast<uint32_t>(chosen));
  tables_.ForEach<module::Task>(
      variant.tasks, [&](const module::Task& task) { info.tasks.push_back(TaskOf(task)); });
  // Only kernels with trees allocate memory.
  kernel->reports =
      info.has_effects || info.can_fail ||
      std::any_of(info.arguments.begin(), info.arguments.end(),
                  [](const ArgumentSlot& slot) { return slot.kind == ArgumentSlot::Kind::kTree; });
  // Symbols are distances (TaskOf): a module has no names of functions.
  const uint8_t* const base = tables_.data();
  Result<std::shared_ptr<const LoadedKernel>> loaded = LoadedKernel::FromFunctions(
      code, std::move(info), [base](const std::string& symbol) -> void* {
        int32_t distance = 0;
        std::from_chars(symbol.data(), symbol.data() + symbol.size(), distance);
        if (distance == 0) return nullptr;
        return const_cast<uint8_t*>(base + distance);
      });
  if (!loaded.ok()) {
    return Error{loaded.error().code, "kernel '" + kernel->name + "': " + loaded.error().text};
  }
  kernel->code = *std::move(loaded);
  return {};
}

void Module::LoadFields() {
  const uint32_t count = tables_.Count<module::Field>();
  for (uint32_t i = 0; i < count; ++i) {
    const auto record = tables_.Get<module::Field>(i);
    ModuleField field;
    field.name = tables_.TextOf(record.name);
    field.scalar = record.scalar;
    field.shape = tables_.Numbers(record.shape);
    field.element = tables_.Numbers(record.element);
    field.offsets.resize(field.shape.size());
    for (uint32_t a = 0; a < record.offsets.count; ++a) {
      field.offsets[a] = static_cast<int64_t>(tables_.Number(record.offsets.first + a));
    }
    tables_.ForEach<module::Component>(record.components, [&](const module::Component& one) {
      field.components.push_back({one.tree, one.place, tables_.Numbers(one.axes)});
    });
    field.is_sparse = (record.flags & module::Field::kSparse) != 0;
    field.is_quantised = (record.flags & module::Field::kQuantised) != 0;
    field.gradient = record.gradient;
    field_numbers_.emplace(field.name, static_cast<int>(i));
    fields_.push_back(std::move(field));
  }
}

void Module::LoadGraphs() {
  const uint32_t count = tables_.Count<module::Graph>();
  for (uint32_t i = 0; i < count; ++i) {
    const auto record = tables_.Get<module::Graph>(i);
    ModuleGraph graph;
    graph.name = tables_.TextOf(record.name);
    tables_.ForEach<module::GraphArg>(record.args, [&](const module::GraphArg& arg) {
      graph.args.push_back({std::string(tables_.TextOf(arg.name)),
                            arg.kind == module::Param::kArray, ShapeOf(arg.scalar, {}, arg.shape),
                            arg.rank});
    });
    tables_.ForEach<module::Dispatch>(record.dispatches, [&](const module::Dispatch& one) {
      graph.launches.push_back(
          {one.kernel, tables_.Numbers(one.args), tables_.Numbers(one.constants)});
    });
    graph_numbers_.emplace(graph.name, static_cast<int>(i));
    graphs_.push_back(std::move(graph));
  }
}

void Module::LoadTrees() {
  const uint32_t count = tables_.Count<module::Tree>();
  for (uint32_t i = 0; i < count; ++i) {
    ModuleTree tree;
    tables_.ForEach<module::Node>(tables_.Get<module::Tree>(i).nodes, [&](const module::Node& n) {
      NodeLayout node;
      node.kind = FindSNodeKind(static_cast<int>(n.kind));  // checked with the tables
      node.parent = n.parent == module::kNone ? -1 : static_cast<int>(n.parent);
      node.num_cells = n.num_cells;
      node.cell_bytes = n.cell_bytes;
      node.container_bytes = n.container_bytes;
      node.alignment = n.alignment;
      node.offset = n.offset;
      node.mask_offset = n.mask_offset;
      node.chunk_cells = n.chunk_cells;
      node.bit_offset = n.bit_offset;
      node.exponent_offset = n.exponent_offset;
      tables_.ForEach<module::Level>(n.levels, [&](const module::Level& level) {
        node.levels.push_back({level.axis, level.extent, level.multiplier});
      });
      const int number = tree.shape.size();
      // Children are numbered in placement order.
      if (node.parent >= 0) tree.shape.nodes[node.parent].children.push_back(number);
      tree.names.emplace_back(tables_.TextOf(n.name));
      tree.shape.nodes.push_back(std::move(node));
    });
    trees_.push_back(std::move(tree));
  }
}

}  // namespace kiln
