#include "server/compiler/codegen/test_kernel.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/artifact/target_proto.h"
#include "common/base/status_macros.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "server/compiler/dialect/dialect.h"

namespace kiln {
namespace {

mlir::MLIRContext* Context() {
  static auto* context = [] {
    auto* c = new mlir::MLIRContext(mlir::MLIRContext::Threading::DISABLED);
    c->loadDialect<ir::KilnDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();
    return c;
  }();
  return context;
}

CodeGenerator* Generator() {
  static auto* generator = new CodeGenerator;
  return generator;
}

struct Parsed {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::Operation* kernel;
};

absl::StatusOr<Parsed> Parse(const std::string& text) {
  Parsed parsed;
  parsed.module = mlir::parseSourceString<mlir::ModuleOp>(text, Context());
  if (!parsed.module) return absl::InvalidArgumentError("the test's text does not parse");
  parsed.kernel = &parsed.module->getBody()->front();
  return parsed;
}

proto::Target Message(Target target, uint32_t glibc = 0) {
  proto::Target message;
  message.set_glibc(glibc);
  SetTarget(target, &message);
  return message;
}

proto::CodeOptions Options(bool fast_math, int level) {
  proto::CodeOptions options;
  options.set_fast_math(fast_math);
  options.set_opt_level(level);
  return options;
}

absl::StatusOr<void*> Load(const std::string& payload) {
  char path[] = "/tmp/kiln_test_XXXXXX";
  const int fd = mkstemp(path);
  if (fd < 0) return absl::ErrnoToStatus(errno, "making a file");
  const ssize_t written = write(fd, payload.data(), payload.size());
  close(fd);
  if (written != static_cast<ssize_t>(payload.size())) return absl::DataLossError("short write");
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  unlink(path);
  if (library == nullptr) return absl::InternalError(dlerror());
  return library;
}

}  // namespace

TestKernel::TestKernel() {
  runtime_.print = [](const KilnContext* c, uint32_t node, uint32_t count, const uint64_t* values) {
    Record(c, false, node, count, values);
  };
  runtime_.fail = [](const KilnContext* c, uint32_t node, uint32_t count, const uint64_t* values) {
    Record(c, true, node, count, values);
  };
  context_.results = results_;
  context_.temporaries = temporaries_;
  context_.runtime = &runtime_;
  context_.failed = &failed_;
  context_.launch = this;
}

TestKernel::~TestKernel() {
  if (library_ != nullptr) dlclose(library_);
}

void TestKernel::Record(const KilnContext* context, bool failed, uint32_t node, uint32_t count,
                        const uint64_t* values) {
  auto* kernel = static_cast<TestKernel*>(context->launch);
  kernel->reports_.push_back({failed, node, {values, values + count}});
}

absl::StatusOr<std::unique_ptr<TestKernel>> TestKernel::Compile(const std::string& text,
                                                                const Options& options) {
  ASSIGN_OR_RETURN(Parsed parsed, Parse(text));
  std::unique_ptr<TestKernel> kernel(new TestKernel);
  ASSIGN_OR_RETURN(kernel->code_,
                   Generator()->Generate(parsed.kernel, Message(options.target, options.glibc),
                                         kiln::Options(options.fast_math, options.opt_level), {},
                                         &kernel->stages_));
  ASSIGN_OR_RETURN(kernel->library_, Load(kernel->code_.payload));
  for (const proto::Task& task : kernel->code_.tasks) {
    kernel->tasks_.push_back(
        reinterpret_cast<KilnTask>(dlsym(kernel->library_, task.symbol().c_str())));
    kernel->bounds_.push_back(
        task.bounds_symbol().empty()
            ? nullptr
            : reinterpret_cast<KilnBounds>(dlsym(kernel->library_, task.bounds_symbol().c_str())));
    kernel->finishes_.push_back(
        task.finish_symbol().empty()
            ? nullptr
            : reinterpret_cast<KilnTask>(dlsym(kernel->library_, task.finish_symbol().c_str())));
  }
  return kernel;
}

absl::StatusOr<GeneratedCode> TestKernel::CompileObject(const std::string& text,
                                                        const std::string& prefix, Target target) {
  ASSIGN_OR_RETURN(Parsed parsed, Parse(text));
  proto::CodeOptions options = kiln::Options(/*fast_math=*/true, 3);
  options.set_relocatable(true);
  std::vector<proto::StageReport> stages;
  return Generator()->Generate(parsed.kernel, Message(target), options, {}, &stages, prefix);
}

absl::StatusOr<std::string> TestKernel::EmitText(const std::string& text) {
  ASSIGN_OR_RETURN(Parsed parsed, Parse(text));
  return Generator()->EmitText(parsed.kernel, Message(Target::Cpu(3)),
                               kiln::Options(/*fast_math=*/true, 3));
}

absl::StatusOr<std::string> TestKernel::OptimizedText(const std::string& text,
                                                      const Target& target) {
  ASSIGN_OR_RETURN(Parsed parsed, Parse(text));
  proto::ReportOptions report;
  report.set_print_ir(true);
  std::vector<proto::StageReport> stages;
  RETURN_IF_ERROR(Generator()
                      ->Generate(parsed.kernel, Message(target),
                                 kiln::Options(/*fast_math=*/true, 3), report, &stages)
                      .status());
  for (const proto::StageReport& stage : stages) {
    if (stage.name() == "optimize") return stage.ir();
  }
  return absl::InternalError("no such stage");
}

int64_t TestKernel::Iterations(int task) const {
  const proto::Task& described = code_.tasks[task];
  if (described.kind() == proto::TASK_STRUCT) {
    return static_cast<int64_t>(elements_.size() * described.iterations());
  }
  if (bounds_[task] == nullptr) return described.end();
  int64_t out[2];
  bounds_[task](&context_, out);
  return out[1];
}

void TestKernel::Run(const std::vector<uint64_t>& arguments, int64_t chunk) {
  context_.arguments = arguments.data();
  ++context_.random;
  std::memset(temporaries_, 0, sizeof(temporaries_));
  for (size_t i = 0; i < tasks_.size(); ++i) {
    if (code_.tasks[i].symbol().empty()) {
      elements_ = runtime_task(code_.tasks[i]);
      context_.elements = elements_.data();
      continue;
    }
    const int64_t end = Iterations(static_cast<int>(i));
    const int64_t step = chunk == 0 ? std::max<int64_t>(end, 1) : chunk;
    const int64_t pieces = (end + step - 1) / step;
    partials_.resize(pieces * code_.tasks[i].partial_bytes() / 8);
    context_.partials = reinterpret_cast<uint8_t*>(partials_.data());
    for (int64_t begin = 0; begin < end; begin += step) {
      tasks_[i](&context_, begin, std::min(begin + step, end), static_cast<int32_t>(begin / step));
    }
    if (finishes_[i] != nullptr) finishes_[i](&context_, 0, pieces, 0);
  }
}

}  // namespace kiln
