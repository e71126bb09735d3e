#include "runtime/module/world.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/device.h"
#include "runtime/random.h"
#include "runtime/scalar.h"
#include "runtime/tree/tree.h"

namespace kiln {
namespace {

Error Of(const ModuleField& field, ErrorCode code, const std::string& text) {
  return {code, "field '" + field.name + "': " + text};
}

// Copies to memory that launches have not used yet.
Result<> CopyTo(Buffer* buffer, const void* from, uint64_t bytes) {
  if (Result<> done = buffer->Touch(0, bytes, HostAccess::kOverwrite); !done.ok()) return done;
  std::memcpy(buffer->host(), from, bytes);
  return buffer->HandOver();
}

Result<Device::MadeTree> MakeTree(const ModuleTree& tree, Device* device,
                                  const WorldOptions& options) {
  TreeOptions tree_options;
  tree_options.names = tree.names;
  tree_options.budget = options.budget;
  tree_options.executor = options.executor;
  tree_options.memory = options.memory;
  if (device != nullptr) return device->MakeTree(tree.shape, std::move(tree_options));
  Result<std::unique_ptr<Tree>> made = Tree::Make(tree.shape, std::move(tree_options));
  if (!made.ok()) return made.error();
  return Device::MadeTree{*std::move(made), nullptr};
}

}  // namespace

Result<std::unique_ptr<World>> World::Make(std::shared_ptr<const Module> module,
                                           const WorldOptions& options) {
  std::unique_ptr<World> world(new World(std::move(module)));
  for (const ModuleTree& tree : world->module_->trees()) {
    Result<Device::MadeTree> made = MakeTree(tree, world->module_->device(), options);
    if (!made.ok()) return made.error();
    world->trees_.push_back(std::move(made->tree));
    world->buffers_.push_back(std::move(made->buffer));
  }
  if (Result<> filled = world->FillTrees(); !filled.ok()) return filled.error();
  world->viewed_ = std::make_unique<std::atomic<bool>[]>(world->trees_.size());
  if (Result<> bound = world->BindKernels(); !bound.ok()) return bound.error();
  world->Seed(options.seed);
  return world;
}

Result<> World::FillTrees() {
  const ModuleTables& tables = module_->tables();
  for (uint32_t t = 0; t < trees_.size(); ++t) {
    const std::string_view contents = tables.BytesOf(tables.Get<module::Tree>(t).contents);
    if (contents.empty()) continue;
    if (Buffer* const buffer = buffers_[t].get(); buffer == nullptr) {
      std::memcpy(trees_[t]->root(), contents.data(), contents.size());
    } else if (Result<> done = CopyTo(buffer, contents.data(), contents.size()); !done.ok()) {
      return done;
    }
  }
  return {};
}

uint64_t World::RootOf(int tree) const {
  const std::shared_ptr<Buffer>& buffer = buffers_[tree];
  return reinterpret_cast<uint64_t>(buffer != nullptr ? buffer->data() : trees_[tree]->root());
}

Result<> World::BindKernels() {
  const ModuleTables& tables = module_->tables();
  bound_.resize(module_->kernels().size());
  ranges_.resize(bound_.size());
  used_.resize(bound_.size());
  for (size_t k = 0; k < bound_.size(); ++k) {
    tables.ForEach<module::Binding>(
        module_->kernels()[k].bindings, [&](const module::Binding& binding) {
          Bound bound{binding.slot, binding.value};
          if (binding.kind != module::Binding::kNumber) {
            const auto number = static_cast<int>(binding.tree);
            if (Buffer* buffer = buffers_[number].get(); buffer != nullptr) {
              used_[k].push_back(buffer);
            }
            if (binding.kind == module::Binding::kAddress) {
              bound.value = RootOf(number) + binding.value;
              ranges_[k].push_back({bound.value, bound.value + binding.bytes,
                                    (binding.flags & module::Binding::kWrites) != 0});
            } else {
              NodeTable& table = nodes_.emplace_back(NodeTable{{}, k, bound_[k].size()});
              for (const uint64_t node : tables.Numbers(binding.nodes)) {
                table.nodes.push_back(trees_[number]->node(static_cast<int>(node)));
              }
              // Moving the vector to a longer list does not move its elements.
              bound.value = reinterpret_cast<uint64_t>(table.nodes.data());
            }
          }
          bound_[k].push_back(bound);
        });
    std::sort(used_[k].begin(), used_[k].end());
    used_[k].erase(std::unique(used_[k].begin(), used_[k].end()), used_[k].end());
  }
  return module_->device() == nullptr || nodes_.empty() ? Result<>() : CopyNodes();
}

Result<> World::CopyNodes() {
  std::vector<KilnNode*> all;
  for (const NodeTable& table : nodes_) {
    all.insert(all.end(), table.nodes.begin(), table.nodes.end());
  }
  const uint64_t bytes = all.size() * sizeof(KilnNode*);
  Result<std::unique_ptr<Buffer>> made = module_->device()->Allocate(bytes);
  if (!made.ok()) return made.error();
  device_nodes_ = *std::move(made);
  auto next = reinterpret_cast<uint64_t>(device_nodes_->data());
  for (const NodeTable& table : nodes_) {
    bound_[table.kernel][table.bound].value = next;
    next += table.nodes.size() * sizeof(KilnNode*);
  }
  return CopyTo(device_nodes_.get(), static_cast<const void*>(all.data()), bytes);
}

Result<> World::HandOver(int kernel) const {
  for (Buffer* buffer : used_[kernel]) {
    if (Result<> done = buffer->HandOver(); !done.ok()) return done;
  }
  return {};
}

void World::Seed(uint64_t seed) { random_.store(SplitMixOf(seed), std::memory_order_relaxed); }

uint64_t World::NextRandom() {
  return SplitMixOf(random_.fetch_add(kSplitMixStep, std::memory_order_relaxed) + kSplitMixStep);
}

Result<uint8_t*> World::Locate(int number, const int64_t* indices, uint32_t component,
                               CellAccess access) const {
  if (module_->device() != nullptr) {
    return Of(module_->fields()[number], ErrorCode::kUnimplemented,
              "its elements are in a CUDA device's memory; kiln_field_get and kiln_field_set copy "
              "them");
  }
  return Reach(number, indices, component, access);
}

Result<uint8_t*> World::Reach(int number, const int64_t* indices, uint32_t component,
                              CellAccess access) const {
  const ModuleField& field = module_->fields()[number];
  const ModuleField::Component& part = field.components[component];
  int64_t at[kMaxIndices] = {};
  for (size_t i = 0; i < field.shape.size(); ++i) {
    const int64_t index = indices[i] - field.offsets[i];
    // As unsigned: a negative index is beyond every extent.
    if (static_cast<uint64_t>(index) >= field.shape[i]) {
      return Of(field, ErrorCode::kOutOfRange,
                "index " + std::to_string(indices[i]) + " along axis " + std::to_string(i) +
                    ", which has " + std::to_string(field.offsets[i]) + " to " +
                    std::to_string(field.offsets[i] + static_cast<int64_t>(field.shape[i]) - 1));
    }
    if (part.axes[i] != module::kNone) at[part.axes[i]] = index;
  }
  return trees_[part.tree]->Locate(static_cast<int>(part.place), at, access);
}

Result<std::unique_lock<std::mutex>> World::KeepHostAway() const {
  const Device* const device = module_->device();
  if (device == nullptr) return std::unique_lock<std::mutex>();
  if (Result<> usable = device->CheckProcess(); !usable.ok()) return usable.error();
  return std::unique_lock(host_uses_fields_);
}

Result<> World::HandOverViewed(int number) const {
  if (module_->device() == nullptr) return {};
  for (const ModuleField::Component& part : module_->fields()[number].components) {
    if (!viewed_[part.tree].load(std::memory_order_acquire)) continue;
    if (Result<> done = buffers_[part.tree]->HandOver(); !done.ok()) return done;
  }
  return {};
}

Result<> World::AwaitField(int number) const {
  if (module_->device() == nullptr) return {};
  if (Result<> usable = module_->device()->CheckProcess(); !usable.ok()) return usable;
  for (const ModuleField::Component& part : module_->fields()[number].components) {
    if (Result<> done = buffers_[part.tree]->Await(); !done.ok()) return done;
  }
  return {};
}

template <typename Use>
Result<> World::MeetViews(int number, const Use& use) const {
  const Result<std::unique_lock<std::mutex>> lock = KeepHostAway();
  if (!lock.ok()) return lock.error();
  // The host has nothing of its own after this, so it fetches what it uses.
  if (Result<> done = HandOverViewed(number); !done.ok()) return done;
  if (Result<> done = use(); !done.ok()) return done;
  return HandOverViewed(number);
}

Result<> World::Get(int number, const int64_t* indices, void* element) const {
  const ModuleField& field = module_->fields()[number];
  const size_t size = ScalarBytesOf(field.scalar);
  return MeetViews(number, [&]() -> Result<> {
    for (uint32_t c = 0; c < field.components.size(); ++c) {
      const Result<uint8_t*> at = Reach(number, indices, c, CellAccess::kRead);
      if (!at.ok()) return at.error();
      std::memcpy(static_cast<uint8_t*>(element) + c * size, *at, size);
    }
    return {};
  });
}

Result<> World::Set(int number, const int64_t* indices, const void* element) const {
  const ModuleField& field = module_->fields()[number];
  const size_t size = ScalarBytesOf(field.scalar);
  return MeetViews(number, [&]() -> Result<> {
    for (uint32_t c = 0; c < field.components.size(); ++c) {
      const Result<uint8_t*> at = Reach(number, indices, c, CellAccess::kWrite);
      if (!at.ok()) return at.error();
      std::memcpy(*at, static_cast<const uint8_t*>(element) + c * size, size);
    }
    return {};
  });
}

void World::Touch() {
  constexpr uint64_t kPage = 4096;
  if (module_->device() != nullptr) return;  // a device provides memory at once
  for (const std::shared_ptr<TreeData>& tree : trees_) {
    auto* const root = reinterpret_cast<volatile uint8_t*>(tree->root());
    // Adds nothing, atomically: another thread may be writing there.
    for (uint64_t at = 0; at < tree->shape().root_bytes(); at += kPage) {
      __atomic_fetch_add(root + at, 0, __ATOMIC_RELAXED);
    }
  }
}

// Calls visit for runs of active cells of each component, with the address, the count, the bytes
// between cells, the number of the scalar in the array and the step there.
template <typename Visit>
Result<> World::ForEachRun(int number, HostAccess access, const Visit& visit) const {
  const ModuleField& field = module_->fields()[number];
  if (field.only_kernels != nullptr) {
    return Of(field, ErrorCode::kUnimplemented,
              field.only_kernels + std::string("; only kernels read and write them"));
  }
  const auto components = static_cast<int64_t>(field.components.size());
  for (int64_t c = 0; c < components; ++c) {
    const ModuleField::Component& part = field.components[c];
    TreeData& tree = *trees_[part.tree];
    const auto [node, offset] = tree.shape().CellOf(static_cast<int>(part.place));
    const NodeLayout& cells = tree.shape()[node];
    int64_t step_of_axis[kMaxIndices] = {};  // scalars of the array
    int64_t step = components;
    for (size_t i = field.shape.size(); i-- > 0; step *= static_cast<int64_t>(field.shape[i])) {
      if (part.axes[i] != module::kNone) step_of_axis[part.axes[i]] = step;
    }
    // The cells of a run differ along the node's last axis.
    const int64_t along = cells.levels.empty() ? 0 : step_of_axis[cells.levels.back().axis];
    tree.ForEachRun(
        node,
        [&, offset = offset](const CellRun& run) {
          int64_t position = c;
          for (int axis = 0; axis < kMaxIndices; ++axis) {
            position += run.at[axis] * step_of_axis[axis];
          }
          visit(run.cell + offset, run.count, cells.cell_bytes, position, along);
        },
        access);
  }
  // What failed of the copies, and of launches before them.
  return module_->device() == nullptr ? Result<>() : module_->device()->Synchronize();
}

Result<> World::Read(int number, void* array) const {
  const ModuleField& field = module_->fields()[number];
  const size_t size = ScalarBytesOf(field.scalar);
  auto* to = static_cast<uint8_t*>(array);
  // Before MeetViews takes the lock: other threads use fields while this one waits for the device.
  if (Result<> ready = AwaitField(number); !ready.ok()) return ready;
  std::memset(to, 0, field.ArrayBytes());
  const auto copy = [&](const uint8_t* from, uint64_t count, uint64_t stride, int64_t position,
                        int64_t step) {
    for (uint64_t i = 0; i < count; ++i) {
      std::memcpy(to + (position + static_cast<int64_t>(i) * step) * static_cast<int64_t>(size),
                  from + i * stride, size);
    }
  };
  return MeetViews(number, [&] { return ForEachRun(number, HostAccess::kRead, copy); });
}

Result<> World::Write(int number, const void* array) const {
  const size_t size = ScalarBytesOf(module_->fields()[number].scalar);
  const auto* from = static_cast<const uint8_t*>(array);
  // As in Read.
  if (Result<> ready = AwaitField(number); !ready.ok()) return ready;
  const auto copy = [&](uint8_t* to, uint64_t count, uint64_t stride, int64_t position,
                        int64_t step) {
    for (uint64_t i = 0; i < count; ++i) {
      std::memcpy(to + i * stride,
                  from + (position + static_cast<int64_t>(i) * step) * static_cast<int64_t>(size),
                  size);
    }
  };
  return MeetViews(number, [&] { return ForEachRun(number, HostAccess::kWrite, copy); });
}

Result<World::View> World::ViewOf(int number) const {
  const ModuleField& field = module_->fields()[number];
  if (module_->device() != nullptr) {
    return Of(field, ErrorCode::kFailedPrecondition,
              "it is in a CUDA device's memory; kiln_field_device_view has its address there");
  }
  return ArrayOf(number, RootOf(static_cast<int>(field.components[0].tree)));
}

Result<World::View> World::DeviceViewOf(int number) const {
  if (module_->device() == nullptr) return ViewOf(number);
  const uint32_t tree = module_->fields()[number].components[0].tree;
  Result<View> view = ArrayOf(number, RootOf(static_cast<int>(tree)));
  if (!view.ok()) return view;
  const Result<std::unique_lock<std::mutex>> lock = KeepHostAway();
  if (!lock.ok()) return lock.error();
  viewed_[tree].store(true, std::memory_order_release);
  if (Result<> done = HandOverViewed(number); !done.ok()) return done.error();
  return view;
}

Result<World::View> World::ArrayOf(int number, uint64_t root) const {
  const ModuleField& field = module_->fields()[number];
  const char* const no_array = "it is not a strided array in memory: ";
  const auto refuse = [&](const char* why) {
    return Of(field, ErrorCode::kFailedPrecondition,
              std::string(no_array) + why + "; copy its elements instead");
  };
  if (field.is_sparse) return refuse("it has sparse levels");
  if (field.only_kernels != nullptr) return refuse(field.only_kernels);
  View view;
  std::vector<uint64_t> offsets;  // of the components from the tree's root
  for (size_t c = 0; c < field.components.size(); ++c) {
    const ModuleField::Component& part = field.components[c];
    if (part.tree != field.components[0].tree) return refuse("it is in several trees");
    const TreeShape& shape = trees_[part.tree]->shape();
    std::vector<int64_t> stride_of_axis(kMaxIndices, 0);
    std::vector<int> levels_of_axis(kMaxIndices, 0);
    uint64_t offset = 0;
    for (int n = static_cast<int>(part.place); n > 0; n = shape[n].parent) {
      offset += shape[n].offset;
      for (const NodeLayout::Level& level : shape[n].levels) {
        stride_of_axis[level.axis] = static_cast<int64_t>(level.multiplier * shape[n].cell_bytes);
        if (level.extent > 1) ++levels_of_axis[level.axis];
      }
    }
    std::vector<int64_t> strides;
    for (const uint64_t axis : part.axes) {
      if (axis != module::kNone && levels_of_axis[axis] > 1) {
        return refuse("several levels divide an axis");
      }
      strides.push_back(axis == module::kNone ? 0 : stride_of_axis[axis]);
    }
    if (c > 0 && strides != view.strides) return refuse("its components have other strides");
    view.strides = std::move(strides);
    offsets.push_back(offset);
  }
  // Components in C order have to be as far apart as the elements of an array.
  int64_t step = offsets.size() > 1 ? static_cast<int64_t>(offsets[1] - offsets[0]) : 0;
  for (size_t c = 0; c < offsets.size(); ++c) {
    if (static_cast<int64_t>(offsets[c] - offsets[0]) != static_cast<int64_t>(c) * step) {
      return refuse("its components are not side by side");
    }
  }
  std::vector<int64_t> inner(field.element.size());
  for (size_t i = field.element.size(); i-- > 0; step *= static_cast<int64_t>(field.element[i])) {
    inner[i] = step;
  }
  view.strides.insert(view.strides.end(), inner.begin(), inner.end());
  view.data = reinterpret_cast<uint8_t*>(root + offsets[0]);
  return view;
}

}  // namespace kiln
