// Modules: opening, and what they contain.
#include <cstring>

#include "libkiln/failure.h"
#include "libkiln/graveyard.h"
#include "libkiln/handles.h"
#include "libkiln/signature.h"

using kiln::capi::Fail;
using kiln::capi::FailNull;
using kiln::capi::Guarded;

namespace {

using Opened = kiln::Result<std::shared_ptr<const kiln::Module>>;

kiln_status CheckSignatures(const kiln::Module& module, const uint64_t* expected) {
  const kiln::module::Header& header = module.tables().header();
  if (expected == nullptr ||
      std::memcmp(expected, header.signatures, sizeof header.signatures) == 0)
    return KILN_OK;
  return Fail(KILN_FAILED_PRECONDITION,
              "module '" + std::string(module.name()) +
                  "' has other signatures than the header that the program was compiled with: " +
                  kiln::capi::SignaturesOf(module));
}

// What all ways of opening share; `open` returns the module.
template <typename Open>
kiln_status OpenWith(const char* function, kiln_context* context, const kiln_open_options* options,
                     kiln_module** out, const Open& open) {
  return Guarded([&]() -> kiln_status {
    if (!kiln::capi::IsLive(context)) return FailNull(function, "context");
    if (out == nullptr) return FailNull(function, "module");
    Opened opened = open();
    if (!opened.ok()) return Fail(opened.error());
    const kiln_status same = CheckSignatures(**opened, kiln::capi::Sized(options).signatures);
    if (same != KILN_OK) return same;
    auto made = std::make_unique<kiln_module>();
    made->context = context;
    made->module = *std::move(opened);
    made->name = made->module->name();
    made->target = made->module->target().text();
    const size_t kernels = made->module->kernels().size();
    made->kernels.reserve(kernels);
    for (size_t i = 0; i < kernels; ++i) {
      made->kernels.push_back(
          {made.get(), static_cast<int>(i), kiln::capi::SignatureOf(made->module->kernels()[i])});
    }
    for (size_t i = 0; i < made->module->graphs().size(); ++i) {
      made->graphs.push_back({made.get(), static_cast<int>(i)});
    }
    context->objects.fetch_add(1);
    if (kiln::Device* device = made->module->device(); device != nullptr) context->used = device;
    const std::string& why_on_cpu = made->module->why_on_cpu();
    context->Log("module '" + made->name + "': " + std::to_string(kernels) + " kernels for " +
                 made->target + (why_on_cpu.empty() ? "" : " (not on CUDA: " + why_on_cpu + ")"));
    *out = made.release();
    return KILN_OK;
  });
}

// "a, b and 3 more", of things with a name.
template <typename Things>
std::string NamesOf(const Things& things) {
  constexpr size_t kShown = 20;
  std::string text;
  for (size_t i = 0; i < things.size() && i < kShown; ++i) {
    text += (i > 0 ? ", " : "") + things[i].name;
  }
  if (things.size() > kShown) text += " and " + std::to_string(things.size() - kShown) + " more";
  return text.empty() ? "none" : text;
}

std::string NoSuch(const char* what, const kiln_module* module, const char* name,
                   const std::string& names) {
  return "module '" + module->name + "' has no " + what + " '" + name + "'; it has " + names;
}

}  // namespace

kiln_status kiln_module_open(kiln_context* context, const char* path,
                             const kiln_open_options* options, kiln_module** module) {
  return OpenWith("kiln_module_open", context, options, module, [&]() -> Opened {
    if (path == nullptr) return kiln::Error{kiln::ErrorCode::kInvalidArgument, "'path' is NULL"};
    return kiln::Module::Open(path, context->device);
  });
}

kiln_status kiln_module_open_bytes(kiln_context* context, const void* bytes, size_t count,
                                   const kiln_open_options* options, kiln_module** module) {
  return OpenWith("kiln_module_open_bytes", context, options, module, [&]() -> Opened {
    if (bytes == nullptr) return kiln::Error{kiln::ErrorCode::kInvalidArgument, "'bytes' is NULL"};
    return kiln::Module::FromBytes(static_cast<const uint8_t*>(bytes), count, context->device);
  });
}

kiln_status kiln_module_open_linked(kiln_context* context, const void* symbol,
                                    const kiln_open_options* options, kiln_module** module) {
  return OpenWith("kiln_module_open_linked", context, options, module, [&]() -> Opened {
    if (symbol == nullptr) {
      return kiln::Error{kiln::ErrorCode::kInvalidArgument, "'symbol' is NULL"};
    }
    return kiln::Module::Linked(symbol, context->device);
  });
}

kiln_status kiln_module_free(kiln_module* module) {
  return Guarded([&]() -> kiln_status {
    if (module == nullptr) return KILN_OK;
    if (!kiln::capi::IsLive(module)) return FailNull("kiln_module_free", "module");
    if (const int64_t worlds = module->worlds.load(); worlds != 0) {
      return Fail(KILN_FAILED_PRECONDITION, "kiln_module_free: " + std::to_string(worlds) +
                                                " worlds of module '" + module->name + "' exist");
    }
    module->context->objects.fetch_sub(1);
    module->magic = 0;
    module->captured.Clear();
    module->module.reset();
    kiln::capi::Bury(std::unique_ptr<kiln_module>(module));
    return KILN_OK;
  });
}

const kiln_kernel* kiln_module_kernel(const kiln_module* module, const char* name) {
  const kiln_kernel* found = nullptr;
  Guarded([&]() -> kiln_status {
    if (!kiln::capi::IsLive(module)) return FailNull("kiln_module_kernel", "module");
    if (name == nullptr) return FailNull("kiln_module_kernel", "name");
    const int number = module->module->FindKernel(name);
    if (number < 0) {
      return Fail(KILN_NOT_FOUND,
                  NoSuch("kernel", module, name, NamesOf(module->module->kernels())));
    }
    found = &module->kernels[static_cast<size_t>(number)];
    return KILN_OK;
  });
  return found;
}

const kiln_graph* kiln_module_graph(const kiln_module* module, const char* name) {
  const kiln_graph* found = nullptr;
  Guarded([&]() -> kiln_status {
    if (!kiln::capi::IsLive(module)) return FailNull("kiln_module_graph", "module");
    if (name == nullptr) return FailNull("kiln_module_graph", "name");
    const int number = module->module->FindGraph(name);
    if (number < 0) {
      return Fail(KILN_NOT_FOUND, NoSuch("graph", module, name, NamesOf(module->module->graphs())));
    }
    found = &module->graphs[static_cast<size_t>(number)];
    return KILN_OK;
  });
  return found;
}

const kiln_kernel* kiln_module_kernel_at(const kiln_module* module, size_t number) {
  return kiln::capi::IsLive(module) && number < module->kernels.size() ? &module->kernels[number]
                                                                       : nullptr;
}

const kiln_graph* kiln_module_graph_at(const kiln_module* module, size_t number) {
  return kiln::capi::IsLive(module) && number < module->graphs.size() ? &module->graphs[number]
                                                                      : nullptr;
}

const char* kiln_module_name(const kiln_module* module) {
  return kiln::capi::IsLive(module) ? module->name.c_str() : "";
}

const char* kiln_module_target(const kiln_module* module) {
  return kiln::capi::IsLive(module) ? module->target.c_str() : "";
}

namespace {

void DescribeField(const kiln_module& module, int number, kiln_field* out) {
  const kiln::ModuleField& field = module.module->fields()[static_cast<size_t>(number)];
  kiln_field made{};
  made.dtype = field.scalar;
  made.ndim = static_cast<uint32_t>(field.shape.size());
  made.element_ndim = static_cast<uint32_t>(field.element.size());
  made.shape = field.shape.data();
  made.element_shape = field.element.data();
  made.first = field.offsets.data();
  made.bytes = field.ArrayBytes();
  made.is_sparse = field.is_sparse ? 1 : 0;
  made.is_quantised = field.is_quantised ? 1 : 0;
  made.name = field.name.c_str();
  kiln::capi::SetSized(made, out);
}

}  // namespace

kiln_status kiln_module_field(const kiln_module* module, const char* name, kiln_field* field) {
  return Guarded([&]() -> kiln_status {
    if (!kiln::capi::IsLive(module)) return FailNull("kiln_module_field", "module");
    if (name == nullptr) return FailNull("kiln_module_field", "name");
    if (field == nullptr) return FailNull("kiln_module_field", "field");
    const int number = module->module->FindField(name);
    if (number < 0) {
      return Fail(KILN_NOT_FOUND, NoSuch("field", module, name, NamesOf(module->module->fields())));
    }
    DescribeField(*module, number, field);
    return KILN_OK;
  });
}

kiln_status kiln_module_field_at(const kiln_module* module, size_t number, kiln_field* field) {
  return Guarded([&]() -> kiln_status {
    if (!kiln::capi::IsLive(module)) return FailNull("kiln_module_field_at", "module");
    if (field == nullptr) return FailNull("kiln_module_field_at", "field");
    if (number >= module->module->fields().size()) {
      return Fail(KILN_INVALID_ARGUMENT, "module '" + module->name + "' has " +
                                             std::to_string(module->module->fields().size()) +
                                             " fields");
    }
    DescribeField(*module, static_cast<int>(number), field);
    return KILN_OK;
  });
}
