"""The commands of `kiln`, a module each; kiln/cli.py has their table."""
