"""The `kiln` command. `./kiln` builds and then runs this module.

Each command is a module of `kiln.commands`. Its `main(arguments)` returns the exit status:

    0  success
    1  the command failed
    2  the command line is wrong (BadOption of `kiln.commands.options`)
    3  a kernel was not in the cache although --require-hit demands it

A signal's status is 128 more than its number, as shells have it: 130 for SIGINT, 141 for SIGPIPE.
"""

import os
import sys

# Command -> rows of `kiln help`: (arguments, description).
COMMANDS = {
    "run": [
        ("program.py [arguments]", "run a program; `import taichi` gives Kiln in it"),
        ("-m MODULE [arguments]", "run a module instead, as `python -m` does"),
        ("-v program.py", "report each kernel; -q: report nothing"),
        ("--require-hit program.py", "end with status 3 if kernels were compiled; report them"),
        ("--read-only program.py", "write nothing below KILN_HOME"),
        ("--cpu LEVEL program.py", "compile for a level: x86-64-v2, x86-64-v3, x86-64-v4"),
        ("--report FILE program.py", "report each kernel, as .json or .xml (JUnit)"),
        ("--manifest FILE program.py", "write the manifest, for `kiln warm` without the program"),
    ],
    "warm": [
        ("[-q] MANIFEST|program.py", "compile the kernels of a program for later runs"),
        ("--jobs N --cpu LEVEL,… …", "compile N at once, for these levels"),
        ("--target sm_90,… …", "compile for CUDA devices; compute_80: PTX for later ones"),
        ("--record program.py [arguments]", "run the program first, even if it left a manifest"),
        ("--output FILE …", "write the manifest to a file"),
        ("--json --report FILE …", "report each kernel"),
        ("--require-hit …", "end with status 3 if a kernel had to be compiled"),
    ],
    "ir": [
        ("KERNEL [program.py|MANIFEST]", "list the compiler's stages for a kernel, by name or key"),
        ("KERNEL --stage STAGE …", "show the kernel after that stage; also --json"),
        ("KERNEL --cpu LEVEL …", "of the code for that level; --target sm_90: for CUDA devices"),
    ],
    "export": [
        ("program.py [-o FILE.kiln]", "run a program; write the kernels that it marks as a module"),
        ("--target LEVEL,… --glibc 2.N …", "for these levels of x86-64; for systems that old"),
        ("--header FILE.hpp -o FILE.kiln …", "also a C++ function for each kernel; .h: a C one"),
        ("--static libNAME.a [--name NAME] …", "to be linked into programs; also --json"),
        ("--called …", "also unmarked kernels, as the program has called them"),
        ("--sign SECRET …", "also FILE.kiln.sig, the signature of a key of `kiln key new`"),
    ],
    "module": [
        ("show FILE | check FILE", "show a module's kernels and fields; read and load all of it"),
        ("check FILE --signed | --keys FILE", "if a key that the user or FILE trusts signed it"),
        ("diff OLD NEW", "what callers notice; status 1 if it breaks them; all take --json"),
    ],
    "python": [("[arguments]", "start a Python in which `import kiln` works")],
    "cache": [
        ("path | stats", "show the cache's directory; its contents and savings"),
        ("list [--kernel NAME]", "list entries, the most recently used last"),
        ("show KEY", "show an entry's description"),
        ("explain KEY-or-kernel", "show how its key differs from the nearest entry's"),
        ("verify [--signed] [--delete]", "read every entry in full"),
        ("prune --max-size 2G | --older-than 30d [-n]", "delete the least recently used entries"),
        ("clear [-y]", "delete everything"),
        ("export FILE --all | --manifest M | KEY... [--sign SECRET]", "write entries to one file"),
        ("import FILE [--keys FILE] [--accept-unsigned] [--any-target]", "import such a file"),
        ("… --json", "any of these, as JSON"),
    ],
    "key": [
        ("new NAME FILE", "make a signing key; print its public line"),
        ("public FILE", "print the public line of a secret key"),
        ("trust LINE | list", "add a trusted key; list this user's trusted keys"),
        ("… --json", "any of these, as JSON"),
    ],
    "config": [
        (
            "--cmakedir | --cflags | --libs | --prefix",
            "print where libkiln is; a checkout builds it first",
        ),
    ],
    "serve": [
        ("[--config=FILE] [--listen=HOST:PORT]", "run the daemon in the foreground"),
        ("--take-over", "take over from the running daemon, which drains and exits"),
    ],
    "top": [("[--once] [--json]", "show the daemon's activity, live")],
    "doctor": [("[--json]", "report problems of this set-up")],
    "stop": [("", "stop the daemon")],
    "build": [  # ./kiln does it
        ("", "build everything out of date"),
        ("emulator", "and a CUDA driver for machines without a device (KILN_CUDA_DRIVER=emulator)"),
    ],
}


def usage(command=None):
    """The text of `kiln help`, or the command lines of one command."""
    rows = [
        (f"{name} {arguments}".rstrip(), text)
        for name, lines in COMMANDS.items()
        for arguments, text in lines
        if command in (None, name)
    ]
    width = max(len(line) for line, _ in rows)
    lines = [f"{line:{width}}  {text}" for line, text in rows]
    if command is None:
        return "\n".join(["usage: kiln COMMAND", "", *(f"  {line}" for line in lines)])
    return "\n".join(
        f"{'' if number else 'usage:':6} kiln {line}" for number, line in enumerate(lines)
    )


def version():
    """Kiln's own version and the language's. A checkout's are read from the sources: there,
    `kiln --version` needs no build."""
    package = os.path.dirname(os.path.abspath(__file__))
    header = os.path.join(package, "..", "..", "common", "wire", "version.h")
    if os.path.exists(header):
        own = _text_between('kVersion[] = "', '"', header)
    else:
        from kiln import kiln_version as own
    language = _text_between("__version__ = (", ")", os.path.join(package, "__init__.py"))
    return f"{own}, language {language.replace(', ', '.')}"


def _help_of(names):
    """`kiln help COMMAND`."""
    if len(names) > 1:
        print(f"kiln: surplus argument '{names[1]}' of help", file=sys.stderr)
        return 2
    if names[0] not in COMMANDS:
        return _unknown(names[0], [])
    print(usage(names[0]))
    return 0


def _unknown(name, near):
    """Says that there is no such command. near: what the user may have meant, if known."""
    import difflib

    near = near or difflib.get_close_matches(name, [*COMMANDS, "help", "--version", "--help"], 1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    print(f"kiln: no command '{name}'.{hint} `kiln help` lists all", file=sys.stderr)
    return 2


def _text_between(start, end, path):
    with open(path, encoding="utf-8") as file:
        return file.read().partition(start)[2].partition(end)[0]


_AFTER_USAGE = """

kiln COMMAND --help shows the help of one command; kiln --version the version.
docs/operations.md describes the JSON output and the exit statuses.
KILN_HOME (~/.cache/kiln) is the directory of all files;
KILN_SERVER=off compiles without the daemon."""


def main(argv=None):
    """Runs a command line; returns the exit status."""
    argv = sys.argv[1:] if argv is None else list(argv)
    name = argv[0] if argv else "help"
    if name == "help" and argv[1:]:
        return _help_of(argv[1:])
    if name in ("-h", "--help", "--version", "-V") and argv[1:]:
        print(f"kiln: surplus argument '{argv[1]}' of {name}", file=sys.stderr)
        return 2
    if name in ("help", "-h", "--help"):
        print(usage() + _AFTER_USAGE)
        return 0
    if name in ("--version", "-V"):
        print(f"kiln {version()}")
        return 0
    if name not in COMMANDS:
        return _unknown(name, [f"run {name}"] if os.path.isfile(name) else [])
    if name == "build":
        return _build(argv[1:])
    return _run(name, argv[1:])


def _build(argv):
    """./kiln runs `build` itself, and passes on only `build` with arguments."""
    if argv in (["-h"], ["--help"]):
        print(usage("build"))
        return 0
    print(
        f"kiln: ./kiln builds, without arguments or `emulator`\n{usage('build')}", file=sys.stderr
    )
    return 2


def _run(name, argv):
    """Runs a command of the package; returns the exit status."""
    import importlib

    command = importlib.import_module(f"kiln.commands.{name}")
    from kiln.commands.options import BadOption, HelpWanted

    try:
        status = command.main(argv)
        if sys.stdout is not None:  # the shell did not close it, with >&-
            sys.stdout.flush()
        return status
    except HelpWanted:
        print(usage(name))
        return 0
    except BadOption as error:
        print(f"kiln: {error}\n{usage(name)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader closed the pipe, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


if __name__ == "__main__":
    if sys.flags.isolated:  # ./kiln before the first build: only commands that need no package
        sys.exit(main())
    # Run the module `kiln.cli`, not a second copy of it named `__main__`.
    from kiln import cli

    sys.exit(cli.main())
