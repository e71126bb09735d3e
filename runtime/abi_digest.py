"""Writes a header with the digest of the runtime's contract with artifacts.

    abi_digest.py NAME FILE...    defines kNAME

Comments count: a change of meaning that leaves the declarations alone must
still part new artifacts from old ones.
"""

import hashlib
import sys


def main() -> None:
    name = sys.argv[1]
    digest = hashlib.sha256()
    for path in sys.argv[2:]:
        with open(path, "rb") as f:
            digest.update(f.read())
    value = int.from_bytes(digest.digest()[:8], "little")
    guard = f"KILN_RUNTIME_{name.upper()}_DIGEST_H_"
    print(f"#ifndef {guard}")
    print(f"#define {guard}")
    print("#include <cstdint>")
    print("namespace kiln {")
    print(f"inline constexpr uint64_t k{name} = 0x{value:016x}u;")
    print("}")
    print("#endif")


if __name__ == "__main__":
    main()
