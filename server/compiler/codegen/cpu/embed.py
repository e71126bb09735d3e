"""Writes a file's bytes as the C++ definitions that device_bitcode.h declares."""

import sys


def main() -> None:
    with open(sys.argv[1], "rb") as f:
        data = f.read()
    literal = "".join(f"\\x{byte:02x}" for byte in data)
    lines = [literal[i : i + 80] for i in range(0, len(literal), 80)]
    print('#include "server/compiler/codegen/cpu/device_bitcode.h"')
    print("namespace kiln {")
    print("alignas(8) const char kDeviceBitcode[] =")
    print("\n".join(f'    "{line}"' for line in lines) + ";")
    print(f"const size_t kDeviceBitcodeSize = {len(data)};")
    print("}  // namespace kiln")


if __name__ == "__main__":
    main()
