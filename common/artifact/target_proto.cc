#include "common/artifact/target_proto.h"

namespace kiln {

Target TargetOf(const proto::Target& message) {
  switch (message.device_case()) {
    case proto::Target::kCpu: {
      const auto level = static_cast<uint32_t>(message.cpu());
      const bool known = level >= proto::X86_64_V1 && level <= proto::CpuLevel_MAX;
      return known ? Target::Cpu(level) : Target();
    }
    case proto::Target::kCuda: {
      const uint32_t real = message.cuda().real_arch();
      const uint32_t ptx = message.cuda().virtual_arch();
      const Target target = real != 0 ? Target::Cuda(real) : Target::CudaPtx(ptx);
      // Levels that do not belong together: no build of ours writes them.
      return ptx != 0 && target.virtual_arch() == ptx ? target : Target();
    }
    case proto::Target::DEVICE_NOT_SET:
      break;
  }
  return {};
}

void SetTarget(Target target, proto::Target* message) {
  if (target.device() == Target::Device::kCuda) {
    message->mutable_cuda()->set_virtual_arch(target.virtual_arch());
    message->mutable_cuda()->set_real_arch(target.ptx_only() ? 0 : target.level());
  } else {
    message->set_cpu(static_cast<proto::CpuLevel>(target.level()));
  }
}

}  // namespace kiln
