"""The native module: pybind11 over client_cpp, and three C types for the hot paths.

No language logic lives here. Node, type and parameter ids are ints, as in
client_cpp/kernel_builder.h; scalars are the numbers of proto Scalar; ops the
numbers of proto Op (``OPS["add"]``).

Builder errors raise ``BuilderError`` (a ValueError) with the user's text.
"""

from typing import Any, Callable, Sequence

OPS: dict[str, int]  # spelling -> proto.Op number
# Spelling of an op -> (number of its proto.OpFamily, token of the Python operator that it is, or "").
OP_FACTS: dict[str, tuple[int, str]]
UNARY: int  # families of ops
BINARY: int
COMPARE: int
MAX_SCALARISED: int  # kernels handle tensors of more elements in loops
SCALARS: dict[str, int]  # "f32" -> proto.Scalar number
NODES: dict[str, int]  # NodeKind spelling -> number
SIMT_OPS: dict[str, tuple[int, int, list[int]]]  # "block.sync" -> number, result, operands (Scalar)
SNODES: dict[str, "SNodeKind"]  # by name
MAX_AXES: int  # of a tree: their numbers are below it
MAX_TREE_DEPTH: int  # of SNodes above a place
MAX_CELLS: int  # of a container in a tree with sparse levels
QUANTS: dict[str, int]  # "int", "fixed" and "float" -> proto.QuantType.Kind number
WORD_BITS: tuple[int, ...]  # the sizes of words of quantised numbers
MAX_QUANT_BITS: int
MAX_FIXED_BITS: int
MAX_EXPONENT_BITS: int
MAX_FRACTION_BITS: int  # without the sign

class BuilderError(ValueError): ...

class Builder:
    """KernelBuilder, method for method; see client_cpp/kernel_builder.h."""

    def __init__(self, default_int: int, default_float: int) -> None: ...
    # types
    def scalar_type(self, scalar: int) -> int: ...
    def tensor_type(self, scalar: int, shape: Sequence[int]) -> int: ...
    def struct_type(self, members: Sequence[tuple[str, int]]) -> int: ...
    def type_info(self, type: int) -> tuple[int, tuple[int, ...], tuple[tuple[str, int], ...]]: ...
    def type_name(self, type: int) -> str: ...
    def type_of(self, node: int) -> int: ...
    def is_address(self, node: int) -> bool: ...
    def num_nodes(self) -> int: ...
    # parameters
    def add_value_param(self, type: int) -> int: ...
    def add_storage_param(self, storage: bytes, trees: Sequence[int] = ()) -> int:
        """storage: serialized proto Storage. In tree form, its tree t is the builder's trees[t]."""
    def differentiate(self, mode: int) -> None: ...
    def set_gradient(self, of: int, gradient: int) -> None: ...
    def set_dual(self, of: int, dual: int) -> None: ...
    def check_overwrites(self, of: int, marks: int, text: str) -> None: ...
    def add_tree(self, tree: "Tree") -> int: ...
    def set_return_types(self, types: Sequence[int]) -> None: ...
    # values
    def const_int(self, value: int, scalar: int) -> int: ...  # any Python int, wrapped
    def const_float(self, value: float, scalar: int) -> int: ...
    def const_bool(self, value: bool) -> int: ...
    def param(self, param: int) -> int: ...
    def unary(self, op: int, x: int) -> int: ...
    def binary(self, op: int, a: int, b: int) -> int: ...
    def ternary(self, op: int, c: int, a: int, b: int) -> int: ...
    def cast(self, x: int, type: int) -> int: ...
    def bit_cast(self, x: int, type: int) -> int: ...
    def make_tensor(self, elements: Sequence[int], shape: Sequence[int]) -> int: ...
    def extract(self, tensor: int, indices: Sequence[int]) -> int: ...
    def make_struct(self, type: int, members: Sequence[int]) -> int: ...
    def get_member(self, value: int, member: int) -> int: ...
    def random(self, type: int) -> int: ...
    def shape(self, param: int, axis: int) -> int: ...
    # addresses and memory
    def local(self, type: int, init: int = 0) -> int: ...
    def global_(self, param: int, indices: Sequence[int]) -> int: ...
    def element(self, address: int, indices: Sequence[int]) -> int: ...
    def join(self, addresses: Sequence[int], shape: Sequence[int]) -> int: ...
    def member_address(self, address: int, member: int) -> int: ...
    def stop_gradient(self, value: int) -> int: ...
    def stop_gradients_of(self, storages: Sequence[int]) -> None: ...  # in later loads
    def load(self, address: int) -> int: ...
    def store(self, address: int, value: int) -> None: ...
    def atomic(self, op: int, address: int, value: int) -> int: ...
    # control
    def begin_range_for(
        self,
        bounds: Sequence[int],
        serialize: bool = False,
        block_dim: int = 0,
        parallelize: int = 0,
        bit_vectorize: bool = False,
        block_dim_adaptive: bool = False,
    ) -> int: ...
    def begin_struct_for(
        self,
        param: int,
        serialize: bool = False,
        block_dim: int = 0,
        parallelize: int = 0,
        bit_vectorize: bool = False,
        block_dim_adaptive: bool = False,
    ) -> int: ...
    def loop_index(self, loop: int, dimension: int) -> int: ...
    def begin_while(self) -> int: ...
    def begin_if(self, condition: int) -> int: ...
    def begin_choose(self, condition: int) -> int: ...
    def else_(self) -> None: ...
    def yield_(self, value: int) -> None: ...
    def end(self) -> None: ...
    def break_(self) -> None: ...
    def continue_(self) -> None: ...
    def return_(self, values: Sequence[int]) -> None: ...
    # pieces: (text, type or 0, spec); the values follow in order
    def print_(
        self, values: Sequence[int], pieces: Sequence[tuple[str, int, str]], end: str
    ) -> int: ...
    def assert_(
        self, condition: int, values: Sequence[int], pieces: Sequence[tuple[str, int, str]]
    ) -> int: ...
    def append(
        self,
        kind: int,
        type: int,
        op: int,
        operands: Sequence[int],
        index: int,
        attributes: Sequence[int],
    ) -> int: ...
    # positions
    def add_file(self, path: str) -> int: ...
    def add_name(self, name: str) -> int: ...
    def add_span(
        self,
        file: int,
        line: int,
        column: int,
        end_line: int,
        end_column: int,
        inlined_at: int,
        function: int,
    ) -> int: ...
    def set_span(self, span: int) -> None: ...

class Instance:
    """A compiled kernel instance; made by Session.compile."""

    digest: str
    tier: str  # "process", "disk", "memory", "compiled"
    wait_seconds: float
    compile_seconds: float
    stages: list[tuple[str, float, str, dict[str, int]]]
    num_tasks: int
    # Where a node comes from, innermost first: as Diagnostic.spans.
    def positions(self, node: int) -> list[tuple[str, int, int, int, int, str]]: ...
    def node_kind(self, node: int) -> int: ...
    # Of kernels whose bounds are checked: the parameter whose elements a node takes.
    def node_param(self, node: int) -> int | None: ...
    # (name, digest, text) of each part of the key that it was compiled under.
    key_parts: list[tuple[str, int, str]]
    # For each parameter, whether the kernel writes to it.
    writes: list[bool]
    # For Session.fetch of a later process: (digest, writes, texts). lines: per file of the
    # source map, the lines of its function that hold code; none: line numbers stay.
    def pack(self, lines: list[list[int]]) -> tuple[bytes, bytes, bytes]: ...

class Diagnostic:
    severity: str  # the name of a proto.Severity, as "ERROR"
    kind: str  # the name of a proto.DiagnosticKind, as "KIND_TYPE"
    node: int
    message: str
    spans: list[
        tuple[str, int, int, int, int, str]
    ]  # innermost first: file, line, col, end line, end col, function

class CompileFailed(Exception):
    """args[0]: list[Diagnostic]."""

class Session:
    def __init__(self, home: str, server: str, bin_dir: str, use_cache: bool) -> None: ...
    def compile(
        self,
        builder: Builder,
        name: str,
        code: dict[str, int | str],
        report: dict[str, bool],
        target: str,
        aliases: Sequence[Sequence[int]],
    ) -> tuple[Instance, bytes]:
        """Finishes the builder and compiles or fetches; the GIL is released while waiting. Returns
        the instance, and what `warm` can compile it from again. code, report: fields of CodeOptions
        and ReportOptions (proto/options.proto). target "": the machine's. aliases: groups of
        parameters that share memory. CompileFailed for the user's errors."""
    def fetch(self, digest: bytes, writes: bytes, texts: bytes) -> Instance | None:
        """The instance that an earlier process packed; None if its artifact no longer exists."""
    def prefetch(self, digests: Sequence[bytes]) -> int:
        """Requests the entries that the disk lacks in one message; returns how many arrived."""
    def warm(
        self, recorded: bytes, target: str = "", print_ir: bool = False
    ) -> tuple[str, str, float, float, list[Diagnostic], list]:
        """Compiles what `compile` returned, unless its entry exists, and loads nothing.
        Returns (digest, tier, seconds waited, seconds of compiling, diagnostics, stages)."""
    read_only: bool  # the session writes nothing below the home
    own_home: bool  # only this user and root can have written files of the home
    compiler: bytes  # the compiler's id, part of every key; empty while unknown
    glibc: int  # N: kernels are compiled for machines with glibc 2.N or newer
    def stats(self) -> dict[str, Any]: ...  # this process: kernels, hits, misses, seconds_saved
    def daemon_stats(self) -> dict[str, Any]: ...
    def daemon_metrics(self) -> dict[str, dict[str, Any]]: ...  # family -> label's value -> number
    def daemon_recent(self, limit: int = 0, slowest: bool = False) -> dict[str, Any]: ...
    def clear_cache(self) -> dict[str, Any]: ...
    def stop_daemon(self) -> None: ...
    home: str

def code_option_names() -> list[str]: ...  # the fields of CodeOptions

class BadManifest(Exception):
    """The text says what is wrong with a manifest's file, and where."""

MAX_RECORDED_KERNEL_BYTES: int

class ManifestUnit:
    """A kernel that a program used; the texts are those of the file (client_cpp/manifest.h)."""

    key: str
    recorded: str  # name of the recorded kernel; "-": unknown
    target: str  # that the program requested; "-": the machine's
    record: str  # file of its warm record below the home; "-": none
    kernel: str  # as the program calls it
    def __init__(self, key: str, recorded: str, target: str, record: str, kernel: str) -> None: ...

class Manifest:
    program: str  # SHA-256 of its text; "-": unknown
    name: str  # of its file
    compiler: str
    units: list[ManifestUnit]
    recorded: dict[str, bytes] | None  # None: the home has them
    modules: tuple[tuple[str, str], ...]  # (SHA-256, file)
    def __init__(
        self,
        program: str,
        name: str,
        compiler: str,
        units: Sequence[ManifestUnit],
        recorded: dict[str, bytes] | None = None,
        modules: Sequence[tuple[str, str]] = (),
    ) -> None: ...
    @staticmethod
    def from_bytes(data: bytes) -> Manifest: ...  # BadManifest
    def to_bytes(self) -> bytes: ...
    def find_recorded(self, name: str) -> bytes | None: ...

def sha256(data: bytes) -> bytes: ...
def runtime_abi() -> int: ...
def read_function(
    lines: list[str], first_line: int, nested_fstrings: bool
) -> tuple[bytes, list[int], int] | None:
    """Reads the function whose decorators, or else `def`, begin at `first_line`. Returns a digest
    that is independent of comments, blank lines and position; the numbers of the lines with code;
    the line after its end."""

class MemoryBudget:
    """The bytes that trees with sparse SNodes may use together."""

    def __init__(self, limit: int) -> None: ...
    used: int
    limit: int

class SNodeKind:
    """The properties of a kind of SNodes (common/layout/snode_kinds.h). One object for each kind."""

    number: int  # of proto SNodeKind
    name: str
    is_sparse: bool  # cells are active or inactive
    is_list: bool  # cells are appended one by one, and deactivated only together
    is_word: bool
    is_place: bool

class Tree:
    """A tree of SNodes: layout and, once allocated, memory."""

    def __init__(self, nodes: Sequence[tuple]) -> None:
        """nodes[i] = (kind, [(axis, extent)…], parent, scalar, chunk_size,
        virtual_to_physical, index_offset, bits of the word, quantised type, exponent);
        node 0 is the root, parents come first, children in placement order. A quantised type
        is (kind, bits, is_signed, scale, exponent_bits); kind 0 means none. The exponent is
        1 + the number of the place that holds it. Raises ValueError for an invalid tree."""
    def allocate(self, names: Sequence[str] = (), budget: MemoryBudget | None = None) -> None:
        """names: the names of the nodes in messages. Raises MemoryError, which names the size."""
    def destroy(self) -> None: ...  # fields bound to it become stale
    def describe_node(self, node: int) -> "FieldStorage": ...  # the storage of an SNode
    def node_info(
        self, node: int
    ) -> dict[str, Any]: ...  # cell_bytes, container_bytes, offset, num_cells
    def is_all_dense(self, node: int) -> bool: ...
    # Of trees with sparse SNodes:
    def deactivate_all(self, node: int) -> None: ...  # and of all nodes below
    def count_active(self, node: int) -> int: ...
    def stats(self) -> dict[str, int]: ...
    def node_stats(self, node: int) -> dict[str, int]: ...
    has_sparse: bool
    bytes: int  # in use
    alive: bool

class FieldStorage:
    """The storage of a field, SNode or ndarray: descriptor, base addresses, extents. Keeps the owner
    of the memory alive."""

    descriptor: bytes  # serialized proto Storage, for Builder.add_storage_param
    shape: tuple[int, ...]
    bases: list[int]
    trees: list[Tree]  # the trees to which a descriptor in tree form refers by number
    alive: bool  # false once the memory is freed
    cuda_device: int | None  # the number of the one that has the elements; None: the host has them
    def release_to(self, stream: int) -> None:
        """Later work in another library's stream waits for what that device was given before."""

    is_writable: bool  # otherwise kernels that write to it raise
    def destroy(self) -> None: ...

def describe_field(
    places: Sequence[tuple[Tree, int]], scalar: int, element_shape: Sequence[int]
) -> "FieldStorage":
    """The storage of a field from the places of its components, in order. Raises ValueError if they
    cannot form a field."""

def join_fields(
    parts: Sequence[tuple["FieldStorage", Sequence[int]]], element_shape: Sequence[int]
) -> "FieldStorage":
    """The storage of a field from the storages of its parts, each with the numbers of its
    components. Raises ValueError if their shapes differ."""

def digest_of_trees(storages: Sequence["FieldStorage"]) -> bytes:
    """A digest of the parts of the trees on which kernels of these storages depend; empty without
    trees."""

def make_ndarray(
    scalar: int, element_shape: Sequence[int], shape: Sequence[int], texels: int = 0
) -> FieldStorage:
    """texels: of textures: 1, or 2 if integers stand for fractions (kiln_param.texels)."""

def to_dlpack(storage: FieldStorage) -> object:
    """A "dltensor" capsule over the elements, whose receiver keeps their memory."""

def cuda_array(storage: FieldStorage) -> tuple[int, tuple[int, ...], object]:
    """(address, strides in bytes, what keeps the memory) of elements on a CUDA device."""

def from_dlpack(capsule: object, element_axes: int = 0, is_external: bool = False) -> FieldStorage:
    """The storage of a "dltensor" capsule's tensor, whose last axes become those of the elements.
    is_external: for one launch; the annotation decides about axes, and the host has no access."""

def from_cuda_array(
    address: int,
    scalar: int,
    shape: Sequence[int],
    is_writable: bool,
    owner: object,
    element_axes: int = 0,
    is_external: bool = False,
) -> FieldStorage:
    """The same of a C-ordered array at an address of the CUDA device."""

def ndarray_descriptor(
    scalar: int, element_shape: Sequence[int], ndim: int, boundary: int = 0
) -> bytes:
    """The descriptor of an array of any shape for Builder.add_storage_param; boundary 1 clamps."""

class FieldBase:
    """The C base type of fields and ndarrays.

    It reads and writes subscripts of scalar fields (`x[i, j]`, `x[None]`, `x[()]`) in place, in
    0.05 us. Reading an element of a matrix field returns a live view; before set_view_types it
    calls `_get_element(indices)`. It writes lists and tuples of numbers itself, and calls
    `_set_element(indices, value)` for other values. If the field is not bound, it first calls
    `_materialize()`. These methods of the subclass raise the errors: `_stale_error()` if the memory
    is freed, `_index_error(key)`, `_value_error(value)`, and `_memory_error(reason)` if there is no
    memory to activate a cell.
    """

    def _bind(self, storage: FieldStorage) -> None: ...
    def _read(self, indices: Any, component: int) -> Any: ...
    def _write(self, indices: Any, component: int, value: Any) -> None: ...
    def _read_all(self, indices: Any) -> list: ...  # all components, row-major
    # Whole-field copies with a C-contiguous buffer of exactly the field's size.
    def _copy_to(self, array: Any) -> None: ...
    def _copy_read(self, array: Any) -> None: ...
    def _copy_from(self, array: Any) -> None: ...
    def _write_all(self, array: Any) -> None: ...  # makes all active
    def _fill(self, values: Sequence[Any]) -> None: ...  # one per component
    _storage: FieldStorage | None

class ElementView:
    """The C base type of live views of elements. It handles plain integer subscripts itself, and
    calls `_get_items(index)` and `_set_items(index, value)` for others."""

    _field: FieldBase
    _indices: tuple

def set_view_types(vector: type, matrix: type) -> None:
    """Registers the subclasses of ElementView for elements of matrix fields."""

class KernelBase:
    """The C base type of kernels. Its vectorcall finds the instance for the arguments, packs slots
    and launches, in 0.1 us for a scalar. It is a descriptor, so kernels in classes are methods.

    A call whose arguments match no instance returns ``self._miss(args, kwargs)``. These methods raise
    errors: ``self._argument_error(index, value, out_of_range)``, ``self._read_only_error(index)``,
    ``self._gradient_error(index, value, gradient)``, ``self._failed(instance, node, text, values)``
    and ``self._runtime_error(text)``. ``self._recorded(args, kwargs)`` returns the arguments of a call
    that `watch_calls` records, with copies of those that the program may change.
    """

    def _add_instance(
        self,
        instance: Instance,
        matchers: Sequence[tuple],
        sources: Sequence[tuple],
        returns: Sequence[tuple],
    ) -> None:
        """matchers, one per argument: ("any",); ("is", object) compares by identity; ("weak", weakref)
        with the referent by identity; ("eq", object) by ``==``; ("array", scalar, ndim,
        element_shape, element axes of a NumPy array, gradient: 0 either, 1 with, 2 without),
        optionally followed by the exact type.
        sources, one per kernel parameter in order: ("scalar", arg index, scalar);
        ("tensor", arg index, scalar, count, value -> flat list of numbers), of structs with
        one scalar per number;
        ("field", FieldBase or FieldStorage); ("array", arg index);
        ("gradient", arg index): the array of an array's gradient.
        returns: one (scalar, count, list of numbers -> value) per result; (scalar, 0, None)
        for a scalar."""
    def _try(self, args: tuple) -> tuple[bool, Any]: ...  # (ran, result)
    def _bound(self, args: tuple) -> tuple[Instance, list[tuple]] | None: ...
    def _set_derivative(self) -> None: ...  # calls are not watched
    def _forget(self) -> None: ...  # all instances
    def _prune(self) -> None: ...  # those whose objects or memory are gone
    num_instances: int

def forget_instances() -> None:
    """Makes all kernels drop their instances (for init and reset)."""

class LaunchTime:
    """Of a launch that a CUDA device may not have run yet."""

    def seconds(self) -> float: ...  # waits for it

def set_profiler(record: Callable[[str, float | LaunchTime], None] | None) -> None: ...
def end_kernels_on_interrupt() -> None: ...  # installs the handler if SIGINT has Python's own
def call_all(calls: tuple[tuple[Callable, tuple[int, ...]], ...], values: list) -> None:
    """Calls ``function(*[values[i] for i in numbers])`` for each pair (function, numbers)."""

class CapturedLaunches:
    """The launches of a captured graph (graph/captured.py)."""

    def add(self, kernel: KernelBase, args: tuple) -> None:
        """Adds the call of a kernel that has an instance for it. The caller keeps the arguments."""

    def finish(self) -> None: ...  # after the last one
    def run(self) -> str | None:
        """Runs all of them. Returns why the device could not; "": their memory exists no more."""

    def __len__(self) -> int: ...

class Calls:
    """Recorded calls: a sequence of pairs (function, tuple of arguments)."""

    def append(self, call: tuple[Callable, tuple]) -> None: ...
    def replay(
        self, of: Callable[[Callable], Callable | None], report: Callable[..., None] | None
    ) -> None:
        """Calls ``of(function)(*args)`` for each call, the last one first, unless it is None. Asks
        ``of`` once for each function. Calls ``report(reads, wrote)`` with two pairs ((kernel,
        instance), node) where a gradient kernel reads what the kernel of a later call may have
        overwritten."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int) -> tuple[Callable, tuple]: ...

def watch_calls(by: Calls | Callable[[KernelBase, tuple, dict], Any] | None) -> Any:
    """Calls get each call of a kernel that succeeds; a function is called in place of the kernel.
    Derivatives are not watched, unless the function has a true attribute `watches_derivatives`.
    Returns what watched before."""

def watcher() -> Any: ...  # what watches calls; None: nothing
def check_fields(wanted: bool) -> None: ...  # whether the next launch calls `_miss`, which checks
def set_threads(n: int) -> None: ...  # threads per launch; 0: all
def set_seed(seed: int) -> None: ...
def set_tape_limit(bytes: int) -> None:
    """Of each thread's tape; 0: the default."""

def default_threads() -> int: ...
def host_target() -> str: ...
def synchronize() -> None: ...
def release_to(stream: int) -> None:
    """Later work in another library's stream waits for what the device was given before."""

class StreamChoice:
    """The thread's launches on the CUDA device go to this stream, 0: the default one, until `end`."""

    def __init__(self, stream: int) -> None: ...
    def end(self) -> None: ...

def stream() -> int: ...  # that of the thread
def wait_for(stream: int) -> None:
    """What the device is given later waits for the stream's work so far."""

def count_cuda_devices() -> int: ...
def use_device(kind: str, number: int = 0) -> str:
    """ "cpu" or "cuda", and which of the CUDA devices. Returns its target."""

def limit_blocks(most: int) -> None:
    """The most blocks of threads that a task has on the device; 0: as many as pay."""

def device_memory_bytes() -> int: ...  # 0: the device uses the host's memory
def program_folder() -> str:
    """The folder of kilnd; empty: not found."""

def program(name: str) -> str:
    """The path of a program, where it is or where it is expected."""

def dashboard_path(home: str) -> str:
    """The file with the address of the dashboard of the home's daemon, if it has one."""

def upstream_tier(server: str) -> str:
    """The configuration of kilnd that equals KILN_SERVER=server and the other KILN_SERVER_
    variables."""

TARGETS: tuple[str, ...]  # the targets that Kiln can compile for, the least first
CUDA_TARGETS: tuple[str, ...]  # the same of CUDA devices: machine code, then PTX alone

def version() -> str: ...

# The cache's files (kiln cache) and keys (kiln key). Wrong arguments and key files raise
# ValueError; damaged files raise RuntimeError.

def entry_head(path: str) -> dict[str, Any]:
    """key, kernel, tenant, target, runtime_abi, compiler, compile_seconds, code_bytes, tasks,
    signer ("" if unsigned), parts [(name, digest, text)], needs. Does not verify the checksum."""

def verify_entries(home: str, files: list[str], key_files: list[str]) -> list[tuple[str, bool]]:
    """For each file: what is wrong ("" if nothing), and whether only its signature is."""

def export_bundle(files: list[str], path: str, signing_key_file: str) -> dict[str, Any]:
    """entries, bytes, left_out (files that are not valid entries, with the reason)."""

def import_bundle(
    home: str, path: str, key_files: list[str], accept_unsigned: bool, any_target: bool
) -> dict[str, Any]:
    """entries, imported, present, bytes, refused [{key, kernel, reason, text}]."""

def new_key(name: str) -> tuple[str, str]: ...  # (secret line, public line)
def public_key(file: str) -> str: ...  # the public line of a secret key's file
def key_id(line: str) -> tuple[str, str]: ...  # (name, id) of a public line
def key_files(home: str) -> list[str]: ...  # the files with this user's trusted keys
def key_file_to_change(home: str) -> str: ...  # the one of them to which new keys are added
def count_keys(home: str) -> int: ...  # raises RuntimeError, ValueError for a wrong file
def distrust_of(home: str) -> str: ...  # why another user can write to the home; "" if none can
def read_note(home: str, name: str) -> bytes | None: ...  # client_cpp/notes.h
def write_note(home: str, name: str, data: bytes) -> None: ...  # OSError if it cannot be
