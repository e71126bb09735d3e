#include "runtime/module/module.h"

#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "common/artifact/cuda_payload.h"
#include "runtime/cpu/glibc.h"
#include "runtime/cpu/host_target.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda_abi_digest.h"
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

TaskInfo TaskOf(const ModuleTables& tables, const module::ImageTask& task) {
  TaskInfo info;
  info.kind = static_cast<TaskKind>(task.kind);
  info.symbol = tables.TextOf(task.symbol);
  info.constant_bounds = (task.flags & module::ImageTask::kConstantBounds) != 0;
  info.slices = (task.flags & module::ImageTask::kSlices) != 0;
  info.joined = (task.flags & module::ImageTask::kJoined) != 0;
  info.recurses = (task.flags & module::ImageTask::kRecurses) != 0;
  info.begin = task.begin;
  info.end = task.end;
  info.tree = task.tree;
  info.node = task.node;
  info.iterations = task.iterations;
  info.block_dim = task.block_dim;
  info.items_per_thread = task.items_per_thread;
  info.waves = task.waves;
  info.length_factor = task.length_factor;
  for (const uint64_t slot : tables.Numbers(task.length_slots)) {
    info.length_slots.push_back(static_cast<uint32_t>(slot));
  }
  return info;
}

void SetFlags(uint32_t flags, KernelInfo* info) {
  info->draws = (flags & module::Kernel::kDraws) != 0;
  info->has_effects = (flags & module::Kernel::kPrints) != 0;
  info->can_fail = (flags & module::Kernel::kCanFail) != 0;
  info->tapes = (flags & module::Kernel::kTapes) != 0;
}

Target TargetOf(const module::Image& image) {
  const bool ptx_only = (image.flags & module::Image::kPtxOnly) != 0;
  return ptx_only ? Target::CudaPtx(image.arch) : Target::Cuda(image.arch);
}

// The images of a kernel, least first.
std::vector<Target> ImagesOf(const ModuleTables& tables, const module::Kernel& kernel) {
  std::vector<Target> images;
  tables.ForEach<module::Image>(
      kernel.images, [&](const module::Image& image) { images.push_back(TargetOf(image)); });
  return images;
}

// What a CUDA device runs of an image: its machine code or, on another generation, its PTX; none.
Target UsedOf(Target image, Target device) {
  if (device.Runs(image)) return image;
  const Target ptx = Target::CudaPtx(image.virtual_arch());
  return device.Runs(ptx) ? ptx : Target();
}

// The number of the best of `images`, and what is used of it; none: -1. Machine code is better than
// PTX, and a newer level than an older one.
std::pair<int, Target> BestFor(Target device, const std::vector<Target>& images) {
  std::pair<int, Target> best = {-1, Target()};
  for (size_t i = 0; i < images.size(); ++i) {
    const Target used = UsedOf(images[i], device);
    if (used.empty()) continue;
    const bool is_better =
        best.first < 0 || used.ptx_only() < best.second.ptx_only() ||
        (used.ptx_only() == best.second.ptx_only() && used.level() >= best.second.level());
    if (is_better) best = {static_cast<int>(i), used};
  }
  return best;
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
  return text.empty() ? "nothing" : text;
}

Error DoesNotFit(std::string text) { return {ErrorCode::kFailedPrecondition, std::move(text)}; }

// The CUDA device of the wish, if every kernel has an image that it runs.
Result<Device*> CudaDeviceFor(const ModuleTables& tables, const DeviceWish& wish) {
  if (Result<> known = tables.CheckCudaAbi(); !known.ok()) return known.error();
  Result<CudaDevice*> found = wish.number < 0 ? CudaDevice::Get() : CudaDevice::Get(wish.number);
  if (!found.ok()) return found.error();
  CudaDevice* const device = *found;
  for (uint32_t i = 0; i < tables.Count<module::Kernel>(); ++i) {
    const auto kernel = tables.Get<module::Kernel>(i);
    const std::vector<Target> images = ImagesOf(tables, kernel);
    if (BestFor(device->target(), images).first >= 0) continue;
    return DoesNotFit("kernel '" + std::string(tables.TextOf(kernel.name)) + "' is for " +
                      TextsOf(images) + ", this machine's " + device->name() + " is " +
                      device->target().text());
  }
  return device;
}

// The device on which the module's kernels are to run.
struct ChosenDevice {
  Device* device = nullptr;   // null: the CPU
  bool has_fallback = false;  // the CPU will do, too
  std::string why_on_cpu;     // although the module has images
};

Result<ChosenDevice> ChooseDevice(const ModuleTables& tables, const DeviceWish& wish) {
  const std::vector<Target> targets = TargetsOf(tables);
  const auto is_cpu = [](Target target) { return target.device() == Target::Device::kCpu; };
  const bool has_images = !std::all_of(targets.begin(), targets.end(), is_cpu);
  const bool has_cpu_code = std::any_of(targets.begin(), targets.end(), is_cpu);
  if (wish.kind == Target::Device::kCpu || !has_images) {
    if (wish.kind == Target::Device::kCpu && !has_cpu_code && has_images) {
      return DoesNotFit("the module is for " + TextsOf(targets) + ", and has no code for CPUs");
    }
    if (wish.kind == Target::Device::kCuda) {
      return DoesNotFit("the module is for " + TextsOf(targets) +
                        ", and has no code for CUDA devices");
    }
    return ChosenDevice();
  }
  Result<Device*> found = CudaDeviceFor(tables, wish);
  const bool has_fallback = has_cpu_code && wish.kind != Target::Device::kCuda;
  if (found.ok()) return ChosenDevice{*found, has_fallback, ""};
  if (has_fallback) return ChosenDevice{nullptr, false, found.error().text};
  return DoesNotFit("the module is for " + TextsOf(targets) +
                    ", and does not run on CUDA here: " + found.error().text);
}

// Whether a module that the device does not load is loaded for the CPU: its driver is too old.
// Damage is no reason.
bool FallsBack(const ChosenDevice& chosen, const Error& error) {
  return chosen.has_fallback && error.code == ErrorCode::kFailedPrecondition;
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
  const auto first = tables.Get<module::Kernel>(0);
  std::vector<Target> targets = LevelsOf(tables, first);
  for (const Target image : ImagesOf(tables, first)) targets.push_back(image);
  return targets;
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

Result<std::shared_ptr<const Module>> Module::LoadFile(
    const std::shared_ptr<const ModuleFile>& file, const uint8_t* bytes, const DeviceWish& wish) {
  Result<ChosenDevice> chosen = ChooseDevice(file->tables(), wish);
  if (!chosen.ok()) return chosen.error();
  if (chosen->device != nullptr) {
    Result<std::shared_ptr<const Module>> made = Load(file->tables(), file, chosen->device, "");
    if (made.ok() || !FallsBack(*chosen, made.error())) return made;
    chosen->why_on_cpu = made.error().text;
  }
  // Before the loader sees it, whose errors do not tell an old machine from a damaged file.
  const std::string lacks = MissingFromGlibc(NeedsOf(file->tables()), HostGlibc());
  if (!lacks.empty()) {
    return DoesNotFit("the module needs " + lacks + ", this machine has 2." +
                      std::to_string(HostGlibc()));
  }
  Result<std::shared_ptr<void>> library =
      file->descriptor() >= 0 ? OpenLibraryDescriptor(file->descriptor())
                              : OpenLibraryBytes({reinterpret_cast<const char*>(bytes),
                                                  static_cast<size_t>(file->object_bytes())});
  if (!library.ok()) return library.error();
  const void* tables = dlsym(library->get(), module::kSymbol);
  if (tables == nullptr) {
    return Error{ErrorCode::kDataLoss,
                 std::string("the module has no symbol '") + module::kSymbol + "'"};
  }
  const uint32_t size = file->tables().header().bytes;
  Result<ModuleTables> loaded = ModuleTables::Read(static_cast<const uint8_t*>(tables), size);
  if (!loaded.ok()) return loaded.error();
  return Load(*std::move(loaded), *std::move(library), nullptr, std::move(chosen->why_on_cpu));
}

Result<std::shared_ptr<const Module>> Module::Open(const std::string& path,
                                                   const DeviceWish& wish) {
  Result<std::shared_ptr<const ModuleFile>> file = ModuleFile::Open(path);
  if (!file.ok()) return file.error();
  Result<std::shared_ptr<const Module>> made = LoadFile(*file, nullptr, wish);
  if (!made.ok()) return Error{made.error().code, path + ": " + made.error().text};
  return made;
}

Result<std::shared_ptr<const Module>> Module::FromBytes(const uint8_t* file, uint64_t bytes,
                                                        const DeviceWish& wish) {
  // Images are read where the tables are, as long as the module exists.
  struct Copy {
    std::vector<uint8_t> bytes;
    std::shared_ptr<const ModuleFile> file;
  };
  auto copy = std::make_shared<Copy>();
  copy->bytes.assign(file, file + bytes);
  Result<std::shared_ptr<const ModuleFile>> view =
      ModuleFile::View(copy->bytes.data(), copy->bytes.size());
  if (!view.ok()) return view.error();
  copy->file = *std::move(view);
  const uint8_t* const data = copy->bytes.data();
  const ModuleFile* const of = copy->file.get();
  return LoadFile(std::shared_ptr<const ModuleFile>(copy, of), data, wish);
}

Result<std::shared_ptr<const Module>> Module::Linked(const void* tables, const DeviceWish& wish) {
  // The header states the size. What a program links is trusted to have all of it.
  module::Header header;
  std::memcpy(&header, tables, sizeof header);
  const uint64_t available = header.magic == module::kMagic ? header.bytes : sizeof header;
  Result<ModuleTables> read = ModuleTables::Read(static_cast<const uint8_t*>(tables), available);
  if (!read.ok()) return read.error();
  Result<ChosenDevice> chosen = ChooseDevice(*read, wish);
  if (!chosen.ok()) return chosen.error();
  if (chosen->device != nullptr) {
    Result<std::shared_ptr<const Module>> made = Load(*read, nullptr, chosen->device, "");
    if (made.ok() || !FallsBack(*chosen, made.error())) return made;
    chosen->why_on_cpu = made.error().text;
  }
  return Load(*std::move(read), nullptr, nullptr, std::move(chosen->why_on_cpu));
}

Result<std::shared_ptr<const Module>> Module::Load(ModuleTables tables,
                                                   std::shared_ptr<const void> code, Device* device,
                                                   std::string why_on_cpu) {
  std::shared_ptr<Module> made(new Module);
  made->tables_ = tables;
  made->device_ = device;
  made->why_on_cpu_ = std::move(why_on_cpu);
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

ValueShape Module::ShapeOf(uint32_t scalar, module::Span scalars, module::Span shape,
                           uint32_t flags) const {
  ValueShape value;
  value.scalar = scalar;
  for (const uint64_t one : tables_.Numbers(scalars)) {
    value.scalars.push_back(static_cast<uint32_t>(one));
  }
  value.shape = tables_.Numbers(shape);
  if (scalars.count > 0) value.count = scalars.count;
  for (const uint64_t extent : value.shape) value.count *= static_cast<uint32_t>(extent);
  value.texels = flags & (module::Param::kTexture | module::Param::kFractions);
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
      kernel.params.push_back(
          {std::string(tables_.TextOf(param.name)), param.kind == module::Param::kArray,
           ShapeOf(param.scalar, param.scalars, param.shape, param.flags), param.rank,
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
    const Result<> loaded =
        device_ != nullptr ? LoadImage(record, &kernels_[i]) : LoadCode(record, code, &kernels_[i]);
    if (!loaded.ok()) return loaded;
  }
  return {};
}

KernelInfo Module::InfoOf(const module::Kernel& record, const ModuleKernel& kernel) const {
  KernelInfo info;
  info.name = kernel.name;
  tables_.ForEach<module::Slot>(record.slots, [&](const module::Slot& slot) {
    info.arguments.push_back(
        {static_cast<ArgumentSlot::Kind>(slot.kind), slot.param, slot.element, slot.scalar});
  });
  for (const ModuleResult& result : kernel.results) {
    for (uint32_t i = 0; i < result.value.count; ++i) {
      info.results.push_back(result.value.ScalarAt(i));
    }
  }
  return info;
}

Result<> Module::LoadImage(const module::Kernel& record, ModuleKernel* kernel) {
  const std::vector<Target> images = ImagesOf(tables_, record);
  const auto [number, used] = BestFor(device_->target(), images);
  // ChooseDevice has looked.
  const auto image =
      tables_.Get<module::Image>(record.images.first + static_cast<uint32_t>(number));
  const std::string_view payload = tables_.BytesOf(image.payload);
  const std::string what = "kernel '" + kernel->name + "', image for " + images[number].text();
  CudaPayload parts;
  if (std::string wrong = CheckCudaPayload(payload, images[number], &parts); !wrong.empty()) {
    return Error{ErrorCode::kDataLoss, what + ": " + wrong};
  }
  KernelInfo info = InfoOf(record, *kernel);
  info.target = target_ = used;
  info.runtime_abi = kCudaAbi;  // that of this build, which runs the module's (CheckCudaAbi)
  info.temporary_bytes = image.temporary_bytes;
  SetFlags(image.kernel_flags, &info);
  tables_.ForEach<module::ImageTask>(image.tasks, [&](const module::ImageTask& task) {
    info.tasks.push_back(TaskOf(tables_, task));
  });
  kernel->reports = true;  // any launch may have to tell of the failure of an earlier one
  Result<std::shared_ptr<const LoadedKernel>> loaded =
      device_->LoadBytes(payload, std::move(info), {});
  if (!loaded.ok()) return Error{loaded.error().code, what + ": " + loaded.error().text};
  kernel->code = *std::move(loaded);
  return {};
}

Result<> Module::LoadCode(const module::Kernel& record, const std::shared_ptr<const void>& code,
                          ModuleKernel* kernel) {
  KernelInfo info = InfoOf(record, *kernel);
  info.temporary_bytes = record.temporary_bytes;
  SetFlags(record.flags, &info);
  // The highest level that this machine runs; they are sorted.
  const std::vector<Target> levels = LevelsOf(tables_, record);
  int chosen = -1;
  for (size_t i = 0; i < levels.size(); ++i) {
    if (HostTarget().Runs(levels[i])) chosen = static_cast<int>(i);
  }
  if (chosen < 0) {
    const std::string cuda = why_on_cpu_.empty() ? "" : ", and has no CUDA device: " + why_on_cpu_;
    return DoesNotFit("kernel '" + kernel->name + "' is for " + TextsOf(levels) +
                      ", this machine is " + HostTarget().text() + cuda);
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
    if ((record.flags & module::Field::kReordered) != 0) {
      field.only_kernels = "its elements are in another order than their numbers";
    }
    if (field.is_quantised) field.only_kernels = "its numbers are quantised";
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
                            arg.kind == module::Param::kArray,
                            ShapeOf(arg.scalar, {}, arg.shape, arg.flags), arg.rank});
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
