"""Writes what glibc_stubs.h declares: shared objects without code, for the linker.

Its argument is the path of vector_functions.inc.
"""

import os
import re
import subprocess
import sys
import tempfile

# What generated code may call, by version of the symbol. Of several versions this is the newest
# that every supported machine has: fmod, for example, has another one since 2.38, with the same
# results.
LIBM_OF_DOUBLES_AND_FLOATS = {
    "2.2.5": "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp10 "
    "expm1 fabs fdim floor fma fmax fmin fmod frexp hypot ldexp llrint llround log10 log1p logb "
    "lrint lround modf nearbyint nextafter remainder rint round scalbln scalbn sin sincos sinh "
    "sqrt tan tanh tgamma trunc",
    "2.25": "roundeven",
}
LIBM_OF_FLOATS = {"2.27": "exp2f expf log2f logf powf"}
LIBM_OF_DOUBLES = {"2.29": "exp exp2 log log2 pow"}
LIBC = {"2.2.5": "bcmp memcmp memmove memset", "2.14": "memcpy"}
VECTOR_FUNCTION = re.compile(r'^\{(\d+), "(\w+)", (true|false), ', re.MULTILINE)
FIRST_LIBMVEC = 22  # for the functions of every supported machine
REGISTERS = {"b": 128, "d": 256, "e": 512}  # bits; the letters are the vector function ABI's


def split(versions):
    return {version: names.split() for version, names in versions.items()}


def with_floats(versions):
    return {v: [*names, *(f"{name}f" for name in names)] for v, names in split(versions).items()}


def vector_functions(rows):
    found = {}
    for glibc, name, is_binary in VECTOR_FUNCTION.findall(rows):
        symbols = found.setdefault(f"2.{int(glibc) or FIRST_LIBMVEC}", [])
        operands = "vv" if is_binary == "true" else "v"
        for letter, bits in REGISTERS.items():
            symbols.append(f"_ZGV{letter}N{bits // 64}{operands}_{name}")
            symbols.append(f"_ZGV{letter}N{bits // 32}{operands}_{name}f")
    return found


def libraries(vector_rows):
    """{library: {version: names of symbols}}, in the order of glibc_stubs.h."""
    libm = with_floats(LIBM_OF_DOUBLES_AND_FLOATS)
    libm.update(split(LIBM_OF_FLOATS))
    libm.update(split(LIBM_OF_DOUBLES))
    return {
        "libm.so.6": libm,
        "libmvec.so.1": vector_functions(vector_rows),
        "libc.so.6": split(LIBC),
    }


def shared_object(name, versions):
    """The bytes of a library that defines the symbols of `versions`."""
    code = "".join(f"void {s}(void) {{}}\n" for symbols in versions.values() for s in symbols)
    script = "".join(
        f"GLIBC_{version} {{ global: {' '.join(f'{s};' for s in symbols)} }};\n"
        for version, symbols in versions.items()
    )
    with tempfile.TemporaryDirectory() as folder:
        for file, text in (("stub.c", code), ("stub.map", script)):
            with open(os.path.join(folder, file), "w", encoding="ascii") as out:
                out.write(text)
        command = "gcc -shared -nostdlib -fno-builtin -w -s -Wl,--build-id=none -o stub.so stub.c"
        options = ["-Wl,--version-script=stub.map", f"-Wl,-soname,{name}"]
        subprocess.run([*command.split(), *options], check=True, cwd=folder)
        with open(os.path.join(folder, "stub.so"), "rb") as made:
            return made.read()


def main(vector_rows):
    with open(vector_rows, encoding="ascii") as file:
        stubs = libraries(file.read())
    print('#include "server/compiler/codegen/cpu/glibc_stubs.h"')
    print("namespace kiln::cpu {")
    for number, (name, versions) in enumerate(stubs.items()):
        data = shared_object(name, versions)
        literal = "".join(f"\\x{byte:02x}" for byte in data)
        print(f"static const char kBytes{number}[] =")
        for at in range(0, len(literal), 80):
            print(f'    "{literal[at : at + 80]}"')
        print(f"; static const char* const kSymbols{number}[] = {{")
        for symbol in sorted(symbol for symbols in versions.values() for symbol in symbols):
            print(f'    "{symbol}",')
        print("};")
    print("const GlibcStub kGlibcStubs[] = {")
    for number, (name, versions) in enumerate(stubs.items()):
        print(f'    {{"{name}", {{kBytes{number}, sizeof kBytes{number} - 1}}, kSymbols{number}}},')
    print("};")
    print("}  // namespace kiln::cpu")


if __name__ == "__main__":
    main(*sys.argv[1:])
