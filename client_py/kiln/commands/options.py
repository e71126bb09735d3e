"""Options of command lines: one small parser, so that `kiln run` starts without argparse."""


class BadOption(Exception):
    """The text names the argument that is wrong."""


def parse(argv, defaults, short=(), stop=False):
    """(values, rest) of a command line.

    defaults: {"--name": what it is when not given}; False: a flag, a string: one value, a list:
    each time one more value, which may also be parted by commas. short: {"-n": "--name"}. stop:
    what follows the first word that is no option is the rest; otherwise options may stand anywhere.
    `--` ends them. BadOption for an option that is none, lacks its value or has one too many.

        parse(["-q", "--cpu", "x86-64-v3", "a.py", "-q"], {"--quiet": False, "--cpu": []},
              {"-q": "--quiet"}, stop=True)
        == ({"quiet": True, "cpu": ["x86-64-v3"]}, ["a.py", "-q"])
    """
    short = dict(short)
    values = {
        k[2:].replace("-", "_"): list(v) if isinstance(v, list) else v for k, v in defaults.items()
    }
    rest = []
    words = iter(argv)
    for word in words:
        if word == "--":
            rest.extend(words)
        elif not word.startswith("-") or word == "-":
            rest.append(word)
            if stop:
                rest.extend(words)
        else:
            option, _, given = word.partition("=")
            if word[:2] in short:  # -j4
                option, given = short[word[:2]], word[2:]
            if option not in defaults:
                raise BadOption(f"no option '{word}'{_near(option, defaults)}")
            name, default = option[2:].replace("-", "_"), defaults[option]
            if default is False:
                if given:
                    raise BadOption(f"{option} takes no value, got '{given}'")
                values[name] = True
                continue
            value = given or next(words, "")
            if not value:
                raise BadOption(f"{option} needs a value")
            if isinstance(default, list):
                values[name].extend(part for part in value.split(",") if part)
            else:
                values[name] = value
    return values, rest


def count(text, option):
    """The value of an option that is a number from 1 on."""
    if not text.isdigit() or int(text) == 0:
        raise BadOption(f"{option}={text}: a number from 1 on expected")
    return int(text)


def cpu_level(text, option="--cpu"):
    """The value of an option that is a level of the processor."""
    from .. import _native

    if text not in _native.CPU_LEVELS:
        raise BadOption(f"{option}={text}: one of {', '.join(_native.CPU_LEVELS)} expected")
    return text


def _near(word, candidates):
    from ..diagnostics import near

    return near(word, candidates)
