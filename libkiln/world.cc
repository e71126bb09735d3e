// Worlds, and access to their fields.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "libkiln/failure.h"
#include "libkiln/graveyard.h"
#include "libkiln/handles.h"
#include "runtime/device.h"
#include "runtime/scalar.h"

using kiln::capi::Fail;
using kiln::capi::FailNull;
using kiln::capi::Guarded;

namespace {

// Calls body(world, number of the field) if both exist.
template <typename Body>
kiln_status WithField(const char* function, kiln_world* world, const char* name, const Body& body) {
  return Guarded([&]() -> kiln_status {
    if (!kiln::capi::IsLive(world)) return FailNull(function, "world");
    if (name == nullptr) return FailNull(function, "name");
    const int number = world->world->of().FindField(name);
    if (number < 0) {
      kiln_field field{};
      return kiln_module_field(world->module, name, &field);  // says which fields there are
    }
    return body(*world->world, number);
  });
}

kiln_status FromResult(const kiln::Result<>& result) {
  return result.ok() ? KILN_OK : Fail(result.error());
}

const kiln::ModuleField& FieldOf(const kiln::World& world, int number) {
  return world.of().fields()[static_cast<size_t>(number)];
}

// Copies a field to or from an array by the kernel that the export made for it.
kiln_status Access(kiln_world* world, const kiln::ModuleField& field, const char* what,
                   const void* array) {
  const int number = world->world->of().FindKernel(field.name + what);
  if (number < 0) {
    return Fail(KILN_UNIMPLEMENTED, "field '" + field.name + "': " + field.only_kernels +
                                        ", and an older export made no kernel '" + field.name +
                                        what + "' to copy them");
  }
  std::vector<int64_t> shape(field.shape.begin(), field.shape.end());
  shape.insert(shape.end(), field.element.begin(), field.element.end());
  const kiln_array whole = kiln_array_of(const_cast<void*>(array), field.scalar,
                                         static_cast<int32_t>(shape.size()), shape.data());
  const kiln_arg arg = kiln_array_arg(&whole);
  return kiln_launch(&world->module->kernels[static_cast<size_t>(number)], world, &arg, 1, nullptr,
                     nullptr);
}

kiln_status CheckBytes(const kiln::ModuleField& field, const void* array, size_t bytes) {
  if (array == nullptr && field.ArrayBytes() > 0) {
    return Fail(KILN_INVALID_ARGUMENT, "field '" + field.name + "': the array is NULL");
  }
  if (bytes == field.ArrayBytes()) return KILN_OK;
  return Fail(KILN_INVALID_ARGUMENT, "field '" + field.name + "' has " +
                                         std::to_string(field.ArrayBytes()) + " bytes, the array " +
                                         std::to_string(bytes));
}

kiln_status FillView(const kiln::ModuleField& field, const kiln::Result<kiln::World::View>& found,
                     kiln_view* view) {
  if (!found.ok()) return Fail(found.error());
  const int64_t bytes = kiln::ScalarBytesOf(field.scalar);
  const size_t ndim = field.shape.size() + field.element.size();
  if (ndim > KILN_MAX_NDIM) {
    return Fail(KILN_UNIMPLEMENTED, "field '" + field.name + "' has more than " +
                                        std::to_string(KILN_MAX_NDIM) + " axes");
  }
  for (size_t i = 0; i < ndim; ++i) {
    if (found->strides[i] % bytes != 0) {
      return Fail(KILN_FAILED_PRECONDITION,
                  "field '" + field.name +
                      "': its elements are not a whole number of scalars apart; copy them "
                      "instead");
    }
  }
  for (size_t i = 0; i < ndim; ++i) {
    view->shape[i] = static_cast<int64_t>(
        i < field.shape.size() ? field.shape[i] : field.element[i - field.shape.size()]);
    view->strides[i] = found->strides[i] / bytes;
  }
  view->array = kiln_array_of(found->data, field.scalar, static_cast<int32_t>(ndim), view->shape);
  view->array.strides = view->strides;
  return KILN_OK;
}

// Calls copy(world, number of the field) for a copy of one element, if the arguments are right.
template <typename Copy>
kiln_status CopyElement(const char* function, kiln_world* world, const char* name,
                        const int64_t* indices, const void* element, size_t bytes,
                        const Copy& copy) {
  return WithField(function, world, name, [&](kiln::World& of, int number) -> kiln_status {
    const kiln::ModuleField& field = FieldOf(of, number);
    if (indices == nullptr && !field.shape.empty()) return FailNull(function, "indices");
    if (element == nullptr) return FailNull(function, "element");
    const size_t expected = field.components.size() * kiln::ScalarBytesOf(field.scalar);
    if (bytes != expected) {
      return Fail(KILN_INVALID_ARGUMENT, "an element of field '" + field.name + "' has " +
                                             std::to_string(expected) + " bytes, not " +
                                             std::to_string(bytes));
    }
    if (field.only_kernels != nullptr) {
      return Fail(KILN_UNIMPLEMENTED, "field '" + field.name + "': " + field.only_kernels +
                                          "; kiln_field_read and kiln_field_write copy them");
    }
    return FromResult(copy(of, number));
  });
}

}  // namespace

kiln_status kiln_world_new(kiln_module* module, const kiln_world_options* options,
                           kiln_world** world) {
  return Guarded([&]() -> kiln_status {
    if (!kiln::capi::IsLive(module)) return FailNull("kiln_world_new", "module");
    if (world == nullptr) return FailNull("kiln_world_new", "world");
    const kiln_world_options given = kiln::capi::Sized(options);
    kiln::WorldOptions wanted;
    wanted.executor = module->context->executor.get();
    wanted.seed = given.seed;
    const kiln_context_options& host = module->context->options;
    wanted.memory = {host.memory_self, host.allocate, host.release};
    if (given.max_bytes != 0) {
      wanted.budget = std::make_shared<kiln::MemoryBudget>(given.max_bytes);
    }
    kiln::Result<std::unique_ptr<kiln::World>> made = kiln::World::Make(module->module, wanted);
    if (!made.ok()) return Fail(made.error());
    auto handle = std::make_unique<kiln_world>();
    handle->module = module;
    handle->world = *std::move(made);
    module->worlds.fetch_add(1);
    module->context->objects.fetch_add(1);
    *world = handle.release();
    return KILN_OK;
  });
}

kiln_status kiln_world_free(kiln_world* world) {
  return Guarded([&]() -> kiln_status {
    if (world == nullptr) return KILN_OK;
    if (!kiln::capi::IsLive(world)) return FailNull("kiln_world_free", "world");
    world->module->worlds.fetch_sub(1);
    world->module->context->objects.fetch_sub(1);
    world->magic = 0;
    world->captured.Clear();
    world->world.reset();
    kiln::capi::Bury(std::unique_ptr<kiln_world>(world));
    return KILN_OK;
  });
}

kiln_status kiln_world_seed(kiln_world* world, uint64_t seed) {
  if (!kiln::capi::IsLive(world)) return FailNull("kiln_world_seed", "world");
  world->world->Seed(seed);
  return KILN_OK;
}

kiln_status kiln_world_prepare(kiln_world* world) {
  return Guarded([&]() -> kiln_status {
    if (!kiln::capi::IsLive(world)) return FailNull("kiln_world_prepare", "world");
    world->world->Touch();
    return KILN_OK;
  });
}

kiln_status kiln_field_view(kiln_world* world, const char* name, kiln_view* view) {
  return WithField("kiln_field_view", world, name, [&](kiln::World& of, int number) -> kiln_status {
    if (view == nullptr) return FailNull("kiln_field_view", "view");
    return FillView(FieldOf(of, number), of.ViewOf(number), view);
  });
}

kiln_status kiln_field_device_view(kiln_world* world, const char* name, kiln_view* view) {
  return WithField(
      "kiln_field_device_view", world, name, [&](kiln::World& of, int number) -> kiln_status {
        if (view == nullptr) return FailNull("kiln_field_device_view", "view");
        const kiln_status filled = FillView(FieldOf(of, number), of.DeviceViewOf(number), view);
        if (const kiln::Device* device = of.of().device(); filled == KILN_OK && device != nullptr) {
          constexpr int32_t kCuda = 2;
          view->array.device_type = kCuda;
          view->array.device_id = device->number();
        }
        return filled;
      });
}

kiln_status kiln_field_read(kiln_world* world, const char* name, void* array, size_t bytes) {
  return WithField("kiln_field_read", world, name, [&](kiln::World& of, int number) -> kiln_status {
    const kiln::ModuleField& field = FieldOf(of, number);
    const kiln_status fits = CheckBytes(field, array, bytes);
    if (fits != KILN_OK) return fits;
    if (field.only_kernels == nullptr) return FromResult(of.Read(number, array));
    if (bytes > 0) std::memset(array, 0, bytes);  // inactive cells
    return Access(world, field, ".read", array);
  });
}

kiln_status kiln_field_write(kiln_world* world, const char* name, const void* array, size_t bytes) {
  return WithField("kiln_field_write", world, name,
                   [&](kiln::World& of, int number) -> kiln_status {
                     const kiln::ModuleField& field = FieldOf(of, number);
                     const kiln_status fits = CheckBytes(field, array, bytes);
                     if (fits != KILN_OK) return fits;
                     if (field.only_kernels != nullptr) {
                       return Access(world, field, ".write", array);
                     }
                     return FromResult(of.Write(number, array));
                   });
}

kiln_status kiln_field_get(kiln_world* world, const char* name, const int64_t* indices,
                           void* element, size_t bytes) {
  return CopyElement(
      "kiln_field_get", world, name, indices, element, bytes,
      [&](const kiln::World& of, int number) { return of.Get(number, indices, element); });
}

kiln_status kiln_field_set(kiln_world* world, const char* name, const int64_t* indices,
                           const void* element, size_t bytes) {
  return CopyElement(
      "kiln_field_set", world, name, indices, element, bytes,
      [&](const kiln::World& of, int number) { return of.Set(number, indices, element); });
}

kiln_status kiln_field_locate(kiln_world* world, const char* name, const int64_t* indices,
                              uint32_t component, int activate, void** address) {
  return WithField(
      "kiln_field_locate", world, name, [&](kiln::World& of, int number) -> kiln_status {
        const kiln::ModuleField& field = FieldOf(of, number);
        if (address == nullptr) return FailNull("kiln_field_locate", "address");
        if (indices == nullptr && !field.shape.empty()) {
          return FailNull("kiln_field_locate", "indices");
        }
        if (component >= field.components.size()) {
          return Fail(KILN_OUT_OF_RANGE,
                      "field '" + field.name + "' has " + std::to_string(field.components.size()) +
                          " numbers in an element, not " + std::to_string(component + 1));
        }
        if (field.only_kernels != nullptr) {
          return Fail(KILN_UNIMPLEMENTED, "field '" + field.name + "': " + field.only_kernels +
                                              "; only kernels read and write them");
        }
        const auto access = activate != 0 ? kiln::CellAccess::kWrite : kiln::CellAccess::kFind;
        kiln::Result<uint8_t*> found = of.Locate(number, indices, component, access);
        if (!found.ok()) return Fail(found.error());
        *address = *found;
        return KILN_OK;
      });
}

kiln_array kiln_array_of(void* data, kiln_dtype dtype, int32_t ndim, const int64_t* shape) {
  constexpr int32_t kCpu = 1;
  // By ScalarFacts::Kind, in DLPack's numbers; no dtype has a code that nothing accepts.
  static constexpr uint8_t kCodes[] = {6, 0, 1, 2};
  const kiln::ScalarFacts* facts = kiln::FindScalar(dtype);
  kiln_array array{};
  array.data = data;
  array.device_type = kCpu;
  array.ndim = ndim;
  array.code = facts == nullptr ? 255 : kCodes[facts->kind];
  array.bits = facts == nullptr ? 0 : static_cast<uint8_t>(facts->bytes * 8);
  array.lanes = 1;
  array.shape = const_cast<int64_t*>(shape);  // DLPack's type; nothing writes through it
  return array;
}
