// Programs of compile.h: kernels with arguments, over Session and Launcher.
#include "client_cpp/dsl/program.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "client_cpp/dsl/handles.h"
#include "client_cpp/dsl/service.h"
#include "client_cpp/launch.h"
#include "client_cpp/runtime_status.h"
#include "client_cpp/tape.h"
#include "common/base/status_macros.h"
#include "common/language/type.h"
#include "runtime/cpu_device.h"

namespace kiln::dsl {
namespace {

// The errors of a kernel, a line each.
absl::Status ErrorsOf(const std::string& name, const InstanceOutcome& made) {
  std::string text;
  for (const LocatedDiagnostic& one : made.diagnostics) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", name, ": ", one.diagnostic.message(),
                    PositionText(one.positions));
  }
  return absl::InvalidArgumentError(text);
}

// Puts the nodes where kernels find them: they follow the pointers in the table.
absl::Status PlaceNodes(Device* device, kiln_program::Root* root) {
  root->nodes = root->host_nodes.data();
  if (device == &CpuDevice() || root->host_nodes.empty()) return absl::OkStatus();
  const uint64_t bytes = root->host_nodes.size() * sizeof(KilnNode*);
  ASSIGN_OR_RETURN(root->nodes_on_device, ToStatusOr(device->Allocate(bytes)));
  uint8_t* const there = root->nodes_on_device->data();
  device->CopyIn(there, static_cast<const void*>(root->nodes), bytes);
  root->nodes = reinterpret_cast<KilnNode* const*>(there);
  return absl::OkStatus();
}

absl::Status TakeTrees(const kiln_trace& trace, absl::Span<const ReachedTree> parts,
                       kiln_program* program) {
  program->tree_inputs = trace.tree_inputs;
  program->trees = trace.trees;
  for (const ReachedTree& part : parts) {
    const FieldTree& tree = *trace.trees[part.tree];
    auto root = std::make_shared<kiln_program::Root>();
    root->cell = tree.root() + part.root_offset;
    root->host_nodes = tree.NodesOf(part);
    RETURN_IF_ERROR(PlaceNodes(program->device, root.get()));
    program->roots.push_back(std::move(root));
  }
  return absl::OkStatus();
}

CompileSettings SettingsFor(const std::string& name, const kiln_trace& trace,
                            const Compiling& compiling) {
  CompileSettings settings;
  settings.name = name;
  settings.code = compiling.code;
  if (trace.device != &CpuDevice()) settings.target = trace.device->target();
  for (const auto& [field, param] : trace.fields) {
    if (field->grad() != nullptr) settings.gradients.push_back(param);
  }
  for (const kiln_trace::TreeInput& input : trace.tree_inputs) {
    if (input.gradient_snode < 0) continue;
    settings.gradients.push_back(input.param);
    settings.tree_gradients.emplace_back(input.param, input.gradient.storage);
  }
  return settings;
}

// Such as a step of an optimiser. Most such kernels are never differentiated.
bool UsesFieldAndGradient(const kiln_trace& trace) {
  const auto has = [](const auto& inputs, const auto& are) {
    return absl::c_any_of(inputs, [&](const auto& one) {
      return absl::c_any_of(inputs, [&](const auto& other) { return are(one, other); });
    });
  };
  return has(trace.fields,
             [](const auto& one, const auto& other) { return other.first == one.first->grad(); }) ||
         has(trace.tree_inputs, [](const auto& one, const auto& other) {
           return one.tree == other.tree && one.gradient_snode == static_cast<int>(other.snode);
         });
}

absl::Status WhyNoGradient(const kiln_trace& trace) {
  if (!UsesFieldAndGradient(trace)) return absl::OkStatus();
  return absl::FailedPreconditionError("the kernel uses a field and that field's gradient");
}

void Set(ParamId param, uint32_t element, kiln_program::Number number, Launcher* launcher) {
  std::visit([&](auto value) { launcher->Set(param, value, element); }, number);
}

// Gives a version its arguments.
void BindAll(kiln_program* program) {
  Launcher& launcher = *program->current->launcher;
  for (const auto& [field, param] : program->fields) launcher.Bind(param, *field);
  for (const kiln_trace::TreeInput& input : program->tree_inputs) {
    launcher.Bind(input.param, input.field, input.gradient_snode < 0 ? nullptr : &input.gradient);
  }
  for (uint32_t i = 0; i < program->roots.size(); ++i) {
    launcher.BindTree(i, program->roots[i]->cell, program->roots[i]->nodes);
  }
  for (const auto& [at, number] : program->values) Set(at.first, at.second, number, &launcher);
  for (const auto& [param, array] : program->arrays) {
    if (array.is_set) BindArray(param, array, program);
  }
}

// Compiles the kernel with its gradient, unless it has none: such a kernel may still be run.
absl::StatusOr<kiln_program::Version> MakeVersion(const std::vector<ParamId>& arrays,
                                                  const kiln_program& program) {
  kiln_program::Version version;
  CompileSettings settings = program.settings;
  settings.gradients.insert(settings.gradients.end(), arrays.begin(), arrays.end());
  version.gradient = program.no_gradient;
  if (settings.gradients.empty()) {
    version.gradient = absl::FailedPreconditionError(
        "no field that the kernel uses, and no array that it is given, has a gradient");
  }
  if (version.gradient.ok()) {
    auto made = MakeInstance(*program.session, program.unit, settings);
    if (made.ok() && made->instance != nullptr) version.instance = made->instance;
    version.gradient = made.ok() ? absl::OkStatus() : made.status();
    if (made.ok() && made->instance == nullptr) version.gradient = ErrorsOf(program.name, *made);
  }
  if (version.instance == nullptr) {
    settings.gradients.clear();
    settings.tree_gradients.clear();
    ASSIGN_OR_RETURN(const InstanceOutcome made,
                     MakeInstance(*program.session, program.unit, settings));
    if (made.instance == nullptr) return ErrorsOf(program.name, made);
    version.instance = made.instance;
  }
  version.launcher = std::make_unique<Launcher>(version.instance);
  return version;
}

bool HasArraysOfFloats(const kiln_trace& trace) {
  return absl::c_any_of(trace.arrays,
                        [](const auto& array) { return IsFloat(array.second.scalar()); });
}

absl::Status Compile(const std::string& name, kiln_trace* trace, kiln_program* program) {
  RETURN_IF_ERROR(trace->failure);
  ASSIGN_OR_RETURN(const Compiling compiling, CurrentCompiling());
  program->name = name;
  program->session = compiling.session;
  program->device = trace->device;
  program->max_threads = compiling.max_threads;
  program->settings = SettingsFor(name, *trace, compiling);
  program->uses_gradients = !program->settings.gradients.empty();
  program->no_gradient = WhyNoGradient(*trace);
  ASSIGN_OR_RETURN(program->unit, FinishUnit(&trace->builder, program->settings));
  program->fields = trace->fields;
  for (const auto& [param, element] : trace->arrays) program->arrays[param].element = element;
  RETURN_IF_ERROR(UseVersion({}, program));
  const Device* const of_code = program->current->instance->kernel()->device();
  if (of_code != nullptr && of_code != trace->device) {
    return absl::FailedPreconditionError("another device was chosen while the kernel was traced");
  }
  RETURN_IF_ERROR(TakeTrees(*trace, program->unit.trees, program));
  BindAll(program);
  if (!HasArraysOfFloats(*trace)) program->unit = {};  // there are no other versions
  return absl::OkStatus();
}

kiln_status RunAndTell(RunOf what, kiln_program* program) {
  const absl::Status done = Run(what, program);
  // A body may overlook it.
  if (!done.ok() && Tape::Active() != nullptr) Tape::Active()->Fail(done);
  return Told(done);
}

void SetValue(kiln_program* program, ParamId param, uint32_t element, kiln_program::Number number) {
  program->values[{param, element}] = number;
  Set(param, element, number, program->current->launcher.get());
}

bool IsOnDevice(const kiln_program& program, uint8_t* begin, uint64_t bytes) {
  return bytes > 0 && program.device != &CpuDevice() &&
         program.device->Borrow(begin, bytes, false).ok();
}

absl::Status SetArray(kiln_program* program, ParamId param, void* data, void* gradient,
                      absl::Span<const uint64_t> shape) {
  const auto known = program->arrays.find(param);
  if (known == program->arrays.end()) {
    program->current->launcher->Bind(param, data, shape);  // the run says so
    return absl::OkStatus();
  }
  kiln_program::Array& given = known->second;
  if (gradient != nullptr && !IsFloat(given.element.scalar())) {
    return absl::InvalidArgumentError(absl::StrCat("the array for parameter ", param.number(),
                                                   " has a gradient, and is not one of floats"));
  }
  given.begin = static_cast<uint8_t*>(data);
  given.gradient = static_cast<uint8_t*>(gradient);
  given.shape.assign(shape.begin(), shape.end());
  given.bytes = ElementBytes(given.element);
  for (const uint64_t extent : shape) given.bytes *= extent;
  given.is_set = true;
  given.field = nullptr;
  given.is_on_device = IsOnDevice(*program, given.begin, given.bytes);
  BindArray(param, given, program);
  if (gradient == nullptr || given.bytes == 0 ||
      IsOnDevice(*program, given.gradient, given.bytes) == given.is_on_device) {
    return absl::OkStatus();
  }
  given.is_set = false;
  return absl::InvalidArgumentError(
      absl::StrCat("the array for parameter ", param.number(),
                   " and its gradient are not both in memory of the host or of the device"));
}

absl::Status SetField(kiln_program* program, ParamId param,
                      const std::shared_ptr<DenseField>& field) {
  const auto known = program->arrays.find(param);
  if (known == program->arrays.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("parameter ", param.number(), " is not an array"));
  }
  const Device& device = *field->device();
  if (&device != program->device) {
    return absl::InvalidArgumentError(
        absl::StrCat("the field for parameter ", param.number(), " is on ", NameOf(device),
                     ", the kernel is for ", NameOf(*program->device)));
  }
  kiln_program::Array& given = known->second;
  const proto::Type& element = field->storage().element();
  if (element.SerializeAsString() != given.element.SerializeAsString()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the field for parameter ", param.number(), " has elements of another type"));
  }
  given.begin = reinterpret_cast<uint8_t*>(field->bases()[0]);
  given.gradient = nullptr;
  given.bytes = field->bytes();
  given.is_set = true;
  given.is_on_device = true;
  given.field = field;
  BindArray(param, given, program);
  return absl::OkStatus();
}

}  // namespace

absl::Status UseVersion(const std::vector<ParamId>& arrays, kiln_program* program) {
  const auto [at, is_new] = program->versions.try_emplace(arrays);
  if (is_new) {
    absl::StatusOr<kiln_program::Version> made = MakeVersion(arrays, *program);
    if (!made.ok()) {
      program->versions.erase(at);
      return made.status();
    }
    at->second = *std::move(made);
  }
  if (program->current == &at->second) return absl::OkStatus();
  program->current = &at->second;
  BindAll(program);
  return absl::OkStatus();
}

void BindArray(ParamId param, const kiln_program::Array& array, kiln_program* program) {
  Launcher& launcher = *program->current->launcher;
  if (array.field != nullptr) {
    launcher.BindAsArray(param, *array.field);
  } else {
    launcher.Bind(param, array.begin, array.shape, {array.gradient, nullptr});
  }
}

}  // namespace kiln::dsl

using namespace kiln::dsl;  // NOLINT(google-build-using-namespace): the functions of one header

kiln_status kiln_program_new(kiln_trace* trace, const char* name, kiln_program** program) {
  if (trace == nullptr) return Null("kiln_program_new", "trace");
  if (name == nullptr) return Null("kiln_program_new", "name");
  if (program == nullptr) return Null("kiln_program_new", "program");
  auto made = std::make_unique<kiln_program>();
  const absl::Status status = Compile(name, trace, made.get());
  if (status.ok()) *program = made.release();
  return Told(status);
}

void kiln_program_free(kiln_program* program) { delete program; }

const char* kiln_program_tier(const kiln_program* program) {
  return program->versions.begin()->second.instance->outcome().tier.c_str();
}
const char* kiln_program_key(const kiln_program* program) {
  return program->current->instance->outcome().digest.c_str();
}

void kiln_program_set_float(kiln_program* program, kiln_input value, uint32_t element,
                            double number) {
  SetValue(program, kiln::ParamId(value.number), element, number);
}

void kiln_program_set_int(kiln_program* program, kiln_input value, uint32_t element,
                          int64_t number) {
  SetValue(program, kiln::ParamId(value.number), element, number);
}

void kiln_program_set_array(kiln_program* program, kiln_input array, void* data,
                            const uint64_t* shape, size_t axes) {
  const auto param = kiln::ParamId(array.number);
  SetArray(program, param, data, nullptr, {shape, axes}).IgnoreError();  // only gradients fail
}

kiln_status kiln_program_set_array_with_gradient(kiln_program* program, kiln_input array,
                                                 void* data, void* gradient, const uint64_t* shape,
                                                 size_t axes) {
  const auto param = kiln::ParamId(array.number);
  return Told(SetArray(program, param, data, gradient, {shape, axes}));
}

kiln_status kiln_program_set_field(kiln_program* program, kiln_input array,
                                   const kiln_dense* field) {
  return Told(SetField(program, kiln::ParamId(array.number), field->field));
}

kiln_status kiln_program_run(kiln_program* program) { return RunAndTell(RunOf::kKernel, program); }
kiln_status kiln_program_run_gradient(kiln_program* program) {
  return RunAndTell(RunOf::kGradient, program);
}

uint64_t kiln_program_result(const kiln_program* program, size_t index) {
  const kiln_program::Version& used = *program->current;
  if (index >= used.instance->kernel()->info().results.size()) return 0;
  return used.launcher->result<uint64_t>(static_cast<int>(index));
}
