// What gRPC registers for clients whose settings come from a control plane (xDS, with Envoy's
// messages), and Kiln's endpoints never name. Without it kilnd-remote is half as large.
//
// gRPC's own function of this name, which the linker then leaves in its archive, registers these
// and what is registered here.
namespace grpc_core {

class CoreConfiguration {
 public:
  class Builder;
};

void RegisterChannelDefaultCreds(CoreConfiguration::Builder* builder);
void RegisterExtraFilters(CoreConfiguration::Builder* builder);

void RegisterExtraFilters(CoreConfiguration::Builder* builder) {
  RegisterChannelDefaultCreds(builder);
}

}  // namespace grpc_core
