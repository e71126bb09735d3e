"""The state of one kernel under construction: native builder, settings, constants, types,
parameters, positions."""

from .. import _native, runtime
from .. import types as ti_types
from ..data.field import AnyField
from ..data.struct_field import leaves
from ..diagnostics import say
from ..types import StructType
from . import report
from .expr import MAX_UNROLLED, Convertible, Expr, Ref
from .struct_value import make

_I32 = ti_types.i32.scalar
_LOAD_ERROR = "{} is not a value that a kernel can compute with"


class TypeInfo:
    """A type of the kernel. Tensors have the `dtype` of their elements and a `shape`; structs have
    `members`."""

    __slots__ = ("dtype", "id", "members", "name", "shape")

    def __init__(self, type_id, dtype, shape, members, name):
        self.id = type_id
        self.dtype = dtype
        self.shape = shape
        self.members = members
        self.name = name


class ArrayArgument:
    """An ndarray parameter inside the kernel: it has subscripts, loops, and a shape that is known
    at run time."""

    __slots__ = (
        "_element_shape",
        "_grad",
        "boundary",
        "ctx",
        "dtype",
        "make_grad",
        "name",
        "ndim",
        "param",
    )

    def __init__(self, ctx, param, dtype, element_shape, ndim, boundary, name="", make_grad=None):
        self.ctx = ctx
        self.param = param
        self.dtype = dtype
        self._element_shape = tuple(element_shape)
        self.ndim = ndim
        self.boundary = boundary
        self.name = name
        self.make_grad = make_grad  # makes the parameter of its gradient; None: it has no gradient
        self._grad = None

    @property
    def grad(self):
        """The array of gradients; raises for an array without."""
        if self._grad is None:
            if self.make_grad is None:
                raise say.array_without_gradient(name=self.name)
            self._grad = self.make_grad()
        return self._grad

    @property
    def shape(self):
        ctx = self.ctx
        return tuple(Expr(ctx, ctx.builder.shape(self.param, a)) for a in range(self.ndim))

    def element_shape(self):
        """Programs call it, unlike that of an ndarray."""
        return list(self._element_shape)

    def get_type(self):
        return ti_types.NdarrayType(self.dtype, self.ndim, element_shape=self._element_shape)

    def check_fits(self, parameter, annotation):
        """Raises if the elements are not of the type with which a func annotates its parameter."""
        wanted = getattr(annotation, "dtype", None)
        if wanted is None:
            return
        got = self.get_type().dtype
        if isinstance(wanted, ti_types.MatrixType):
            if not ti_types.takes_elements(wanted, got):
                raise say.func_argument_element_tensor(name=parameter, wanted=wanted, got=got)
        elif ti_types.cook_dtype(wanted) is not got:
            raise say.func_argument_element_type(name=parameter, wanted=wanted, got=got)


class BuildContext:
    """The state of building one instance of a kernel. One thread uses it until the kernel is
    built."""

    def __init__(self, builder, config, kernel_name="kernel"):
        self.builder = builder
        self.config = config
        self.kernel_name = kernel_name
        self.bindings = []  # (param id, (kind, object)), in order of parameters
        self.has_print = False
        self.warnings = []  # texts for the kernel to show
        self.emitted_warnings = []  # shown while transforming: (text, file, line)
        self.trace = None  # trace.Trace, if the kernel may get a warm record
        self.is_validated = False  # whether it checks what it overwrites
        self.autodiff = 0  # how the kernel is differentiated (AutodiffMode of proto/kernel.proto)
        self.stopped = ()  # parameters whose loads in the current block are constants
        # parallel: the number of the parallel loop around the current position, 0 outside of any.
        # depth: the number of run-time blocks around it; static blocks do not count.
        self.parallel = 0
        self.num_parallel = 0
        self.depth = 0
        self.selected = (
            0  # branches around this position selected by a Python value, not `ti.static`
        )
        self.loop_config = {}  # of the next loop
        self.mesh_patch = None  # in a loop over a mesh: the field of patches, and the index in it
        self._default_int = config.default_ip
        self._default_float = config.default_fp
        self._type_ids = {}
        self._type_infos = {}
        self._params = {}  # id of a field -> its parameter
        self._trees = {}  # tree of SNodes -> its number in the builder
        # Ids are reused once an object is gone: a key would then mean another field.
        self._keep = []  # the objects whose ids are keys above
        self._files = {}
        self._outside = {}
        self.current_span = 0
        self._names = {}
        self.functions = {}  # real functions: (function, kinds of arguments) -> (number, returns)
        self.function_chain = []  # names of functions being transformed, outermost first
        self.call_function = None  # by which plain Python code calls a Func; build_kernel sets it

    def keep(self, value):
        """Keeps `value` alive while the kernel is built, so that no other object gets its id."""
        self._keep.append(value)

    def enter_function(self, name):
        """Starts a real function. It may be called from anywhere, so its loops are serial and its
        variables private. Returns the state that `leave_function` restores."""
        # Depth 1, not 0: at depth 0 a loop would become a parallel task, which a function cannot
        # start.
        outside = (self.parallel, self.depth, self.loop_config), self.stopped
        self.parallel, self.depth, self.loop_config = 0, 1, {}
        self.restore_stopped(())
        self.function_chain.append(name)
        return outside

    def leave_function(self, outside):
        self.function_chain.pop()
        (self.parallel, self.depth, self.loop_config), stopped = outside
        self.restore_stopped(stopped)

    # --- types

    def type_id(self, of, shape=()):
        """The builder's id of a DType (with `shape`), MatrixType or StructType."""
        key = (of, shape)
        found = self._type_ids.get(key)
        if found is None:
            builder = self.builder
            if of.__class__ is ti_types.DType:
                if shape:
                    found = builder.tensor_type(of.scalar, shape)
                else:
                    found = builder.scalar_type(of.scalar)
            elif isinstance(of, ti_types.MatrixType):
                # A matrix type without a dtype is one of the default float type, as in Taichi.
                found = builder.tensor_type((of.dtype or self._default_float).scalar, of.shape)
            elif isinstance(of, StructType):
                members = [(k, self.type_id(t)) for k, t in of._member_types()]
                found = builder.struct_type(members)
            else:
                return self.type_id(ti_types.cook_dtype(of), shape)
            self._type_ids[key] = found
        return found

    def type_of(self, node):
        type_id = self.builder.type_of(node)
        info = self._type_infos.get(type_id)
        if info is None:
            scalar, shape, members = self.builder.type_info(type_id)
            dtype = ti_types.BY_SCALAR.get(scalar)
            name = self.builder.type_name(type_id)
            info = TypeInfo(type_id, dtype, tuple(shape), tuple(members), name)
            self._type_infos[type_id] = info
        return info

    # --- values

    def node(self, value):
        """The node of a value. Raises Taichi's error if the value cannot be part of a kernel."""
        if value.__class__ is Expr:
            return value.node
        node = self.node_or_none(value)
        if not node:
            raise say.invalid_constant_scalar_data_type(kind=type(value))
        return node

    def node_or_none(self, value):
        convert = _CONVERTERS.get(value.__class__)
        return convert(self, value) if convert is not None else _convert_other(self, value)

    def expr(self, value):
        """`value` as a typed value; Python numbers get the default types."""
        kind = value.__class__
        if kind is Expr:
            return value
        if kind is Ref:
            return self.value(value)
        if kind in (list, tuple):
            return self.tensor(value)
        if isinstance(value, Convertible):
            return value._to_kernel(self)
        return Expr(self, self.node(value))

    def value(self, x):
        """The value of `x`: loads addresses and returns everything else unchanged."""
        if x.__class__ is Ref:
            return Expr(self, self.builder.load(x.node), None, x.struct)
        return x

    def const_i32(self, value):
        return self.builder.const_int(value, _I32)

    def cast(self, value, dtype):
        """`value` converted to the scalar type, element by element."""
        if value.__class__ is not Expr:
            if value.__class__ is float:
                # A literal has the default type first, and is then converted; see also `literal`.
                return self.const(self._default_float.convert(value), dtype)
            if value.__class__ in (int, bool):
                return self.const(value, dtype)
            value = Expr(self, self.node(value))
        shape = value.type.shape
        return Expr(self, self.builder.cast(value.node, self.type_id(dtype, shape)))

    def const(self, value, dtype):
        if dtype.is_float:
            return Expr(self, self.builder.const_float(float(value), dtype.scalar))
        if dtype.bits == 1:
            return Expr(self, self.builder.const_bool(bool(value)))
        if value.__class__ is int:
            if dtype.min() <= value <= dtype.max():
                return Expr(self, self.builder.const_int(value, dtype.scalar))
            node = _int(self, value)
        else:
            node = self.builder.const_float(float(value), self._default_float.scalar)
        # A value that does not fit is converted from the default type, as at run time.
        return Expr(self, self.builder.cast(node, self.type_id(dtype)))

    def literal(self, value, dtype):
        """A Python number with an explicit type, as `ti.u8(1)`; it must be representable."""
        # A literal with an explicit type is exact or an error; it is never rounded through a
        # default type.
        if value.__class__ is int:
            if not dtype.is_int:
                raise say.literal_needs_its_kind(kind="Integer", what="integer")
            if not dtype.min() <= value <= dtype.max():
                raise say.literal_exceeded_range(value=value, dtype=dtype)
        elif value.__class__ is float:
            if not dtype.is_float:
                raise say.literal_needs_its_kind(kind="Floating-point", what="floating-point")
            return self.const(value, dtype)  # its precision kept
        return self.cast(value, dtype)

    def tensor(self, rows, dtype=None):
        """A vector of scalars, or a matrix of equally long rows."""
        flat = []
        shape = (len(rows),)
        if rows and _is_row(rows[0]):
            rows = [list(_iterate(self, r)) for r in rows]
            shape = (len(rows), len(rows[0]))
            for row in rows:
                if len(row) != shape[1]:
                    raise say.rows_matrix_must_equally_long()
                flat.extend(row)
        else:
            flat = rows
        return self.tensor_of(flat, shape, dtype)

    def tensor_of(self, flat, shape, dtype=None):
        # A cast from scalar to tensor repeats the scalar in one node: a long matrix of zeros costs
        # no node per element.
        if len(flat) > MAX_UNROLLED and _all_equal(flat):
            scalar = self.expr(self.value(flat[0]))
            type_id = self.type_id(dtype or scalar.type.dtype, tuple(shape))
            if dtype is not None:
                scalar = self.cast(flat[0], dtype)
            return Expr(self, self.builder.cast(scalar.node, type_id))
        if dtype is not None:
            parts = [self.cast(self.value(x), dtype) for x in flat]
        else:
            parts = [self.expr(self.value(x)) for x in flat]
        if not parts:
            raise say.vector_needs_at_least_one_element()
        node = self.builder.make_tensor([p.node for p in parts], shape)
        if dtype is None and not self._same_types(parts):
            # The nodes in the tensor then differ from the parts, so later extracts must not return
            # these.
            parts = None  # the elements were promoted
        return Expr(self, node, parts)

    def _same_types(self, parts):
        type_of = self.builder.type_of
        first = type_of(parts[0].node)
        return all(type_of(p.node) == first for p in parts[1:])

    def struct(self, of, values):
        """A struct of the StructType `of`, from one value per member, in order."""
        return make(self, of, values)

    def extract(self, x, *index):
        """The element of a tensor value at static indices."""
        # The element is known as a node of its own: no extract, which the compiler would have to
        # fold again.
        if x.parts is not None:
            if len(index) == 1:
                return x.parts[index[0]]
            return x.parts[index[0] * x.type.shape[1] + index[1]]
        return Expr(self, self.builder.extract(x.node, [self.const_i32(i) for i in index]))

    def pick(self, x, shape, first, strides):
        """The tensor of `shape` whose element (i, j) is the row-major element
        first + i * strides[0] + j * strides[1] of `x`."""
        return Expr(self, self.builder.pick(self.node(x), shape, first, strides))

    def reduce(self, op, x):
        """Combines all elements of the tensor by an associative op."""
        return Expr(self, self.builder.reduce(op, self.node(x)))

    def repeat(self, count, body):
        """Emits a serial loop; `body(index)` appends the nodes of its body."""
        builder = self.builder
        loop = builder.begin_range_for([self.const_i32(0), self.const_i32(count)], serialize=True)
        self.depth += 1
        body(Expr(self, builder.loop_index(loop, 0)))
        self.depth -= 1
        builder.end()

    def unary(self, op, x):
        return Expr(self, self.builder.unary(op, self.node(x)))

    def binary(self, op, a, b):
        return Expr(self, self.builder.binary(op, self.node(a), self.node(b)))

    def ternary(self, op, c, a, b):
        return Expr(self, self.builder.ternary(op, self.node(c), self.node(a), self.node(b)))

    # --- parameters

    def value_argument(self, of):
        """Adds a parameter passed by value; returns its Expr."""
        # The builder knows structs by their members only; methods are looked up by the Python type.
        struct = of if isinstance(of, StructType) else None
        if struct is None and not isinstance(of, (ti_types.DType, ti_types.MatrixType)):
            of = ti_types.cook_dtype(of)
        param = self.builder.add_value_param(self.type_id(of))
        self.bindings.append((param, ("value", of)))
        return Expr(self, self.builder.param(param), None, struct)

    def array_argument(
        self, storage, dtype, element_shape, ndim, boundary="unsafe", name="", has_grad=False
    ):
        """Adds a parameter passed by reference; `storage` is its serialized descriptor."""

        def add(source, name, make_grad):
            param = self.builder.add_storage_param(storage)
            self.bindings.append((param, source))
            form = dtype, element_shape, ndim, boundary
            return ArrayArgument(self, param, *form, name, make_grad)

        def make_grad():
            return add(("gradient", made), f"{name}.grad", None)

        made = add(("array", None), name, make_grad if has_grad else None)
        return made

    def bind_storage(self, field, storage):
        """The parameter of a field or SNode, which its first use adds."""
        # By identity: not every such object can be hashed.
        key = id(field)
        param = self._params.get(key)
        if param is None:
            trees = [self._tree_number(tree) for tree in storage.trees]
            param = self.builder.add_storage_param(storage.descriptor, trees)
            self._params[key] = param
            self._keep.append(field)
            self.bindings.append((param, ("field", field)))
        return param

    def _tree_number(self, tree):
        number = self._trees.get(tree)
        if number is None:
            number = self._trees[tree] = self.builder.add_tree(tree)
        return number

    def param_of(self, field):
        """The storage parameter of a field, SNode or array."""
        if field.__class__ is ArrayArgument:
            return field.param
        return self._params.get(id(field)) or field._param(self)

    # --- derivatives

    def check_overwrites(self, field, param):
        """Makes the kernel check the accesses to a field that has marks."""
        marks = field._marks
        if self.trace is not None:
            self.trace.attribute(field, "_marks", marks, self.trace.describe.objects[0])
        if marks is not None and None not in marks._places:
            text = say.breaks_the_access_rule(title=field._name)
            self.builder.check_overwrites(param, self.param_of(marks), text)

    def is_memory(self, value):
        """Whether a value is a field or an array, rather than an element of one."""
        return value.__class__ is ArrayArgument or isinstance(value, AnyField)

    def keep_near(self, values):
        """Advises to keep fields in memory of the threads that run the next loop, on devices that
        have such memory."""
        # Without it, keys of kernels stay what they are.
        if runtime.cfg.arch != runtime.cuda or not runtime.cfg.make_block_local:
            return
        fields = [one for value in values if isinstance(value, AnyField) for one in leaves(value)]
        if fields:
            params = [self.param_of(field) for field in fields]
            self.builder.append(_native.NODES["block_local"], 0, 0, [], 0, params)

    def stop_gradients(self, value):
        """Makes loads of a field or array constants until `restore_stopped`."""
        if self.autodiff or self.is_validated:
            fields = [value] if value.__class__ is ArrayArgument else leaves(value)
            self.restore_stopped((*self.stopped, *map(self.param_of, fields)))

    def restore_stopped(self, params):
        if self.stopped is not params:
            self.stopped = params
            self.builder.stop_gradients_of(params)

    # --- warnings

    def warn(self, source, line, text, category):
        """Shows a Python warning about a line of a function."""
        self.emitted_warnings.append((text, source.file, line))
        if self.trace is not None:
            self.trace.warned(source, line, text, category)
        report.show_warning(text, category, source.file, line)

    # --- positions

    def file_id(self, source):
        """The id of a function's file. Each function has its own id, even in a shared file: so
        warm records can relocate the functions independently."""
        found = self._files.get(source)
        if found is None:
            found = self._files[source] = self.builder.add_file(source.file)
        return found

    @property
    def sources(self):
        """The functions in the order of their files' ids."""
        return list(self._files)

    def outside_of(self, source):
        """name -> its meaning outside of the function, as far as this kernel has resolved it."""
        found = self._outside.get(source)
        if found is None:
            found = self._outside[source] = {}
        return found

    def resolve(self, source, name, local=()):
        """The meaning of a name outside of the function `source`; cached for this kernel."""
        found = self.outside_of(source)[name] = source.resolve(name, local)
        if self.trace is not None:
            self.trace.name(source, name, found)
        return found

    def name_id(self, name):
        found = self._names.get(name)
        if found is None:
            found = self._names[name] = self.builder.add_name(name)
        return found


def _all_equal(flat):
    first = flat[0]
    kind = first.__class__
    if kind is int or kind is float or kind is bool:
        text = repr(first)  # distinguishes 0.0 from -0.0
        return all(x is first or (x.__class__ is kind and repr(x) == text) for x in flat)
    # The same node, as equal nodes may be two calls of `ti.random()`.
    return isinstance(first, Expr) and not first.type.shape and all(x is first for x in flat)


def _is_row(x):
    if x.__class__ in (list, tuple):
        return True
    if isinstance(x, Expr):
        return bool(x.type.shape)
    return hasattr(x, "__len__") and not isinstance(x, str)


def _iterate(ctx, row):
    row = ctx.value(row)
    if row.__class__ is Expr:
        return [ctx.extract(row, i) for i in range(row.type.shape[0])]
    return row


def _int(ctx, value):
    dtype = ctx._default_int
    if not dtype.min() <= value <= dtype.max():
        raise say.integer_literal_exceeded_range_default_ip_please(value=value, dtype=dtype)
    return ctx.builder.const_int(value, dtype.scalar)


def _float(ctx, value):
    return ctx.builder.const_float(value, ctx._default_float.scalar)


def _sequence(ctx, value):
    return ctx.tensor(value).node


_CONVERTERS = {
    Expr: lambda ctx, x: x.node,
    Ref: lambda ctx, x: ctx.builder.load(x.node),
    int: _int,
    float: _float,
    bool: lambda ctx, x: ctx.builder.const_bool(x),
    list: _sequence,
    tuple: _sequence,
    str: lambda ctx, x: 0,
    type(None): lambda ctx, x: 0,
}


def _convert_other(ctx, value):
    """Converts NumPy scalars, Matrix and Struct objects, and subclasses of list and tuple."""
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if kind is not None and getattr(value, "shape", None) == ():
        if kind in "iu":
            return _int(ctx, int(value))
        if kind == "f":
            return _float(ctx, float(value))
        if kind == "b":
            return ctx.builder.const_bool(bool(value))
        return 0
    if isinstance(value, Convertible):
        return value._to_kernel(ctx).node
    if isinstance(value, (list, tuple)):
        return _sequence(ctx, value)
    if isinstance(value, bool):
        return ctx.builder.const_bool(value)
    if isinstance(value, int):
        return _int(ctx, int(value))
    if isinstance(value, float):
        return _float(ctx, float(value))
    return 0


__all__ = ["ArrayArgument", "BuildContext", "TypeInfo"]
