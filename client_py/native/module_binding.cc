// Over the C interface: what Python accepts and refuses is what C programs see.
#include "client_py/native/module_binding.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client_cpp/devices.h"
#include "client_py/native/gil.h"
#include "client_py/native/launching.h"
#include "client_py/native/module_arguments.h"
#include "common/base/first_use.h"
#include "kiln/kiln.h"
#include "libkiln/handles.h"
#include "libkiln/signature.h"
#include "runtime/module/module_file.h"
#include "runtime/scalar.h"

namespace kiln {

namespace py = pybind11;

namespace {

// Its arguments: the code (kiln_status) and the text. kiln/aot/load.py makes the user's exception.
PyObject* module_error = nullptr;

void Check(kiln_status status) {
  if (status == KILN_OK) return;
  PyErr_SetObject(module_error, py::make_tuple(status, kiln_error()).ptr());
  throw py::error_already_set();
}

// The context of all modules of this process that run on a device: "best", "cpu" or "cuda", which
// is the CUDA device in use, if there is one.
kiln_context* ContextOf(const std::string& device) {
  static FirstUse<std::map<std::pair<std::string, uint32_t>, kiln_context*>> contexts;
  const Device* const in_use = CudaDeviceInUse();
  const uint32_t number = in_use == nullptr ? 0 : 1 + static_cast<uint32_t>(in_use->number());
  kiln_context*& context = contexts.Get()[{device, number}];
  if (context != nullptr) return context;
  const std::map<std::string, uint32_t> kinds = {
      {"best", KILN_DEVICE_BEST}, {"cpu", KILN_DEVICE_CPU}, {"cuda", KILN_DEVICE_CUDA}};
  kiln_context_options options{};
  options.size = sizeof options;
  options.device = kinds.at(device);
  options.cuda_device = number;
  ChooseCudaDriver();
  Check(kiln_context_new(&options, &context));
  return context;
}

struct LoadedModule {
  ~LoadedModule() { kiln_module_free(module); }
  // On which its kernels run; null: the CPU.
  Device* device() const { return module->module->device(); }
  kiln_module* module = nullptr;
};

struct LoadedWorld {
  ~LoadedWorld() { kiln_world_free(world); }
  std::shared_ptr<LoadedModule> of;
  kiln_world* world = nullptr;
};

// Calls `open` without the interpreter's lock: a CUDA device takes long to start.
template <typename Open>
std::shared_ptr<LoadedModule> OpenWith(const Open& open) {
  auto made = std::make_shared<LoadedModule>();
  kiln_status status;
  {
    const GilReleased release;
    status = open(&made->module);
  }
  Check(status);
  return made;
}

std::shared_ptr<LoadedModule> Open(const std::string& path, const std::string& device) {
  kiln_context* const context = ContextOf(device);
  return OpenWith([&](kiln_module** module) {
    return kiln_module_open(context, path.c_str(), nullptr, module);
  });
}

std::shared_ptr<LoadedModule> OpenBytes(const py::bytes& bytes, const std::string& device) {
  kiln_context* const context = ContextOf(device);
  const std::string_view data = bytes;
  return OpenWith([&](kiln_module** module) {
    return kiln_module_open_bytes(context, data.data(), data.size(), nullptr, module);
  });
}

std::shared_ptr<LoadedWorld> MakeWorld(const std::shared_ptr<LoadedModule>& of, uint64_t seed) {
  auto made = std::make_shared<LoadedWorld>();
  made->of = of;
  kiln_world_options options{};
  options.size = sizeof options;
  options.seed = seed;
  Check(kiln_world_new(of->module, &options, &made->world));
  return made;
}

// ---- Results

py::object NumberFrom(kiln_dtype dtype, uint64_t slot) {
  switch (FindScalar(dtype)->kind) {
    case ScalarFacts::kFloat:
      return py::float_(kiln_slot_float(dtype, slot));
    case ScalarFacts::kBool:
      return py::bool_(slot != 0);
    case ScalarFacts::kUnsigned:
      return py::int_(slot);
    case ScalarFacts::kSigned:
      return py::int_(kiln_slot_int(dtype, slot));
  }
  return py::none();
}

// A number, or a tuple of the numbers of a tensor or struct, row by row.
py::object ResultFrom(const kiln_param& result, const std::vector<uint64_t>& slots) {
  const bool is_number = result.element_ndim == 0 && result.dtype != KILN_NO_DTYPE;
  if (is_number) return NumberFrom(result.dtype, slots.at(result.first_slot));
  py::tuple numbers(result.count);
  for (uint32_t i = 0; i < result.count; ++i) {
    const kiln_dtype dtype = result.dtypes != nullptr ? result.dtypes[i] : result.dtype;
    numbers[i] = NumberFrom(dtype, slots.at(result.first_slot + i));
  }
  return std::move(numbers);
}

// ---- Kernels and fields of a world

// Calls `launch` without the interpreter's lock. Where arguments have been handed over
// (Memory::HandOver), it keeps that until the launch has started. What kernels printed goes to
// sys.stdout.
template <typename Launch>
void Run(const ModuleArguments& arguments, const Launch& launch) {
  std::string printed;
  kiln_launch_options options{};
  options.size = sizeof options;
  options.print = [](void* self, const char* text, size_t bytes) {
    static_cast<std::string*>(self)->append(text, bytes);
  };
  options.print_self = &printed;
  kiln_status status;
  {
    Unlocked unlocked;
    options.waits = [](void* self) { static_cast<Unlocked*>(self)->Begin(); };
    options.waits_self = &unlocked;
    if (!arguments.HandOver()) unlocked.Begin();
    status = launch(options);
  }
  if (!printed.empty()) py::print(printed, py::arg("end") = "");
  Check(status);
}

class ModuleKernelObject {
 public:
  ModuleKernelObject(std::shared_ptr<LoadedWorld> world, const std::string& name)
      : world_(std::move(world)), kernel_(kiln_module_kernel(world_->of->module, name.c_str())) {
    if (kernel_ == nullptr) Check(KILN_NOT_FOUND);
    device_ = world_->of->device();
    signature_.size = sizeof signature_;
    Check(kiln_kernel_signature(kernel_, &signature_));
    params_.resize(signature_.params);
    for (size_t i = 0; i < params_.size(); ++i) {
      params_[i].size = sizeof params_[i];
      Check(kiln_kernel_param(kernel_, i, &params_[i]));
    }
    results_.resize(signature_.results);
    for (size_t i = 0; i < results_.size(); ++i) {
      results_[i].size = sizeof results_[i];
      Check(kiln_kernel_result(kernel_, i, &results_[i]));
    }
  }

  std::string text() const { return signature_.text; }

  // The shape of each result that is a tensor; None for others.
  py::list ResultShapes() const {
    py::list shapes;
    for (const kiln_param& result : results_) {
      if (result.element_ndim == 0) {
        shapes.append(py::none());
      } else {
        shapes.append(py::tuple(py::cast(std::vector<uint64_t>(
            result.element_shape, result.element_shape + result.element_ndim))));
      }
    }
    return shapes;
  }

  py::tuple Call(const py::args& args) const {
    // The library says how many it takes.
    const size_t known = std::min(args.size(), params_.size());
    ModuleArguments arguments(device_, "kernel", signature_.name, known);
    std::vector<kiln_arg> given(args.size());
    for (size_t i = 0; i < known; ++i) {
      given[i] = arguments.Add(args[i], params_[i]);
    }
    std::vector<uint64_t> slots(signature_.result_slots);
    Run(arguments, [&](const kiln_launch_options& options) {
      return kiln_launch(kernel_, world_->world, given.data(), given.size(), slots.data(),
                         &options);
    });
    arguments.Release();
    py::tuple results(results_.size());
    for (size_t i = 0; i < results_.size(); ++i) results[i] = ResultFrom(results_[i], slots);
    return results;
  }

 private:
  std::shared_ptr<LoadedWorld> world_;
  const kiln_kernel* kernel_;
  kiln_signature signature_{};
  std::vector<kiln_param> params_, results_;
  Device* device_;
};

// Names by a function that has an end.
template <typename NameAt>
std::vector<std::string> Names(const NameAt& name_at) {
  std::vector<std::string> names;
  for (size_t i = 0; const char* name = name_at(i); ++i) names.emplace_back(name);
  return names;
}

std::vector<std::string> KernelNames(const LoadedModule& of) {
  return Names([&](size_t i) -> const char* {
    const kiln_kernel* kernel = kiln_module_kernel_at(of.module, i);
    if (kernel == nullptr) return nullptr;
    kiln_signature signature{};
    signature.size = sizeof signature;
    Check(kiln_kernel_signature(kernel, &signature));
    return signature.name;
  });
}

std::vector<std::string> GraphNames(const LoadedModule& of) {
  return Names([&](size_t i) -> const char* {
    const kiln_graph* graph = kiln_module_graph_at(of.module, i);
    return graph == nullptr ? nullptr : kiln_graph_name(graph);
  });
}

std::vector<std::string> FieldNames(const LoadedModule& of) {
  return Names([&](size_t i) -> const char* {
    kiln_field field{};
    field.size = sizeof field;
    return kiln_module_field_at(of.module, i, &field) == KILN_OK ? field.name : nullptr;
  });
}

// (dtype's number, shape, element shape, first indices, bytes, is sparse)
py::tuple DescribeField(const LoadedModule& of, const std::string& name) {
  kiln_field field{};
  field.size = sizeof field;
  Check(kiln_module_field(of.module, name.c_str(), &field));
  const auto tuple = [](const auto* numbers, uint32_t count) {
    py::tuple made(count);
    for (uint32_t i = 0; i < count; ++i) made[i] = numbers[i];
    return made;
  };
  return py::make_tuple(field.dtype, tuple(field.shape, field.ndim),
                        tuple(field.element_shape, field.element_ndim),
                        tuple(field.first, field.ndim), field.bytes, field.is_sparse != 0);
}

// Calls `copy` without the interpreter's lock.
template <typename Copy>
void CopyField(const Copy& copy) {
  kiln_status status;
  {
    const GilReleased release;
    status = copy();
  }
  Check(status);
}

void ReadField(const LoadedWorld& world, const std::string& name, const py::buffer& to) {
  const py::buffer_info info = to.request(/*writable=*/true);
  CopyField([&] {
    return kiln_field_read(world.world, name.c_str(), info.ptr,
                           static_cast<size_t>(info.size * info.itemsize));
  });
}

void WriteField(const LoadedWorld& world, const std::string& name, const py::buffer& from) {
  const py::buffer_info info = from.request();
  CopyField([&] {
    return kiln_field_write(world.world, name.c_str(), info.ptr,
                            static_cast<size_t>(info.size * info.itemsize));
  });
}

void RunGraph(const LoadedWorld& world, const std::string& name, const py::dict& args) {
  const kiln_graph* graph = kiln_module_graph(world.of->module, name.c_str());
  if (graph == nullptr) Check(KILN_NOT_FOUND);
  ModuleArguments arguments(world.of->device(), "graph", name.c_str(), args.size());
  std::vector<std::string> names;
  names.reserve(args.size());
  std::vector<kiln_named_arg> given;
  for (const auto& [key, value] : args) {
    names.push_back(py::cast<std::string>(key));
    kiln_param param{};
    param.size = sizeof param;
    for (size_t i = 0; kiln_graph_param(graph, i, &param) == KILN_OK; ++i) {
      if (names.back() != param.name) continue;
      given.push_back({names.back().c_str(), arguments.Add(value, param)});
    }
  }
  Run(arguments, [&](const kiln_launch_options& options) {
    return kiln_graph_run(graph, world.world, given.data(), given.size(), &options);
  });
  arguments.Release();
}

std::shared_ptr<const ModuleFile> OpenFile(const std::string& path) {
  Result<std::shared_ptr<const ModuleFile>> file = ModuleFile::Open(path);
  if (file.ok()) return *std::move(file);
  const Error& error = file.error();
  PyErr_SetObject(module_error, py::make_tuple(static_cast<int>(error.code), error.text).ptr());
  throw py::error_already_set();
}

// What `kiln module` shows of a file, which any machine may ask.
py::dict Describe(const std::string& path) {
  const std::shared_ptr<const ModuleFile> file = OpenFile(path);
  const std::shared_ptr<const Module> module = Module::Describe(file);
  const ModuleTables& tables = module->tables();
  py::dict kernels, fields, graphs, facts;
  for (const ModuleKernel& kernel : module->kernels()) {
    kernels[py::str(kernel.name)] = capi::SignatureOf(kernel);
  }
  for (const ModuleField& field : module->fields()) {
    fields[py::str(field.name)] = capi::TextOf(field);
  }
  for (const ModuleGraph& graph : module->graphs()) {
    graphs[py::str(graph.name)] = capi::SignatureOf(graph);
  }
  for (uint32_t i = 0; i < tables.Count<module::Fact>(); ++i) {
    const auto fact = tables.Get<module::Fact>(i);
    facts[py::str(std::string(tables.TextOf(fact.name)))] = std::string(tables.TextOf(fact.value));
  }
  py::list targets;
  for (const Target target : TargetsOf(tables)) targets.append(target.text());
  const module::Header& header = tables.header();
  py::dict made;
  made["name"] = std::string(module->name());
  made["format"] = std::to_string(header.major) + "." + std::to_string(header.minor);
  made["module_abi"] = header.module_abi;
  made["tree_abi"] = header.tree_abi;
  made["cuda_abi"] = header.cuda_abi;
  made["bytes"] = file->bytes();
  made["targets"] = targets;
  made["kernels"] = kernels;
  made["fields"] = fields;
  made["graphs"] = graphs;
  made["facts"] = facts;
  return made;
}

py::tuple TypeTuple(const ValueShape& value) {
  return py::make_tuple(value.scalar, value.scalars, value.shape);
}

// What a generated header needs of a file: (signatures, kernels, fields). A kernel is (name,
// whether it needs a world, parameters, types of results); a parameter (name, whether it is an
// array, type, rank, whether it is written); a type (scalar, scalars of a struct, shape); a field
// (name, type, axes).
py::tuple TypesOf(const std::string& path) {
  const std::shared_ptr<const Module> module = Module::Describe(OpenFile(path));
  py::list signatures, kernels, fields;
  for (const uint64_t part : module->tables().header().signatures) signatures.append(part);
  for (const ModuleKernel& kernel : module->kernels()) {
    py::list params, results;
    for (const ModuleParam& param : kernel.params) {
      params.append(py::make_tuple(param.name, param.is_array, TypeTuple(param.value), param.rank,
                                   param.writes));
    }
    for (const ModuleResult& result : kernel.results) results.append(TypeTuple(result.value));
    kernels.append(py::make_tuple(kernel.name, kernel.has_data, params, results));
  }
  for (const ModuleField& field : module->fields()) {
    if (field.is_sparse || field.only_kernels != nullptr) continue;  // they are no arrays in memory
    ValueShape element;
    element.scalar = field.scalar;
    element.shape = field.element;
    fields.append(py::make_tuple(field.name, TypeTuple(element), field.shape.size()));
  }
  return py::make_tuple(signatures, kernels, fields);
}

}  // namespace

void BindModule(py::module_& m) {
  static py::exception<LoadedModule> error(m, "ModuleError");
  module_error = error.ptr();
  m.def("module_types", &TypesOf, py::arg("path"));
  m.def("describe_module", &Describe, py::arg("path"));
  py::class_<LoadedModule, std::shared_ptr<LoadedModule>>(m, "LoadedModule")
      .def(py::init(&OpenBytes), py::arg("bytes"), py::arg("device"))
      .def(py::init(&Open), py::arg("path"), py::arg("device"))
      .def_property_readonly("name",
                             [](const LoadedModule& of) { return kiln_module_name(of.module); })
      .def_property_readonly("target",
                             [](const LoadedModule& of) { return kiln_module_target(of.module); })
      .def("kernels", &KernelNames)
      .def("graphs", &GraphNames)
      .def("fields", &FieldNames)
      .def("field", &DescribeField, py::arg("name"));
  py::class_<LoadedWorld, std::shared_ptr<LoadedWorld>>(m, "LoadedWorld")
      .def(py::init(&MakeWorld), py::arg("module"), py::arg("seed"))
      .def("kernel",
           [](std::shared_ptr<LoadedWorld> world, const std::string& name) {
             return ModuleKernelObject(std::move(world), name);
           })
      .def("read", &ReadField, py::arg("name"), py::arg("array"))
      .def("write", &WriteField, py::arg("name"), py::arg("array"))
      .def("run_graph", &RunGraph, py::arg("name"), py::arg("args"))
      .def("seed", [](const LoadedWorld& world, uint64_t seed) {
        Check(kiln_world_seed(world.world, seed));
      });
  py::class_<ModuleKernelObject>(m, "ModuleKernel")
      .def("__call__", &ModuleKernelObject::Call)
      .def("result_shapes", &ModuleKernelObject::ResultShapes)
      .def_property_readonly("signature", &ModuleKernelObject::text);
}

}  // namespace kiln
