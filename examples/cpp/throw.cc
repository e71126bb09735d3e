// A ball that learns to hit a target, from C++: the first program of docs/gradients.md.
//
//   ./kiln build && tools/bazel.sh build //examples/cpp:throw
//   KILN_BIN=.kiln/bin .kiln/bazel-bin/examples/cpp/throw
#include <cstdio>
#include <vector>

#include "client_cpp/kiln.h"
#include "examples/cpp/need.h"

namespace {

using kiln::NodeNumber;
using kiln::ParamId;

constexpr int kSteps = 50;
constexpr double kStep = 0.02, kDrag = 0.1, kGravity = 9.8;
constexpr double kTarget[2] = {2.0, 1.0};

// Arithmetic in a kernel.
class Arithmetic {
 public:
  explicit Arithmetic(kiln::KernelBuilder* builder) : b_(*builder) {}

  NodeNumber Number(double value) { return b_.ConstFloat(value, kiln::proto::F64); }
  NodeNumber Int(int value) { return b_.ConstInt(value, kiln::proto::I32); }
  NodeNumber Vector(double x, double y) { return Need(b_.MakeTensor({Number(x), Number(y)}, {2})); }
  NodeNumber Add(NodeNumber a, NodeNumber b) { return Need(b_.Binary(kiln::proto::OP_ADD, a, b)); }
  NodeNumber Sub(NodeNumber a, NodeNumber b) { return Need(b_.Binary(kiln::proto::OP_SUB, a, b)); }
  NodeNumber Mul(NodeNumber a, NodeNumber b) { return Need(b_.Binary(kiln::proto::OP_MUL, a, b)); }
  NodeNumber NormSquared(NodeNumber a) { return Need(b_.Reduce(kiln::proto::OP_ADD, Mul(a, a))); }
  NodeNumber Norm(NodeNumber a) { return Need(b_.Unary(kiln::proto::OP_SQRT, NormSquared(a))); }

 private:
  kiln::KernelBuilder& b_;
};

kiln::CompileSettings Settings(const char* name, const std::vector<ParamId>& gradients) {
  kiln::CompileSettings settings;
  settings.name = name;
  settings.code.set_opt_level(3);
  settings.gradients = gradients;
  return settings;
}

// speed = v[None]
// for t in range(kSteps):  # in order
//     speed -= kStep * (kDrag * speed.norm() * speed + [0, kGravity])
//     x[t + 1] = x[t] + kStep * speed
kiln::Launcher Fly(kiln::Session& session, const kiln::Field<double>& x,
                   const kiln::Field<double>& v) {
  kiln::KernelBuilder b;
  Arithmetic m(&b);
  const ParamId x_param = b.AddStorageParam(x.storage());
  const ParamId v_param = b.AddStorageParam(v.storage());
  const NodeNumber v_now = Need(b.Load(Need(b.Global(v_param, {}))));
  const NodeNumber speed = Need(b.Local(b.TypeOf(v_now), v_now));
  kiln::proto::LoopConfig in_order;
  in_order.set_serialize(true);
  const NodeNumber loop = Need(b.BeginRangeFor({m.Int(0), m.Int(kSteps)}, in_order));
  const NodeNumber t = Need(b.LoopIndex(loop, 0));
  const NodeNumber old = Need(b.Load(speed));
  const NodeNumber drag = m.Mul(m.Mul(m.Number(kDrag), m.Norm(old)), old);
  const NodeNumber change = m.Mul(m.Number(kStep), m.Add(drag, m.Vector(0, kGravity)));
  Need(b.Store(speed, m.Sub(old, change)));
  const NodeNumber moved = m.Mul(m.Number(kStep), Need(b.Load(speed)));
  const NodeNumber here = Need(b.Load(Need(b.Global(x_param, {t}))));
  Need(b.Store(Need(b.Global(x_param, {m.Add(t, m.Int(1))})), m.Add(here, moved)));
  Need(b.End());

  kiln::Launcher launch(NeedInstance(session, &b, Settings("fly", {x_param, v_param})));
  launch.Bind(x_param, x).Bind(v_param, v);
  return launch;
}

// loss[None] += (x[kSteps] - kTarget).norm_sqr()
kiln::Launcher Miss(kiln::Session& session, const kiln::Field<double>& x,
                    const kiln::Field<double>& loss) {
  kiln::KernelBuilder b;
  Arithmetic m(&b);
  const ParamId x_param = b.AddStorageParam(x.storage());
  const ParamId loss_param = b.AddStorageParam(loss.storage());
  const NodeNumber end = Need(b.Load(Need(b.Global(x_param, {m.Int(kSteps)}))));
  const NodeNumber miss = m.Sub(end, m.Vector(kTarget[0], kTarget[1]));
  Need(b.Atomic(kiln::proto::OP_ATOMIC_ADD, Need(b.Global(loss_param, {})), m.NormSquared(miss)));

  kiln::Launcher launch(NeedInstance(session, &b, Settings("miss", {x_param, loss_param})));
  launch.Bind(x_param, x).Bind(loss_param, loss);
  return launch;
}

}  // namespace

int main() {
  constexpr auto kGrad = kiln::Companions::kGrad;
  const auto x = Need(kiln::Field<double>::Create({kSteps + 1}, {2}, kGrad));
  const auto v = Need(kiln::Field<double>::Create({}, {2}, kGrad));
  const auto loss = Need(kiln::Field<double>::Create({}, {}, kGrad));
  const auto v_grad = Need(v.grad());

  auto session = Need(kiln::Session::Create({}));
  kiln::Launcher fly = Fly(*session, x, v);
  kiln::Launcher miss = Miss(*session, x, loss);

  v.Fill(1);
  kiln::Tape tape;
  for (int attempt = 0; attempt < 40; ++attempt) {
    Need(tape.Run(loss, [&] {
      absl::Status status = fly.Run();
      if (status.ok()) status = miss.Run();
      return status;
    }));
    for (int i = 0; i < 2; ++i) v[i] -= 0.5 * v_grad[i];
  }
  std::printf("loss %.4f, velocity (%.3f, %.3f)\n", loss[0], v[0], v[1]);
  return loss[0] < 1e-4 ? 0 : 1;
}
