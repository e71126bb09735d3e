"""Records what the front end reads outside of a kernel's own text. A later process repeats the
reads and, if all results are the same, takes the artifact without running the front end.

The front end reads in a few places: names (`Transformer.lookup`), attributes of Python objects,
calls of Python functions, comparisons and texts of Python objects. Other code may read more without
harm if the object was described when it was reached: containers, arrays, matrices and types are
described in full. Objects that could run code of the program unseen are refused. A trace with a
refused object makes no record; `refused` says why.
"""

import builtins
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

from .. import originals
from ..data.field import AnyField
from ..func import BoundFunc
from ..handlers import raised_by_handler
from ..own_files import is_own
from ..warm import describe, reads
from ..warm.describe import MISSING, PACKAGE, Describer, Refused
from ..warm.reads import ATTRIBUTE, INSTANCE_OF, NAME, PARAMETER, PROPERTY, SOURCE

# Self-contained values: reading from them depends on nothing else.
_VALUES = frozenset(
    (type(None), bool, int, float, complex, str, bytes, tuple, list, dict, range, slice)
)
_SCALARS = frozenset((bool, int, float, complex, str, bytes))
_PURE_C_MODULES = frozenset(("math", "cmath", "_operator"))
_PURE_BUILTINS = frozenset(
    "abs all any ascii bin bool chr complex dict divmod enumerate float format frozenset getattr "
    "hasattr hex int isinstance len list max min oct ord pow range repr reversed round slice "
    "sorted str sum tuple zip".split()
)
# Methods that change lists, dicts and sets; allowed on those that the kernel made itself.
_CHANGES = frozenset(
    "append extend insert remove pop clear sort reverse popitem setdefault update add discard "
    "__setitem__ __delitem__".split()
)


class Trace:
    """Made for one instance of one kernel.

    reads: (kind, object number, argument, description), in the order in which they happened.
    events: the output of the compilation, which later processes show again; see `prints`, `warned`.
    """

    def __init__(self, source):
        self.describe = Describer()
        self.reads = []
        self.events = []
        self.refused = None
        self._seen = set()
        self._of_properties = {}  # (object number, property) -> its value
        if originals.replaced():
            self.refuse("functions of Kiln's own that the program replaced")
        describe.add_imported_types()
        self.describe.start(source)
        self._note(SOURCE, 0, None, source)

    def refuse(self, why):
        self.refused = self.refused or str(why)

    def _note(self, kind, number, argument, value):
        try:
            if kind == SOURCE:
                described = self.describe.source(value)
            else:
                described = self.describe(value)
        except Exception as why:  # a failure to record must not fail the program
            if raised_by_handler(why):
                raise
            self.refuse(why)
        else:
            self.reads.append((kind, number, argument, described))

    # --- reads

    def parameter(self, position, value):
        """Records a template argument, or the form of an array."""
        self._note(PARAMETER, 0, position, value)

    def name(self, source, ident, value):
        """Records the value of a name outside of the function; MISSING if undefined."""
        if self.refused or source.is_own:
            return
        number = self.describe.number(source)
        if number is None:
            self.enters(source)
        elif (number, ident) not in self._seen:
            self._seen.add((number, ident))
            if reads.name(source.fn, ident) is not value:
                self.refuse(f"'{ident}' changes")
            self._note(NAME, number, ident, value)

    def attribute(self, base, ident, value, source):
        """Records base.ident as read by the function `source`; MISSING if there is none."""
        if self.refused:
            return
        number = self.describe.number(base)
        if number is None:
            if not source.is_own and not _is_value(base, ident):
                self.refuse(f"'{ident}' of a {type(base).__qualname__}")
            return
        if (number, ident) in self._seen:
            return
        self._seen.add((number, ident))
        try:
            if not _same(reads.attribute(base, ident), value):
                self.refuse(f"'{ident}' changes")
        except Refused as why:
            self.refuse(why)
        else:
            self._note(ATTRIBUTE, number, ident, value)

    def is_property(self, base, ident):
        """Whether `of_property` and not `attribute` has to record base.ident."""
        return (
            not self.refused
            and self.describe.number(base) is not None
            and reads.is_property(base, ident)
        )

    def of_property(self, base, ident, value, adds_code):
        """Records what a property of the program has returned. Later processes call it again, once
        and outside of the kernel. adds_code: it added to the kernel, which that call would not."""
        key = self.describe.number(base), ident
        if adds_code:
            self.refuse(f"the code that the property '{ident}' adds")
        elif key not in self._of_properties:
            self._of_properties[key] = value
            self._note(PROPERTY, *key, value)
        elif not _is_equal(self._of_properties[key], value):
            self.refuse(f"'{ident}' changes")

    def size(self, field, shape):
        """Records that the kernel, or a function that it calls, reads the shape of a field."""
        if not self.refused and self.describe.number(field) is None:
            self.refuse("the shape of a field that was reached by unknown ways")
        self.attribute(field, "shape", shape, self.describe.objects[0])

    def instance_of(self, value, classes):
        """Records that isinstance(value, classes) is about to be evaluated."""
        if self.refused:
            return
        for one in classes if isinstance(classes, tuple) else (classes,):
            if isinstance(one, tuple):
                self.instance_of(value, one)
                continue
            number = self.describe.number(one)
            if number is None:
                continue  # Kiln's class or a built-in: no plain object is an instance of it
            if type(one) is not type:
                self.refuse("a class that decides what its instances are")
            of = self.describe.number(value)
            if of is not None:
                self._note(INSTANCE_OF, of, number, isinstance(value, one))
            elif not _is_value(value):
                self.refuse(f"the class of a {type(value).__qualname__}")

    def enters(self, source):
        """Records that the front end is about to inline the function `source`."""
        if not self.refused and not source.is_own and self.describe.number(source) is None:
            self.refuse(f"'{source.name}' was reached by unknown ways")

    # --- operations on the values

    def call(self, func, args, source):
        """Checks a Python function that is about to be called."""
        if self.refused or source.is_own:
            return
        if func is getattr or func is hasattr:
            if len(args) >= 2 and isinstance(args[1], str):
                self.attribute(args[0], args[1], getattr(args[0], args[1], MISSING), source)
        elif not self._is_pure(func):
            self.refuse(f"a call of {getattr(func, '__qualname__', type(func).__qualname__)}")
        elif func.__class__ is BuiltinFunctionType or isinstance(func, type):
            for arg in args:
                self.uses(arg)

    def uses(self, value):
        """Checks a value that is about to be compared, formatted or converted, which may run code
        of its class."""
        if self.refused or value.__class__ in _VALUES:
            return
        if self.describe.number(value) is not None:
            if not isinstance(value, (ModuleType, type)):
                self.refuse(f"what a {type(value).__qualname__} equals or looks like")
        elif not _is_value(value) and not isinstance(value, AnyField):
            for one in type(value).__mro__:
                if one.__module__ == "enum" or one in _VALUES or one is object:
                    return
                if any(name in one.__dict__ for name in _SHOWN):
                    self.refuse(f"what a {type(value).__qualname__} equals or looks like")

    def compare(self, left, right):
        self.uses(left)
        self.uses(right)
        if isinstance(right, (list, tuple)):
            for item in right:
                self.uses(item)

    def _is_pure(self, func):
        kind = func.__class__
        if kind is BuiltinFunctionType:
            owner = func.__self__
            if owner is builtins:
                return func.__name__ in _PURE_BUILTINS
            if owner is None or owner.__class__ is ModuleType:
                return func.__module__ in _PURE_C_MODULES
            if id(owner) in self.describe.containers and func.__name__ in _CHANGES:
                return False
            return owner.__class__ in _VALUES
        if isinstance(func, type):
            if func.__module__ == "builtins":
                return func.__name__ in _PURE_BUILTINS
            return func.__module__ in originals.MODULES or _is_numpy_scalar(func)
        if kind is MethodType:
            return _is_value(func.__self__) and self._is_pure(func.__func__)
        if kind is FunctionType:
            module = func.__module__ or ""
            own = module in originals.MODULES or module.startswith(_FRONTEND)
            return own and is_own(func.__code__.co_filename)
        return kind.__module__ in originals.MODULES or kind.__module__.startswith(_FRONTEND)

    # --- output

    def prints(self, args, options):
        """Records the output of a static_print that is about to run."""
        from io import StringIO

        for arg in args:
            self.uses(arg)
        if "file" in options:
            self.refuse("static_print into a file")
        if not self.refused:
            text = StringIO()
            print(*args, file=text, **options)
            self.events.append(("print", text.getvalue()))

    def said(self, text):
        """Records a warning of Kiln's on standard error."""
        self.events.append(("say", text))

    def warned(self, source, line, text, category):
        """Records a Python warning about a line of a function."""
        number = self.describe.number(source)
        if number is None or not source.has_line(line):
            self.refuse("a warning about a line outside the recorded sources")
        else:
            rank = source.rank(line)
            self.events.append(("warn", number, rank, text, category.__name__))

    # --- the result

    def files(self, sources):
        """For each file of the source map: its name or function in a record, and its code lines."""
        known, lines = [], []
        for source in sources:
            number = self.describe.number(source)
            if number is None:
                if not source.is_own:
                    self.refuse(f"'{source.name}' was reached by unknown ways")
                known.append(source.file)
                lines.append([])
            else:
                known.append(number)
                lines.append(source.code_lines)
        return tuple(known), lines


_FRONTEND = f"{PACKAGE}.frontend."
_SHOWN = ("__eq__", "__hash__", "__repr__", "__str__", "__format__", "__ne__")


def _is_value(value, ident=None):
    """Whether a value, or its attribute `ident`, depends on nothing but the value itself."""
    kind = value.__class__
    if kind in _VALUES:
        return True
    module = kind.__module__
    if module == "numpy":
        return ident not in _OF_MEMORY
    if module in originals.MODULES or module.startswith(_FRONTEND):
        return not kind.__name__.endswith("View")
    # Members were described in full when they were reached, but their classes may define more.
    if kind.__class__.__module__ == "enum":
        return ident is None or (ident in _OF_MEMBERS and not _redefines(kind, ident))
    if describe.is_named_tuple(kind):
        return ident is None or (ident in kind._fields and not _redefines(kind, ident))
    if describe.is_model(kind):
        # `==` and its text read more than its fields.
        return ident in describe.fields_of_model(value) and not _redefines(kind, ident)
    return False


_OF_MEMBERS = ("value", "name", "_value_", "_name_")
# Attributes of NumPy arrays that do not follow from type, shape and elements.
_OF_MEMORY = ("base", "ctypes", "data", "__array_interface__", "__array_struct__")


def _redefines(kind, ident):
    """Whether the program's class redefines the attribute `ident`."""
    for one in kind.__mro__:
        if ident in one.__dict__:
            found = one.__dict__[ident].__class__
            return one.__module__ != "enum" and found.__name__ != "_tuplegetter"
    return False


def _is_numpy_scalar(kind):
    return kind.__module__ == "numpy" and any(c.__name__ == "generic" for c in kind.__mro__)


def _is_equal(one, other):
    """Whether two values are the same object, or numbers or texts that cannot be told apart."""
    if one is other:
        return True
    if one.__class__ is not other.__class__:
        return False
    if one.__class__ is tuple:
        return len(one) == len(other) and all(map(_is_equal, one, other))
    return one.__class__ in _SCALARS and repr(one) == repr(other)


def _same(found, value):
    if found is value:
        return True
    if found.__class__ is BoundFunc and value.__class__ is BoundFunc:
        return found.func is value.func and found.instance is value.instance
    # Kiln's own properties return a new tuple at each read.
    return found.__class__ is value.__class__ is tuple and found == value
