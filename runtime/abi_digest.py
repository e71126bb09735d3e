"""Writes a header with the digest of the runtime's contract with artifacts.

Comments count: a change of meaning that leaves the declarations alone must
still part new artifacts from old ones.
"""

import hashlib
import sys


def main() -> None:
    digest = hashlib.sha256()
    for path in sys.argv[1:]:
        with open(path, "rb") as f:
            digest.update(f.read())
    value = int.from_bytes(digest.digest()[:8], "little")
    print("#ifndef KILN_RUNTIME_ABI_DIGEST_H_")
    print("#define KILN_RUNTIME_ABI_DIGEST_H_")
    print("#include <cstdint>")
    print("namespace kiln {")
    print(f"inline constexpr uint64_t kRuntimeAbi = 0x{value:016x}u;")
    print("}")
    print("#endif")


if __name__ == "__main__":
    main()
