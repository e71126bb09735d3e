"""The arrangement of the components of vectors and matrices in memory."""


class Layout:
    """The arrangement of the components of elements in memory. AOS stores the components of an
    element together; SOA stores each component in a separate array.

        v = ti.Vector.field(3, ti.f32, shape=8, layout=ti.Layout.SOA)
        print(ti.Layout.SOA)  # prints: Layout.SOA
    """

    __slots__ = ("name", "value")

    def __init__(self, name, value):
        self.name = name
        self.value = value

    def __deepcopy__(self, memo):
        return self

    def __repr__(self):
        return f"<Layout.{self.name}: {self.value}>"

    def __str__(self):
        return f"Layout.{self.name}"


Layout.AOS = Layout("AOS", 1)
Layout.SOA = Layout("SOA", 2)
Layout.NULL = Layout("NULL", 3)
