"""The commands of `kiln`, one module each; kiln/cli.py has their table."""
