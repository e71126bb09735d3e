// An artifact that a session found or had compiled, loaded into this process.
#ifndef KILN_CLIENT_CPP_LOADED_ARTIFACT_H_
#define KILN_CLIENT_CPP_LOADED_ARTIFACT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/artifact/entry.h"
#include "kiln/proto/artifact.pb.h"
#include "runtime/device.h"
#include "runtime/loaded_kernel.h"

namespace kiln {

struct LoadedArtifact {
  std::shared_ptr<const LoadedKernel> kernel;
  std::shared_ptr<const proto::ArtifactInfo> info;
};

// The part of `info` that the runtime needs.
KernelInfo KernelInfoOf(const proto::ArtifactInfo& info);

// Load the code of a checked entry: from the file `path` that holds the entry, or from its bytes.
// Errors are those of LoadedKernel::FromFile and FromBytes, and InvalidArgument for the objects of
// modules (ArtifactInfo.relocatable). `cuda`: the device that code for CUDA is loaded on; null: the
// one in use.
absl::StatusOr<LoadedArtifact> LoadFile(const std::string& path, const EntryView& entry,
                                        Device* cuda);
absl::StatusOr<LoadedArtifact> LoadBytes(const EntryView& entry, Device* cuda);

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_LOADED_ARTIFACT_H_
