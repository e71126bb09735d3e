// The service, fields and programs of compile.h, over Session and Launcher.
#include <map>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client_cpp/dsl/handles.h"
#include "client_cpp/instance.h"
#include "client_cpp/launcher.h"
#include "client_cpp/mutex.h"
#include "client_cpp/session.h"
#include "common/base/first_use.h"
#include "common/base/status_macros.h"

struct kiln_program {
  std::shared_ptr<const kiln::Instance> instance;
  std::unique_ptr<kiln::Launcher> launcher;
  // The launcher uses their memory.
  std::vector<std::pair<std::shared_ptr<kiln::DenseField>, kiln::ParamId>> fields;
  struct Array {
    uint64_t element_bytes = 0;
    const uint8_t* begin = nullptr;  // of the next run
    uint64_t bytes = 0;
  };
  std::map<kiln::ParamId, Array> arrays;
  std::vector<std::shared_ptr<kiln::FieldTree>> trees;
  std::vector<std::vector<KilnNode*>> nodes;  // by tree of the launches
};

namespace kiln::dsl {
namespace {

// How the calling thread's last call failed.
std::string& LastError() {
  static thread_local std::string text;
  return text;
}

// The session of all kernels; made when the first is compiled.
struct SharedSession {
  Mutex mutex;
  std::shared_ptr<Session> session;
  bool debug = false;  // of kernels that are compiled from now on
};

SharedSession& Shared() {
  static FirstUse<SharedSession> shared;
  return shared.Get();
}

absl::StatusOr<std::shared_ptr<Session>> SessionOfKernels(bool* debug) {
  SharedSession& shared = Shared();
  MutexLock lock(&shared.mutex);
  if (shared.session == nullptr) {
    ASSIGN_OR_RETURN(shared.session, Session::Create({}));
  }
  *debug = shared.debug;
  return shared.session;
}

absl::Status Use(const kiln_compile_options& given) {
  SessionOptions options;
  const auto take = [](const char* from, std::string* to) {
    if (from != nullptr) *to = from;
  };
  take(given.home, &options.home);
  take(given.server, &options.server);
  take(given.programs, &options.bin_dir);
  options.strict = given.strict != 0;
  ASSIGN_OR_RETURN(std::shared_ptr<Session> made, Session::Create(options));
  SharedSession& shared = Shared();
  MutexLock lock(&shared.mutex);
  shared.session = std::move(made);
  shared.debug = given.debug != 0;
  return absl::OkStatus();
}

// The errors of a kernel, a line each.
absl::Status ErrorsOf(const std::string& name, const InstanceOutcome& made) {
  std::string text;
  for (const LocatedDiagnostic& one : made.diagnostics) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", name, ": ", one.diagnostic.message(),
                    PositionText(one.positions));
  }
  return absl::InvalidArgumentError(text);
}

void BindTrees(const kiln_trace& trace, absl::Span<const ReachedTree> parts,
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
    program->launcher->BindTree(i, root, program->nodes[i].data());
  }
}

absl::Status Compile(const std::string& name, kiln_trace* trace, kiln_program* program) {
  RETURN_IF_ERROR(trace->failure);
  bool debug = false;
  ASSIGN_OR_RETURN(const std::shared_ptr<Session> session, SessionOfKernels(&debug));
  CompileSettings settings;
  settings.name = name;
  settings.code.set_debug(debug);
  settings.code.set_check_bounds(debug);
  settings.code.set_fast_math(true);
  settings.code.set_opt_level(3);
  settings.code.set_default_int(proto::I32);
  settings.code.set_default_float(proto::F32);
  ASSIGN_OR_RETURN(const InstanceOutcome made, MakeInstance(*session, &trace->builder, settings));
  if (made.instance == nullptr) return ErrorsOf(name, made);
  program->instance = made.instance;
  program->launcher = std::make_unique<Launcher>(made.instance);
  for (const auto& [field, param] : trace->fields) program->launcher->Bind(param, *field);
  program->fields = trace->fields;
  for (const auto& [param, bytes] : trace->arrays) program->arrays[param].element_bytes = bytes;
  BindTrees(*trace, made.trees, program);
  return absl::OkStatus();
}

// The compiler takes a write to an array for no write to a field: where memory is shared, results
// would be wrong without a word.
absl::Status CheckApart(const kiln_program& program) {
  const std::vector<bool>& writes = program.instance->writes();
  for (const auto& [param, array] : program.arrays) {
    for (const auto& [field, of] : program.fields) {
      const bool is_written = writes[param.number()] || writes[of.number()];
      if (!is_written || array.begin >= field->data() + field->bytes() ||
          field->data() >= array.begin + array.bytes) {
        continue;
      }
      return absl::InvalidArgumentError(
          absl::StrCat("the array for parameter ", param.number(),
                       " shares memory with a field that the kernel uses; pass a copy"));
    }
  }
  return absl::OkStatus();
}

kiln_status Null(const char* function, const char* argument) {
  return Told(absl::InvalidArgumentError(absl::StrCat(function, ": ", argument, " is NULL")));
}

}  // namespace

kiln_status Told(const absl::Status& status) {
  if (!status.ok()) LastError() = std::string(status.message());
  return static_cast<kiln_status>(status.code());
}

}  // namespace kiln::dsl

using namespace kiln::dsl;  // NOLINT(google-build-using-namespace): the functions of one header

const char* kiln_compile_error() { return LastError().c_str(); }

kiln_status kiln_compile_use(const kiln_compile_options* options) {
  kiln_compile_options known{};
  if (options != nullptr) {
    const size_t size = options->size < sizeof known ? options->size : sizeof known;
    __builtin_memcpy(&known, options, size);
  }
  return Told(Use(known));
}

kiln_status kiln_dense_new(kiln_value_type element, const uint64_t* shape, size_t axes,
                           kiln_dense** field) {
  if (field == nullptr) return Null("kiln_dense_new", "field");
  if (shape == nullptr && axes > 0) return Null("kiln_dense_new", "shape");
  if (element.scalar == KILN_NO_DTYPE || element.scalar > KILN_F64) {
    return Told(absl::InvalidArgumentError(
        absl::StrCat("a field's numbers have no dtype ", element.scalar)));
  }
  std::vector<uint32_t> element_shape;
  for (uint32_t extent : {element.rows, element.columns}) {
    if (extent > 0) element_shape.push_back(extent);
  }
  auto made = kiln::DenseField::Create(static_cast<kiln::proto::Scalar>(element.scalar),
                                       {shape, shape + axes}, element_shape);
  if (!made.ok()) return Told(made.status());
  *field = new kiln_dense{*std::move(made)};
  return KILN_OK;
}

void* kiln_dense_data(const kiln_dense* field) { return field->field->data(); }
void kiln_dense_free(kiln_dense* field) { delete field; }

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
  const kiln::ParamId param(array.number);
  program->launcher->Bind(param, data, {shape, axes});
  const auto known = program->arrays.find(param);
  if (known == program->arrays.end()) return;  // the run says so
  kiln_program::Array& given = known->second;
  given.begin = static_cast<const uint8_t*>(data);
  given.bytes = given.element_bytes;
  for (size_t axis = 0; axis < axes; ++axis) given.bytes *= shape[axis];
}

kiln_status kiln_program_run(kiln_program* program) {
  const absl::Status apart = CheckApart(*program);
  return Told(apart.ok() ? program->launcher->Run() : apart);
}

uint64_t kiln_program_result(const kiln_program* program, size_t index) {
  if (index >= program->instance->kernel()->info().results.size()) return 0;
  return program->launcher->result<uint64_t>(static_cast<int>(index));
}
