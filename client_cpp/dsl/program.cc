#include "client_cpp/dsl/program.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client_cpp/dsl/trace_state.h"
#include "client_cpp/instance.h"
#include "client_cpp/launcher.h"
#include "client_cpp/mutex.h"
#include "client_cpp/session.h"
#include "common/base/status_macros.h"

namespace kiln::dsl {

namespace {

struct SharedSession {
  Mutex mutex;
  std::shared_ptr<Session> session;
};

SharedSession& Shared() {
  static auto* const shared = new SharedSession;
  return *shared;
}

absl::StatusOr<std::shared_ptr<Session>> SessionOfKernels() {
  SharedSession& shared = Shared();
  MutexLock lock(&shared.mutex);
  if (shared.session == nullptr) {
    ASSIGN_OR_RETURN(shared.session, Session::Create({}));
  }
  return shared.session;
}

Failure FailureOf(const absl::Status& status) {
  return {static_cast<int>(status.code()), std::string(status.message())};
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

}  // namespace

void UseSession(std::shared_ptr<Session> session) {
  SharedSession& shared = Shared();
  MutexLock lock(&shared.mutex);
  shared.session = std::move(session);
}

struct Program::Impl {
  absl::Status Compile(const std::string& name, Trace::Impl* trace) {
    ASSIGN_OR_RETURN(const std::shared_ptr<Session> session, SessionOfKernels());
    CompileSettings settings;
    settings.name = name;
    settings.code.set_fast_math(true);
    settings.code.set_opt_level(3);
    settings.code.set_default_int(proto::I32);
    settings.code.set_default_float(proto::F32);
    ASSIGN_OR_RETURN(const InstanceOutcome made, MakeInstance(*session, &trace->builder, settings));
    if (made.instance == nullptr) return ErrorsOf(name, made);
    instance = made.instance;
    launcher = std::make_unique<Launcher>(instance);
    for (const auto& [field, param] : trace->fields) {
      launcher->Bind(param, *field);
      fields.push_back(field);
    }
    return absl::OkStatus();
  }

  std::shared_ptr<const Instance> instance;
  std::unique_ptr<Launcher> launcher;
  std::vector<std::shared_ptr<DenseField>> fields;  // the launcher uses their memory
};

Program::Program() : impl_(std::make_unique<Impl>()) {}
Program::~Program() = default;
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;

Failure Program::Compile(const std::string& name, Trace* trace) {
  if (trace->impl_->failed()) return trace->impl_->failure;
  return FailureOf(impl_->Compile(name, trace->impl_.get()));
}

const std::string& Program::tier() const { return impl_->instance->outcome().tier; }
const std::string& Program::key() const { return impl_->instance->outcome().digest; }

void Program::SetFloat(ParamId param, uint32_t element, double value) {
  impl_->launcher->Set(param, value, element);
}

void Program::SetInteger(ParamId param, uint32_t element, int64_t value) {
  impl_->launcher->Set(param, value, element);
}

void Program::SetArray(ParamId param, void* data, const uint64_t* shape, int axes) {
  impl_->launcher->Bind(param, data, {shape, static_cast<size_t>(axes)});
}

Failure Program::Run() { return FailureOf(impl_->launcher->Run()); }

uint64_t Program::result(int index) const { return impl_->launcher->result<uint64_t>(index); }

}  // namespace kiln::dsl
