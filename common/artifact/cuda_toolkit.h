// The files of NVIDIA's CUDA toolkit that compilations read. Kiln does not contain them: a machine
// has them or not.
#ifndef KILN_COMMON_ARTIFACT_CUDA_TOOLKIT_H_
#define KILN_COMMON_ARTIFACT_CUDA_TOOLKIT_H_

#include <cstdlib>
#include <string>

namespace kiln {

// Below the toolkit's folder. The linkers, the preferred one first: one of them is used.
inline constexpr const char* kNvJitLinkFiles[] = {"/lib64/libnvJitLink.so.13",
                                                  "/lib64/libnvJitLink.so.12"};
inline constexpr char kLibdeviceFile[] = "/nvvm/libdevice/libdevice.10.bc";

// The toolkit's folder for this process, and for the workers that it starts.
inline std::string CudaToolkit() {
  const char* given = std::getenv("KILN_CUDA_TOOLKIT");
  return given == nullptr ? "/usr/local/cuda" : given;
}

}  // namespace kiln

#endif  // KILN_COMMON_ARTIFACT_CUDA_TOOLKIT_H_
