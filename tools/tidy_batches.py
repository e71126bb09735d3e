"""Files that clang-tidy can look at together, as one: most of its time goes into headers, which
they then share."""

import functools
import itertools
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent


def batches_of(files, commands, size):
    """Groups of at most `size` files, each of which probably compiles as one.

    files: of C++, from ROOT. commands: {file: the words that compile it}. The files of a group have
    the same options, and none defines a name that another one or its headers have. No two of their
    headers define one name as a type.
    """
    batches = []  # (options, own names, names of headers, {type of a header: header}, files)
    for file in sorted(files, key=lambda f: (compiler_options(commands[f])[1], f)):
        options, (own, known, types) = compiler_options(commands[file])[1], _names(ROOT / file)
        for others, taken, seen, places, batch in batches:
            apart = taken.isdisjoint(own) and taken.isdisjoint(known) and seen.isdisjoint(own)
            apart = apart and all(places.get(name, at) == at for name, at in types.items())
            if apart and options == others and len(batch) < size:
                taken |= own
                seen |= known
                places.update(types)
                batch.append(file)
                break
        else:
            batches.append((options, set(own), set(known), dict(types), [file]))
    return [batch for *_, batch in batches]


def needs_a_run_of_its_own(path):
    """Whether a file declares a name by `using` or `namespace` and does not use it. clang-tidy
    reports that only for the main file."""
    text = path.read_text()
    named = re.findall(r"^ *(?:using [\w:]+::|namespace (?=\w+ = ))(\w+)", text, re.M)
    return any(len(re.findall(rf"\b{name}\b", text)) == 1 for name in named)


def source_of(batch):
    """A C++ file with all files of a group."""
    lines = []
    for number, file in enumerate(batch):
        # A program can have only one of each.
        entries = [f"#define {name} {name}_{number}\n" for name in _ENTRIES]
        ends = [f"#undef {name}\n" for name in _ENTRIES]
        lines += [*entries, f'#include "{ROOT / file}"  // NOLINT\n', *ends]
    return "".join(lines)


def options_of(batch, commands):
    """The words that compile source_of(batch), without the compiler and the file."""
    folders, options = zip(*(compiler_options(commands[file]) for file in batch))
    return [*options[0], *dict.fromkeys(itertools.chain(*folders))]


def compiler_options(command):
    """The folders of headers that a command names, and its other options."""
    options = iter(command[1:-2])  # not the compiler, nor -c FILE
    folders, others = [], []
    for option in options:
        if option in ("-iquote", "-isystem"):
            folders.append(option + next(options))
        else:
            others.append(option)
    return tuple(folders), tuple(others)


# The entries of programs.
_ENTRIES = ("main", "LLVMFuzzerTestOneInput", "LLVMFuzzerInitialize")

_TYPE = re.compile(
    r"^(?:class|struct|union|enum class|enum|using) (?:\[\[\w+\]\] )?(\w+)\b(?![;:])", re.M
)

# What defines a name outside of functions and classes, by lines that are not indented.
_DEFINITIONS = [
    re.compile(pattern, re.M)
    for pattern in (
        _TYPE.pattern,
        r"^using [\w:]+::(\w+);",
        r"^\w[\w:<>,*& \[\]]*[ *&](\w+)\(",  # a function
        r"^\w[\w:<>,*& ]*\(\*(\w+)\)\(",  # a pointer to one
        r"^(?!namespace )\w[\w:<>,*& ]*[ *&](\w+)(?:\[[\w:]*\])*(?: = |\{|;)",  # a variable
        r"^# *define (\w+)",
    )
]


def _names(path):
    """The names that a file alone defines, those that its headers define, and of these {type with
    its namespace: header}."""
    known, types = set(), {}
    for header in _headers(path):
        known |= _defined(header)
        text = header.read_text()
        namespaces = re.findall(r"^namespace (\S+) {", text, re.M)
        types.update(((*namespaces[:1], name), header) for name in _TYPE.findall(text))
    return _defined(path) - known - set(_ENTRIES), known, types


@functools.lru_cache(maxsize=None)
def _headers(path):
    """The headers of this repository that a file includes, and those that these do."""
    found = set()
    for name in re.findall(r'^#include "([^"]+)"', path.read_text(), re.M):
        header = ROOT / name
        if header.exists() and header not in found:
            found |= {header, *_headers(header)}
    return frozenset(found)


@functools.lru_cache(maxsize=None)
def _defined(path):
    text = path.read_text()
    return frozenset(name for one in _DEFINITIONS for name in one.findall(text))
