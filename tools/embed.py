"""Writes a file's bytes as the C++ definitions of a header: embed.py FILE HEADER NAME."""

import sys


def main() -> None:
    path, header, name = sys.argv[1:]
    with open(path, "rb") as f:
        data = f.read()
    literal = "".join(f"\\x{byte:02x}" for byte in data)
    lines = [literal[i : i + 80] for i in range(0, len(literal), 80)]
    print(f'#include "{header}"')
    print("namespace kiln {")
    print(f"alignas(8) const char {name}[] =")
    print("\n".join(f'    "{line}"' for line in lines) + ";")
    print(f"const size_t {name}Size = {len(data)};")
    print("}  // namespace kiln")


if __name__ == "__main__":
    main()
