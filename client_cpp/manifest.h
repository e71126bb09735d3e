// Manifests: which kernels a program used, in the order of their first use. `kiln warm` compiles
// them without the program.
//
//   kiln-manifest 3
//   program <SHA-256 of its text, or -> <name of its file>
//   module <SHA-256 of its text> <file of a module of the program's own that it imported>
//   …
//   compiler <id of the compiler that the keys are of>
//   unit <key> <recorded kernel> <target> <file of its warm record below the home> <kernel>
//   …
//   recorded <bytes> <bytes compressed> <SHA-256 of the compressed bytes>
//   <compressed bytes>
//
// One space separates words; `-` means none; the last word of a line may contain spaces. A target
// is the one that the program requested (x86-64-v3); `-` means the machine's. Recorded kernels
// (client_cpp/recorded_kernel.h) are named by the SHA-256 of their bytes.
//
// In a home (<home>/warm/programs) the recorded kernels are files beside the manifest, which ends
// with its last unit. A manifest for another machine contains them: one zlib stream of all of them
// follows the line `recorded`. Each comes after its length (8 bytes, little-endian), in the order
// in which the units first name them. None is empty, and a unit names each. Such a manifest names
// no modules. Equal manifests have equal bytes.
//
// Thread safety: pure functions and plain data.
#ifndef KILN_CLIENT_CPP_MANIFEST_H_
#define KILN_CLIENT_CPP_MANIFEST_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kiln {

struct Manifest {
  struct Unit {
    std::string key;             // hex; the program got its artifact under it
    std::string recorded = "-";  // name of the recorded kernel
    std::string target = "-";    // that the program requested
    std::string record = "-";    // file of its warm record below the home
    std::string kernel;          // as the program calls it
    bool operator==(const Unit& other) const;
  };
  struct Module {
    std::string digest;  // hex, of its text
    std::string file;
    bool operator==(const Module& other) const;
  };

  std::string program = "-";  // hex digest of its text
  std::string name = "-";     // of its file
  std::string compiler = "-";
  std::vector<Unit> units;
  // Name -> bytes; absent in a manifest whose home has them.
  std::optional<std::map<std::string, std::string>> recorded;
  std::vector<Module> modules;
  bool operator==(const Manifest& other) const;
};

// The bytes of the file. Newlines in names become `?`.
std::string ManifestBytes(const Manifest& manifest);

// InvalidArgument names what is wrong, and in which line. `bytes` may come from anywhere: no more
// is unpacked than they can honestly contain.
absl::StatusOr<Manifest> ParseManifest(absl::string_view bytes);

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_MANIFEST_H_
