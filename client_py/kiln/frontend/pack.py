"""Argument packs in kernels."""

from ..diagnostics import near, say


class PackArgument:
    """A pack parameter inside the kernel, which names several parameters."""

    __slots__ = ("_members",)

    def __init__(self, members):
        self._members = members

    def member(self, name):
        found = self._members.get(name)
        if found is None:
            raise say.argpack_has_no_member_in_kernel(name=name, hint=near(name, self._members))
        return found

    def __getitem__(self, name):
        return self.member(name)

    def map(self, function):
        """A pack of the results of `function` for each member."""
        return PackArgument({name: function(found) for name, found in self._members.items()})

    @property
    def members(self):
        return self._members.values()
