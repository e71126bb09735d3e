// Programs of compile.h: kernels with arguments, over Session and Launcher.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "client_cpp/dsl/handles.h"
#include "client_cpp/dsl/service.h"
#include "client_cpp/instance.h"
#include "client_cpp/launcher.h"
#include "client_cpp/runtime_status.h"
#include "client_cpp/tape.h"
#include "common/base/status_macros.h"
#include "runtime/cpu_device.h"
#include "runtime/host_arrays.h"

struct kiln_program {
  std::shared_ptr<const kiln::Instance> instance;
  bool uses_gradients = false;  // a field that the kernel names has one
  absl::Status gradient;        // why the kernel has none
  kiln::Device* device = nullptr;
  int max_threads = 0;  // of launches; 0: one per CPU
  std::unique_ptr<kiln::Launcher> launcher;
  // The launcher uses their memory.
  std::vector<std::pair<std::shared_ptr<kiln::DenseField>, kiln::ParamId>> fields;
  // The argument of the next runs.
  struct Array {
    kiln::proto::Type element;
    uint8_t* begin = nullptr;
    uint64_t bytes = 0;
    std::vector<uint64_t> shape;
    bool is_on_device = false;                // no copy of the host's has to go there
    std::shared_ptr<kiln::DenseField> field;  // whose memory it is; null: the caller's
  };
  std::map<kiln::ParamId, Array> arrays;
  std::vector<std::shared_ptr<kiln::FieldTree>> trees;
  std::vector<std::vector<KilnNode*>> nodes;             // by tree of the launches
  std::vector<std::unique_ptr<kiln::Buffer>> on_device;  // copies of `nodes` there
};

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

// Where kernels find the nodes: they follow the pointers in the table.
absl::StatusOr<KilnNode* const*> TableOf(const std::vector<KilnNode*>& nodes,
                                         kiln_program* program) {
  if (program->device == &CpuDevice() || nodes.empty()) return nodes.data();
  const uint64_t bytes = nodes.size() * sizeof(KilnNode*);
  ASSIGN_OR_RETURN(std::unique_ptr<Buffer> table, ToStatusOr(program->device->Allocate(bytes)));
  program->device->CopyIn(table->data(), static_cast<const void*>(nodes.data()), bytes);
  program->on_device.push_back(std::move(table));
  return reinterpret_cast<KilnNode* const*>(program->on_device.back()->data());
}

absl::Status BindTrees(const kiln_trace& trace, absl::Span<const ReachedTree> parts,
                       kiln_program* program) {
  for (const kiln_trace::TreeInput& input : trace.tree_inputs) {
    program->launcher->Bind(input.param, input.field);
  }
  program->trees = trace.trees;
  for (const ReachedTree& part : parts) {
    program->nodes.push_back(trace.trees[part.tree]->NodesOf(part));
  }
  for (uint32_t i = 0; i < parts.size(); ++i) {
    uint8_t* const root = trace.trees[parts[i].tree]->root() + parts[i].root_offset;
    ASSIGN_OR_RETURN(KilnNode* const* const table, TableOf(program->nodes[i], program));
    program->launcher->BindTree(i, root, table);
  }
  return absl::OkStatus();
}

CompileSettings SettingsFor(const std::string& name, const kiln_trace& trace,
                            const Compiling& compiling) {
  CompileSettings settings;
  settings.name = name;
  settings.code = compiling.code;
  if (trace.device != &CpuDevice()) settings.target = trace.device->target();
  return settings;
}

// The parameters by which the kernel is differentiated.
absl::StatusOr<std::vector<ParamId>> GradientsOf(const kiln_trace& trace) {
  std::vector<ParamId> gradients;
  for (const auto& [field, param] : trace.fields) {
    if (field->grad() == nullptr) continue;
    gradients.push_back(param);
    // Such as a step of an optimiser. Most such kernels are never differentiated.
    const bool uses_it = absl::c_any_of(
        trace.fields, [&](const auto& other) { return other.first == field->grad(); });
    if (uses_it) {
      return absl::FailedPreconditionError("the kernel uses a field and that field's gradient");
    }
  }
  if (gradients.empty()) {
    return absl::FailedPreconditionError("the kernel uses no field with a gradient");
  }
  if (trace.trees.empty()) return gradients;
  return absl::UnimplementedError("the kernel uses a field of a tree; those have no gradients");
}

// With the gradient, unless there is none. A kernel that has no gradient may still be run.
absl::StatusOr<InstanceOutcome> MakeWithGradient(Session& session, const std::string& name,
                                                 FinishedUnit unit, CompileSettings settings,
                                                 kiln_program* program) {
  if (program->gradient.ok()) {
    absl::StatusOr<InstanceOutcome> made = MakeInstance(session, unit, settings);
    if (made.ok() && made->instance != nullptr) return made;
    program->gradient = made.ok() ? ErrorsOf(name, *made) : made.status();
    settings.gradients.clear();
  }
  return MakeInstance(session, std::move(unit), settings);
}

absl::Status Compile(const std::string& name, kiln_trace* trace, kiln_program* program) {
  RETURN_IF_ERROR(trace->failure);
  ASSIGN_OR_RETURN(const Compiling compiling, CurrentCompiling());
  program->device = trace->device;
  program->max_threads = compiling.max_threads;
  CompileSettings settings = SettingsFor(name, *trace, compiling);
  ASSIGN_OR_RETURN(FinishedUnit unit, FinishUnit(&trace->builder, settings));
  const std::vector<ReachedTree> trees = unit.trees;
  auto gradients = GradientsOf(*trace);
  program->gradient = gradients.status();
  if (gradients.ok()) settings.gradients = *std::move(gradients);
  program->uses_gradients = absl::c_any_of(
      trace->fields, [](const auto& field) { return field.first->grad() != nullptr; });
  ASSIGN_OR_RETURN(const InstanceOutcome made,
                   MakeWithGradient(*compiling.session, name, std::move(unit), settings, program));
  if (made.instance == nullptr) return ErrorsOf(name, made);
  program->instance = made.instance;
  if (trace->device != &CpuDevice() && made.instance->kernel()->device() != trace->device) {
    return absl::FailedPreconditionError("another device was chosen while the kernel was traced");
  }
  program->launcher = std::make_unique<Launcher>(made.instance);
  for (const auto& [field, param] : trace->fields) program->launcher->Bind(param, *field);
  program->fields = trace->fields;
  for (const auto& [param, element] : trace->arrays) program->arrays[param].element = element;
  return BindTrees(*trace, trees, program);
}

bool Collide(const uint8_t* a, uint64_t a_bytes, const uint8_t* b, uint64_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

// The compiler takes a write to an array for no write to a field: where memory is shared, results
// would be wrong without a word.
absl::Status CheckApart(const kiln_program& program) {
  const std::vector<bool>& writes = program.instance->writes();
  for (const auto& [param, array] : program.arrays) {
    for (const auto& [field, of] : program.fields) {
      if (!writes[param.number()] && !writes[of.number()]) continue;
      const uint8_t* const begin = field->buffer().data();
      if (!Collide(array.begin, array.bytes, begin, field->bytes())) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("the array for parameter ", param.number(),
                       " shares memory with a field that the kernel uses; pass a copy"));
    }
  }
  return absl::OkStatus();
}

// Hands what the program has written to data on the device over to it.
absl::Status HandOver(const kiln_program& program) {
  for (const auto& [field, _] : program.fields) {
    RETURN_IF_ERROR(ToStatus(field->buffer().HandOver()));
    if (field->grad() == nullptr) continue;
    RETURN_IF_ERROR(ToStatus(field->grad()->buffer().HandOver()));
  }
  for (const auto& [_, array] : program.arrays) {
    if (array.field != nullptr) RETURN_IF_ERROR(ToStatus(array.field->buffer().HandOver()));
  }
  for (const std::shared_ptr<FieldTree>& tree : program.trees) {
    RETURN_IF_ERROR(ToStatus(tree->mirrored()->HandOver()));
  }
  return absl::OkStatus();
}

enum class Of { kKernel, kGradient };

absl::Status Start(Of what, kiln_program* program) {
  kiln::Launcher& launcher = *program->launcher;
  return what == Of::kKernel ? launcher.Run(program->max_threads)
                             : launcher.RunGradient(program->max_threads);
}

// Arrays of the host are copied to the device for the time of the launch. What a launch that fails
// has written stays, as on the CPU.
absl::Status RunOnDevice(Of what, kiln_program* program) {
  ASSIGN_OR_RETURN(const auto turn, TakeTurn(*program->device));
  HostArrays arrays(program->device);
  std::vector<std::pair<ParamId, uint64_t>> copies;
  copies.reserve(program->arrays.size());  // addresses of elements are kept
  for (const auto& [param, array] : program->arrays) {
    if (array.is_on_device || array.bytes == 0) continue;
    copies.emplace_back(param, 0);
    // To a gradient, arrays are constants.
    const bool writes = what == Of::kKernel && program->instance->writes()[param.number()];
    arrays.Add(array.begin, array.bytes, &copies.back().second, writes);
  }
  if (!copies.empty() && program->uses_gradients && Tape::Active() != nullptr) {
    return absl::FailedPreconditionError(
        "a tape cannot record a launch on a CUDA device with an array of the host, which is gone "
        "from there when gradients run: pass a field");
  }
  RETURN_IF_ERROR(ToStatus(arrays.CopyIn()));
  for (const auto& [param, copy] : copies) {
    program->launcher->Bind(param, reinterpret_cast<void*>(copy), program->arrays[param].shape);
  }
  RETURN_IF_ERROR(HandOver(*program));
  const absl::Status ran = Start(what, program);
  const absl::Status copied = ToStatus(arrays.CopyBack());
  return ran.ok() ? copied : ran;
}

// Without this check, derivatives would lack a part, without a word.
absl::Status CheckGradient(const kiln_program& program) {
  for (const auto& [param, array] : program.arrays) {
    if (array.field == nullptr || array.field->grad() == nullptr) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the field for parameter ", param.number(),
                     " has a gradient, the kernel's array has none: name the field in the kernel"));
  }
  return program.uses_gradients ? program.gradient : absl::OkStatus();
}

// The program may drop its fields, or give other ones to the kernel, before gradients run.
void KeepOn(kiln_tape* tape, const kiln_program& program) {
  for (const auto& [field, _] : program.fields) tape->fields.insert(field);
  for (const auto& [_, array] : program.arrays) {
    if (array.field != nullptr) tape->fields.insert(array.field);
  }
  if (program.device != &CpuDevice()) tape->device = program.device;
}

absl::Status Run(Of what, kiln_program* program) {
  RETURN_IF_ERROR(CheckApart(*program));
  if (what == Of::kGradient) RETURN_IF_ERROR(program->gradient);
  if (what == Of::kGradient || Tape::Active() != nullptr) RETURN_IF_ERROR(CheckGradient(*program));
  if (kiln_tape* const tape = RunningTape(); tape != nullptr) KeepOn(tape, *program);
  return program->device == &CpuDevice() ? Start(what, program) : RunOnDevice(what, program);
}

kiln_status RunAndTell(Of what, kiln_program* program) {
  const absl::Status done = Run(what, program);
  // A body may overlook it.
  if (!done.ok() && Tape::Active() != nullptr) Tape::Active()->Fail(done);
  return Told(done);
}

uint64_t ElementBytes(const proto::Type& element) {
  uint64_t bytes = static_cast<uint64_t>(ScalarBytes(element.scalar()));
  for (const uint32_t extent : element.shape()) bytes *= extent;
  return bytes;
}

void SetArray(kiln_program* program, ParamId param, void* data, absl::Span<const uint64_t> shape) {
  program->launcher->Bind(param, data, shape);
  const auto known = program->arrays.find(param);
  if (known == program->arrays.end()) return;  // the run says so
  kiln_program::Array& given = known->second;
  given.begin = static_cast<uint8_t*>(data);
  given.shape.assign(shape.begin(), shape.end());
  given.bytes = ElementBytes(given.element);
  for (const uint64_t extent : shape) given.bytes *= extent;
  given.field = nullptr;
  given.is_on_device = given.bytes > 0 && program->device != &CpuDevice() &&
                       program->device->Borrow(given.begin, given.bytes, false).ok();
}

absl::Status SetField(kiln_program* program, ParamId param,
                      const std::shared_ptr<DenseField>& field) {
  const auto known = program->arrays.find(param);
  if (known == program->arrays.end()) {
    return absl::InvalidArgumentError(absl::StrCat("parameter ", param.number(), " is no array"));
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
  auto* const address = reinterpret_cast<uint8_t*>(field->bases()[0]);
  program->launcher->Bind(param, address, field->shape());
  given.begin = address;
  given.bytes = field->bytes();
  given.is_on_device = true;
  given.field = field;
  return absl::OkStatus();
}

}  // namespace
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
  return program->instance->outcome().tier.c_str();
}
const char* kiln_program_key(const kiln_program* program) {
  return program->instance->outcome().digest.c_str();
}

void kiln_program_set_float(kiln_program* program, kiln_input value, uint32_t element,
                            double number) {
  program->launcher->Set(kiln::ParamId(value.number), number, element);
}

void kiln_program_set_int(kiln_program* program, kiln_input value, uint32_t element,
                          int64_t number) {
  program->launcher->Set(kiln::ParamId(value.number), number, element);
}

void kiln_program_set_array(kiln_program* program, kiln_input array, void* data,
                            const uint64_t* shape, size_t axes) {
  SetArray(program, kiln::ParamId(array.number), data, {shape, axes});
}

kiln_status kiln_program_set_field(kiln_program* program, kiln_input array,
                                   const kiln_dense* field) {
  return Told(SetField(program, kiln::ParamId(array.number), field->field));
}

kiln_status kiln_program_run(kiln_program* program) { return RunAndTell(Of::kKernel, program); }
kiln_status kiln_program_run_gradient(kiln_program* program) {
  return RunAndTell(Of::kGradient, program);
}

uint64_t kiln_program_result(const kiln_program* program, size_t index) {
  if (index >= program->instance->kernel()->info().results.size()) return 0;
  return program->launcher->result<uint64_t>(static_cast<int>(index));
}
