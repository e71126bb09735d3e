"""Writes a file's bytes as the C++ definitions of a header: embed.py FILE HEADER NAME [zlib].

With `zlib` they are compressed, and the header also declares NAMEPlainSize.
"""

import sys
import zlib


def main() -> None:
    path, header, name, *compressed = sys.argv[1:]
    with open(path, "rb") as f:
        data = f.read()
    plain_size = len(data)
    if compressed:
        data = zlib.compress(data, 9)
    literal = "".join(f"\\x{byte:02x}" for byte in data)
    lines = [literal[i : i + 80] for i in range(0, len(literal), 80)]
    print(f'#include "{header}"')
    print("namespace kiln {")
    print(f"alignas(8) const char {name}[] =")
    print("\n".join(f'    "{line}"' for line in lines) + ";")
    print(f"const size_t {name}Size = {len(data)};")
    if compressed:
        print(f"const size_t {name}PlainSize = {plain_size};")
    print("}  // namespace kiln")


if __name__ == "__main__":
    main()
