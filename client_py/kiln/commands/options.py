"""Parses command lines for all commands. It is small, because importing argparse would delay
`kiln run`. `kiln.cli` prints the text of BadOption, and the usage for HelpWanted."""

import os


class BadOption(Exception):
    """A wrong command line; the text names the argument."""


class HelpWanted(Exception):
    """--help or -h was among the options."""


def check_folder(name, path):
    """Raises BadOption unless the folder exists in which an option asks for a file."""
    if not os.path.isdir(os.path.dirname(path) or "."):
        raise BadOption(f"{name}={path}: there is no folder {os.path.dirname(path)}")


def parse(argv, defaults, short=(), stop=False, last=()):
    """Parses a command line; returns (values, rest).

    defaults: {"--name": default}. A default False makes a flag; a string, an option with one value;
    a list, an option that may be repeated and whose values may be separated by commas. short:
    {"-n": "--name"}. stop: whether the first word that is not an option begins the rest; otherwise
    options may follow other words. `--` ends the options, and so does an option in `last` with its
    value. Values are written `--name=value` or `--name value`.

    Raises BadOption for an unknown option, a missing value, or a value for a flag; HelpWanted for
    --help.

        parse(["-q", "--cpu", "x86-64-v3", "program.py", "-q"], {"--quiet": False, "--cpu": []},
              {"-q": "--quiet"}, stop=True)
        == ({"quiet": True, "cpu": ["x86-64-v3"]}, ["program.py", "-q"])
    """
    short = dict(short)
    values = {_name(k): list(v) if isinstance(v, list) else v for k, v in defaults.items()}
    rest = []
    words = iter(argv)
    for word in words:
        if word == "--":
            rest.extend(words)
        elif not word.startswith("-") or word == "-":
            rest.append(word)
            if stop:
                rest.extend(words)
        elif word in ("-h", "--help"):
            raise HelpWanted
        else:
            option = _parse_option(word, words, defaults, short, values)
            if option in last:
                rest.extend(words)
    return values, rest


def _parse_option(word, words, defaults, short, values):
    """Adds an option to `values`; returns its name. words: those that follow it, of which the first
    may be its value."""
    option, equals, given = word.partition("=")
    if word[:2] in short:  # -j4
        option, given = short[word[:2]], word[2:]
    if option not in defaults:
        raise BadOption(f"no option '{word}'.{_near(option, defaults)}")
    default = defaults[option]
    if default is False:
        if equals or given:
            raise BadOption(f"{option} takes no value, got '{given}'")
        values[_name(option)] = True
        return option
    value = given if equals or given else next(words, "")
    if not value or (value.startswith("--") and not given):
        raise BadOption(f"{option} needs a value")
    if isinstance(default, list):
        values[_name(option)].extend(part for part in value.split(",") if part)
    else:
        values[_name(option)] = value
    return option


def words(rest, what, *names):
    """Checks that the rest of a command line has one word for each of `names`; raises BadOption
    otherwise.

    words(["k"], "cache show", "key") == ["k"]
    """
    if len(rest) < len(names):
        raise BadOption(f"{what}: which {names[len(rest)]}?")
    if len(rest) > len(names):
        raise BadOption(f"{what}: '{rest[len(names)]}' is not expected")
    return rest


def action(argv, command, actions):
    """(action, its arguments) of a command with several actions, such as `cache list`."""
    if argv and argv[0] in actions:
        return actions[argv[0]], argv[1:]
    if argv and not argv[0].startswith("-"):
        raise BadOption(f"{command} what? Not '{argv[0]}'.{_near(argv[0], actions)}")
    parse(argv, {})
    raise BadOption(f"{command} what?")


def count(text, option):
    """The value of an option that takes a number of at least 1."""
    if not text.isdigit() or int(text) == 0:
        raise BadOption(f"{option}={text}: a number from 1 on expected")
    return int(text)


def size(text, option):
    """The value of an option that takes a number of bytes: "500M" is 500000000."""
    units = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
    number = text.lower().removesuffix("b")
    unit = units.get(number[-1:], 1)
    try:
        return int(_amount(number[:-1] if unit > 1 else number) * unit)
    except ValueError:
        raise BadOption(f"{option}={text}: a size such as 500M or 2G expected") from None


def seconds(text, option):
    """The value of an option that takes a duration: "30d" is 2592000 seconds."""
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    try:
        return _amount(text[:-1]) * units[text[-1:]]
    except (KeyError, ValueError):
        raise BadOption(f"{option}={text}: a time such as 12h or 30d expected") from None


def _amount(text):
    """A number that is neither negative nor infinite, of which "-3d" would delete all entries."""
    number = float(text)
    if not 0 <= number < float("inf"):
        raise ValueError
    return number


def target(text, option="--cpu"):
    """The value of an option that takes a target. Raises BadOption if it is not one of TARGETS."""
    from .. import _native

    return _among(_native.TARGETS, text, option)


def any_target(text, option="--target"):
    """The same of an option that takes CUDA targets as well."""
    from .. import _native

    return _among(_native.TARGETS + _native.CUDA_TARGETS, text, option)


def _among(known, text, option):
    if text not in known:
        raise BadOption(f"{option}={text}: one of {', '.join(known)} expected")
    return text


def default_target():
    """The target in $KILN_CPU, "" if it is not set. Raises BadOption as `target` does."""
    text = os.environ.get("KILN_CPU", "")
    return text and target(text, "KILN_CPU")


def _name(option):
    return option[2:].replace("-", "_")


def _near(word, candidates):
    from ..diagnostics import near

    return near(word, candidates)
