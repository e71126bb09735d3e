"""Enumerations of the reference's, made from the names of their members."""


class Names:
    """An enumeration. `kind` is its name, `names` those of its members, which are attributes."""

    def __init__(self, kind, names):
        self._kind = kind
        for value, name in enumerate(names.split()):
            setattr(self, name, Name(kind, name, value))

    def __iter__(self):
        return (member for member in self.__dict__.values() if member.__class__ is Name)


class Name:
    """A member of an enumeration. Members of equal names are equal, so copies and pickles are,
    too."""

    __slots__ = ("kind", "name", "value")

    def __init__(self, kind, name, value):
        self.kind, self.name, self.value = kind, name, value

    def __eq__(self, other):
        return isinstance(other, Name) and (other.kind, other.name) == (self.kind, self.name)

    def __hash__(self):
        return hash((self.kind, self.name))

    def __repr__(self):
        return f"<{self.kind}.{self.name}: {self.value}>"

    def __str__(self):
        return f"{self.kind}.{self.name}"

    def _described(self):
        """What warm records know of it (warm/describe.py)."""
        return self.kind, self.name


__all__ = ["Name", "Names"]
