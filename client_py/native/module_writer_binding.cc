#include "client_py/native/module_writer_binding.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "client_cpp/instance.h"
#include "client_cpp/module/module_writer.h"
#include "client_cpp/session.h"
#include "client_py/native/gil.h"
#include "client_py/native/id_caster.h"
#include "client_py/native/instance_binding.h"
#include "client_py/native/message_fields.h"
#include "client_py/native/status_error.h"
#include "client_py/native/storage_object.h"
#include "client_py/native/tree_object.h"
#include "common/artifact/entry.h"
#include "common/artifact/target_proto.h"
#include "kiln/kiln.h"
#include "runtime/slot.h"

namespace kiln {

namespace py = pybind11;

namespace {

// Most compilations of a module that wait for the daemon at the same time.
constexpr size_t kCompilations = 8;

// (scalar, scalars of a struct, shape, kiln_param.texels)
using TypeTuple = std::tuple<int, std::vector<int>, std::vector<uint64_t>, uint32_t>;
// (name, whether it is an array, type, rank)
using ParamTuple = std::tuple<std::string, bool, TypeTuple, uint32_t>;

ExportedType TypeFrom(const TypeTuple& given) {
  const auto& [scalar, scalars, shape, texels] = given;
  ExportedType type;
  type.scalar = static_cast<Scalar>(scalar);
  for (const int one : scalars) type.scalars.push_back(static_cast<Scalar>(one));
  type.shape = shape;
  if (texels != KILN_NO_TEXELS) type.texels |= module::Param::kTexture;
  if (texels == KILN_FRACTIONS) type.texels |= module::Param::kFractions;
  return type;
}

ExportedParam ParamFrom(const ParamTuple& given) {
  const auto& [name, is_array, type, rank] = given;
  return {name, is_array, TypeFrom(type), rank};
}

// For each base of a dense storage the bytes from there to the end of the field.
std::vector<uint64_t> BytesFromBases(const FieldStorage& storage) {
  proto::Storage descriptor;
  if (!descriptor.ParseFromString(storage.descriptor)) throw std::runtime_error("no descriptor");
  const proto::DenseStorage& dense = descriptor.dense();
  std::vector<uint64_t> bytes(storage.bases.size());
  const uint64_t scalar =
      descriptor.has_word() ? descriptor.word().bits() / 8 : ScalarBytes(storage.access.scalar());
  for (const proto::Component& component : dense.components()) {
    uint64_t& end = bytes.at(component.base());
    end = std::max(end, component.bit_offset() / 8 + scalar);
  }
  for (int b = 0; b < static_cast<int>(bytes.size()); ++b) {
    for (int d = 0; d < dense.digits_size(); ++d) {
      const uint64_t extent = dense.digits(d).extent() != 0
                                  ? dense.digits(d).extent()
                                  : static_cast<uint64_t>(storage.extents.at(0));
      const uint64_t stride = b < dense.base_strides_size() ? dense.base_strides(b).stride(d)
                                                            : dense.digits(d).stride();
      bytes[b] += (extent - 1) * stride;
    }
  }
  return bytes;
}

// A module that is being exported.
class Exporter {
 public:
  explicit Exporter(std::string name) : writer_(std::move(name)) {}

  // The tree's number: the same for the same tree. `contents`: what it begins with in each world.
  int AddTree(const std::shared_ptr<TreeObject>& tree, const std::vector<std::string>& names,
              std::string contents) {
    const auto known = std::find(trees_.begin(), trees_.end(), tree);
    if (known != trees_.end()) return static_cast<int>(known - trees_.begin());
    trees_.push_back(tree);
    return writer_.AddTree(tree->layout().shape(), names, std::move(contents));
  }

  void AddField(const std::string& name, const std::shared_ptr<FieldStorage>& storage,
                const std::vector<std::pair<std::shared_ptr<TreeObject>, int>>& places,
                const std::string& gradient, bool is_reordered) {
    ExportedField field;
    field.name = name;
    field.scalar = storage->access.scalar();
    field.shape.assign(storage->shape.begin(), storage->shape.end());
    field.element.assign(storage->element_shape.begin(), storage->element_shape.end());
    for (int axis = 0; axis < storage->access.ndim(); ++axis) {
      field.offsets.push_back(storage->access.offset(axis));
    }
    field.gradient = gradient;
    field.is_reordered = is_reordered;
    for (const auto& [tree, place] : places) {
      field.components.push_back({NumberOf(tree), place, tree->layout().VirtualAxes(place)});
      field.is_sparse |= !tree->layout().IsAllDense(place);
      const int parent = tree->layout()[place].parent;
      field.is_quantised |= tree->layout()[parent].kind->is_word();
    }
    RaiseIfError(writer_.AddField(std::move(field)));
  }

  // `sources`: for each parameter of the unit the number of the caller's, or the field's storage.
  void AddKernel(const std::string& name, const FinishedUnit& unit,
                 const std::vector<ParamTuple>& params, const std::vector<TypeTuple>& results,
                 const py::sequence& sources) {
    ExportedKernel kernel;
    kernel.name = name;
    for (const ParamTuple& param : params) kernel.params.push_back(ParamFrom(param));
    for (const TypeTuple& result : results) kernel.results.push_back(TypeFrom(result));
    std::vector<const FieldStorage*> storages;
    for (py::handle source : sources) {
      ExportedKernel::Source& made = kernel.sources.emplace_back();
      if (py::isinstance<py::int_>(source)) {
        made.param = py::cast<int>(source);
        continue;
      }
      const auto& storage = py::cast<const FieldStorage&>(source);
      storages.push_back(&storage);
      if (storage.trees.empty()) AddDense(storage, &made);
    }
    for (const ReachedPart& part : ReachedParts(storages)) {
      kernel.parts.push_back({NumberOf(part.tree), part.root_offset, part.nodes});
    }
    kernel.writes = unit.writes;
    kernel.unit = unit.unit;
    kernel.source_map = unit.source_map;
    for (std::string& file : *kernel.source_map.mutable_files()) {
      file.erase(0, file.rfind('/') + 1);  // no module depends on where its program was
    }
    pending_.push_back(std::move(kernel));
  }

  // Compiles all kernels that were added since the last call, for each of `targets`. CompileFailed,
  // and the name of the kernel in `failed`, if the compiler finds errors.
  void Compile(Session& session, const std::vector<std::string>& targets, uint32_t glibc) {
    std::vector<Target> parsed;
    for (const std::string& text : targets) {
      const std::optional<Target> target = Target::Parse(text);
      const auto is_one_of = [&](const std::vector<Target>& all) {
        return target.has_value() && std::find(all.begin(), all.end(), *target) != all.end();
      };
      if (!is_one_of(CompiledTargets()) && !is_one_of(CompiledCudaTargets())) {
        throw py::value_error("target '" + text + "': one of " + CompiledTargetTexts() + ", " +
                              CompiledCudaTargetTexts() + " expected");
      }
      parsed.push_back(*target);
    }
    // Processors first, and the least first of each kind.
    const auto rank = [](Target target) {
      return std::tuple(target.device() == Target::Device::kCuda, target.ptx_only(),
                        target.level());
    };
    std::sort(parsed.begin(), parsed.end(), [&](Target a, Target b) { return rank(a) < rank(b); });
    parsed.erase(std::unique(parsed.begin(), parsed.end()), parsed.end());
    for (ExportedKernel& kernel : pending_) kernel.code.resize(parsed.size());
    const std::optional<Failure> failure = [&] {
      const GilReleased release;
      return CompileAll(session, parsed, glibc);
    }();
    if (failure.has_value()) {
      failed_ = failure->kernel;
      if (!failure->diagnostics.empty()) RaiseCompileFailed(failure->diagnostics);
      RaiseIfError(failure->status);
    }
    for (ExportedKernel& kernel : pending_) RaiseIfError(writer_.AddKernel(std::move(kernel)));
    pending_.clear();
  }

  void AddGraph(const std::string& name, const std::vector<ParamTuple>& args,
                const std::vector<std::tuple<std::string, std::vector<int>, py::list>>& launches) {
    ExportedGraph graph;
    graph.name = name;
    for (const ParamTuple& arg : args) graph.args.push_back(ParamFrom(arg));
    for (const auto& [kernel, numbers, constants] : launches) {
      ExportedGraph::Launch& launch = graph.launches.emplace_back();
      launch.kernel = kernel;
      launch.args = numbers;
      for (py::handle one : constants) launch.constants.push_back(SlotFrom(one));
    }
    RaiseIfError(writer_.AddGraph(std::move(graph)));
  }

  // The module's file or, for static linking, its object.
  py::bytes Link(Session& session, bool is_static) {
    const auto form = is_static ? proto::LinkRequest::OBJECT : proto::LinkRequest::SHARED;
    proto::LinkRequest request = ValueOrRaise(writer_.Link(form));
    absl::StatusOr<proto::LinkReply> linked = [&] {
      const GilReleased release;
      return session.Link(std::move(request));
    }();
    std::string object = std::move(*ValueOrRaise(std::move(linked)).mutable_file());
    if (is_static) return py::bytes(object);
    return py::bytes(ValueOrRaise(FinishModule(std::move(object))));
  }

  ModuleWriter& writer() { return writer_; }
  const std::string& failed() const { return failed_; }

 private:
  struct Failure {
    std::string kernel;
    absl::Status status;
    std::vector<LocatedDiagnostic> diagnostics;
  };

  int NumberOf(const std::shared_ptr<TreeObject>& tree) const {
    const auto known = std::find(trees_.begin(), trees_.end(), tree);
    if (known == trees_.end()) throw py::value_error("a field of a tree that was not added");
    return static_cast<int>(known - trees_.begin());
  }

  void AddDense(const FieldStorage& storage, ExportedKernel::Source* source) const {
    for (size_t t = 0; t < trees_.size(); ++t) {
      if (trees_[t]->memory() != storage.memory) continue;
      source->tree = static_cast<int>(t);
      const uint64_t root = trees_[t]->device_root();
      for (const uint64_t base : storage.bases) source->base_offsets.push_back(base - root);
      source->base_bytes = BytesFromBases(storage);
      source->extents.assign(storage.extents.begin(), storage.extents.end());
      return;
    }
    throw py::value_error("a field of a tree that was not added");
  }

  // (scalar, int or float) as a slot.
  static uint64_t SlotFrom(py::handle given) {
    const auto [scalar, number] = py::cast<std::pair<uint32_t, py::object>>(given);
    if (PyFloat_Check(number.ptr())) return SlotOf(scalar, py::cast<double>(number));
    if (number < py::int_(0)) return SlotOf(scalar, py::cast<int64_t>(number));
    return SlotOf(scalar, py::cast<uint64_t>(number));
  }

  // The first failure of all, in the order of the kernels.
  std::optional<Failure> CompileAll(Session& session, const std::vector<Target>& targets,
                                    uint32_t glibc) {
    const size_t jobs = pending_.size() * targets.size();
    std::vector<std::optional<Failure>> failures(jobs);
    std::atomic<size_t> next{0};
    std::atomic<bool> has_failed{false};
    const auto work = [&] {
      for (size_t job; !has_failed && (job = next.fetch_add(1)) < jobs;) {
        failures[job] = CompileOne(session, targets, glibc, job);
        if (failures[job].has_value()) has_failed = true;
      }
    };
    std::vector<std::thread> threads;
    for (size_t t = 1; t < std::min(jobs, kCompilations); ++t) threads.emplace_back(work);
    work();
    for (std::thread& thread : threads) thread.join();
    for (std::optional<Failure>& failure : failures) {
      if (failure.has_value()) return std::move(failure);
    }
    return {};
  }

  std::optional<Failure> CompileOne(Session& session, const std::vector<Target>& targets,
                                    uint32_t glibc, size_t job) {
    ExportedKernel& kernel = pending_[job / targets.size()];
    const size_t level = job % targets.size();
    proto::CompileUnit unit = kernel.unit;
    SetTarget(targets[level], unit.mutable_target());
    // An image is what programs with arch=cuda use, too.
    if (targets[level].device() == Target::Device::kCpu) {
      unit.mutable_options()->set_relocatable(true);
      unit.mutable_target()->set_glibc(glibc);
    }
    Failure failure{kernel.name, {}, {}};
    const auto failed = [&](const absl::Status& status) {
      failure.status =
          absl::Status(status.code(), "kernel '" + kernel.name + "' for " + targets[level].text() +
                                          ": " + std::string(status.message()));
      return failure;
    };
    absl::StatusOr<EntryOutcome> outcome = session.FetchEntry(std::move(unit), kernel.source_map);
    if (!outcome.ok()) return failed(outcome.status());
    if (outcome->entry.empty()) {
      failure.diagnostics = Located(outcome->diagnostics, kernel.source_map);
      return failure;
    }
    absl::StatusOr<EntryView> entry = DecodeEntry(outcome->entry);
    if (!entry.ok()) return failed(entry.status());
    kernel.code[level].object = std::string(entry->payload);
    kernel.code[level].info = std::move(entry->info);
    return {};
  }

  ModuleWriter writer_;
  std::vector<std::shared_ptr<TreeObject>> trees_;  // by number
  std::vector<ExportedKernel> pending_;
  std::string failed_;
};

}  // namespace

void BindModuleWriter(py::module_& m) {
  py::class_<Exporter>(m, "ModuleWriter")
      .def(py::init<std::string>(), py::arg("name"))
      .def("add_tree", &Exporter::AddTree, py::arg("tree"), py::arg("names"), py::arg("contents"))
      .def("add_field", &Exporter::AddField, py::arg("name"), py::arg("storage"), py::arg("places"),
           py::arg("gradient"), py::arg("is_reordered"))
      .def("add_kernel", &Exporter::AddKernel, py::arg("name"), py::arg("unit"), py::arg("params"),
           py::arg("results"), py::arg("sources"))
      .def("add_graph", &Exporter::AddGraph, py::arg("name"), py::arg("args"), py::arg("launches"))
      .def("add_fact",
           [](Exporter& exporter, std::string name, std::string value) {
             exporter.writer().AddFact(std::move(name), std::move(value));
           })
      .def("compile", &Exporter::Compile, py::arg("session"), py::arg("targets"), py::arg("glibc"))
      .def("link", &Exporter::Link, py::arg("session"), py::arg("is_static"))
      .def_property_readonly("failed", &Exporter::failed);
}

}  // namespace kiln
