"""Makes instances of kernels. An instance is a kernel's code for arguments of certain kinds.

A valid warm record yields the instance without the front end. Otherwise the front end builds the
kernel, and the session fetches it from the cache or compiles it.
"""

import os
from _thread import RLock

from . import _native, autodiff, errors, events, interrupts, runtime, stat
from .arguments import (
    FLAT,
    MOST_ARGUMENTS,
    ArrayGradient,
    ScalarParameter,
    annotation_advice,
    cook_return,
    return_spec,
)
from .data import trees
from .data.field import overlapping
from .diagnostics import say
from .warm import records as warm_records

_MANY_INSTANCES = 64
# The front end builds one instance at a time; no thread holds the lock while the compiler works.
_build_lock = RLock()


def _make_lock():
    """Replaces the lock in a forked child: a thread that held it does not exist there."""
    global _build_lock
    _build_lock = RLock()


os.register_at_fork(after_in_child=_make_lock)


# (kernel, the arguments of its leaves) of each instance that is made; None: they are not noted.
noted = None


def make_instance(kernel, args):
    """Makes the instance of a kernel for the arguments of its leaves, and adds it to the kernel."""
    while True:
        making = Making(kernel, args)
        found = making.instance, making.bound
        if not making.is_done or warm_records.is_checking():
            with events.compiling(kernel.__name__):
                making.build()
                making.compile()
            if found[0] is not None:
                warm_records.compare(kernel, found, (making.instance, making.bound))
        if making.is_current:
            return making.add()


class Making:
    """The making of an instance, step by step: unless a warm record has it, `build` and `compile`;
    then `add`. Another thread may run `compile`.

    instance: None until it is made. bound: what it is bound to besides its arguments: fields,
    SNodes, gradients of arrays. An export wants what the front end makes: it passes `records`
    False.
    """

    def __init__(self, kernel, args, records=True):
        runtime.require_init(f"run kernel '{kernel.__name__}'")
        interrupts.end_kernels()  # the program may have set Python's handler anew
        kernel._prune()
        trees.materialize()
        for position, (parameter, value) in enumerate(zip(kernel._leaves, args)):
            if parameter.kind is ScalarParameter and annotation_advice(value):
                kernel._argument_error(position, value, False)
        self._generation = runtime.generation
        self._kernel, self._args = kernel, args
        self._specs = [p.specialise(v) for p, v in zip(kernel._leaves, args)]
        _check_counts(kernel, self._specs)
        self._ctx = self._builder = self._recorded = None
        found = warm_records.find(kernel, args, self._specs) if records else None
        self.instance, self.bound = found or (None, None)

    @property
    def is_done(self):
        """Whether only `add` is left."""
        return self.instance is not None

    @property
    def is_current(self):
        """Whether the instance is for the program as it is. Another thread's ti.init or ti.reset
        makes it one for fields that are gone, other options, and perhaps another device."""
        return self._generation == runtime.generation

    def build(self):
        """Runs the front end."""
        kernel, cfg = self._kernel, runtime.cfg
        self._builder = _native.Builder(cfg.default_ip.scalar, cfg.default_fp.scalar)
        runtime.transformed += 1
        # The front end is imported here, at its first use: kernels with warm records never need it.
        with _build_lock:
            from .frontend.context import BuildContext

            self._ctx = BuildContext(self._builder, cfg, kernel.__name__)
            self._ctx.autodiff = kernel.autodiff
            self._ctx.is_validated = kernel.is_validated
            self.bound = _build(kernel, self._ctx, self._args, self._specs)
        self._session = runtime.session()
        for text in self._ctx.warnings:
            runtime._warn(text)
            if self._ctx.trace is not None:
                self._ctx.trace.said(text)

    def compile(self):
        """Waits for the compiler."""
        self.instance, self._recorded = _compile(
            self._kernel, self._ctx, self._builder, self._session
        )

    def finish(self):
        """What the compiler needs for any target, in place of `compile`, for an export."""
        ctx = self._ctx
        return _native.finish_unit(
            self._builder,
            self._kernel.__name__,
            runtime.cfg.code_options(),
            _aliases(ctx.bindings),
        )

    def sources(self):
        """Where the slots of each parameter come from, as KernelBase._add_instance takes it."""
        sources = [
            (spec.source[0], position, *spec.source[1:])
            for position, spec in enumerate(self._specs)
            if spec.source is not None
        ]
        for one in self.bound:
            if isinstance(one, ArrayGradient):
                sources.append(("gradient", one.position))
            else:
                sources.append(("field", getattr(one, "_bound_storage", one)))
        return sources

    @property
    def matchers(self):
        """For each argument, which values the instance serves."""
        return [spec.matcher for spec in self._specs]

    def add(self):
        """Adds the instance to its kernel."""
        kernel, specs, instance, ctx = self._kernel, self._specs, self.instance, self._ctx
        if noted is not None:
            noted.append((kernel, self._args))
        if ctx is not None:
            warm_records.keep(kernel, ctx.trace, self.bound, ctx.sources, instance, self._recorded)
        for one in self.bound:
            if isinstance(one, ArrayGradient):
                specs[one.position].require_gradient()
        returns = [return_spec(cook_return(r)) for r in kernel._returns]
        if kernel.autodiff in (autodiff.REVERSE, autodiff.SECOND):
            returns = []
        if runtime.cfg.debug or runtime.cfg.check_out_of_bound:
            instance.accessed = _accessed(kernel, specs, self.bound)
        runtime.instances_made += 1
        runtime.derivatives_made |= bool(kernel.autodiff)
        kernel._add_instance(instance, self.matchers, self.sources(), returns)
        events.kernel_ready(
            kernel.__name__,
            instance.tier,
            instance.wait_seconds,
            instance.compile_seconds,
            instance,
        )


def _check_counts(kernel, specs):
    count = sum(spec.source is not None for spec in specs)
    if count > MOST_ARGUMENTS:
        raise say.kernel_has_too_many_arguments(
            kernel=kernel.__name__, count=count, most=MOST_ARGUMENTS
        )
    if kernel.num_instances == _MANY_INSTANCES:
        runtime._warn(say.kernel_has_many_instances(kernel=kernel.__name__, count=_MANY_INSTANCES))


def _accessed(kernel, specs, bound):
    """For each parameter of the instance: (its name in messages, its first index or None)."""
    taken = zip(kernel._leaves, specs)
    found = [(f"argument '{leaf.name}'", None) for leaf, spec in taken if spec.source]
    for one in bound:
        if isinstance(one, ArrayGradient):
            found.append((f"the gradient of argument '{kernel._leaves[one.position].name}'", None))
        else:
            found.append(one._accessed())
    return found


def _build(kernel, ctx, args, specs):
    """Runs the front end. Returns what the kernel uses besides its arguments, in order of the
    parameters."""
    from .frontend.build import build_kernel
    from .frontend.companions import differentiate
    from .frontend.trace import Trace

    ctx.trace = Trace(kernel.source)
    arguments = []
    positions = {}  # id of an array argument -> its position
    for position, spec in enumerate(specs):
        arguments.append(spec.bind(ctx))
        positions[id(arguments[-1])] = position
        if args[position] is not FLAT:
            ctx.trace.parameter(position, warm_records.template_of(args[position], spec))
    leaves = list(arguments)
    if kernel._leaves is not kernel._parameters:
        bound = iter(arguments[1:])
        arguments = [parameter.bind(bound) for parameter in kernel._parameters]
    num_given = len(ctx.bindings)
    try:
        build_kernel(ctx, kernel.source, arguments, [cook_return(r) for r in kernel._returns])
    except errors.TaichiCompilationError as error:
        if runtime.cfg.print_full_traceback:
            raise
        raise error from None
    if kernel.autodiff:
        differentiate(ctx, leaves)
    found = []
    for _, (kind, bound) in ctx.bindings[num_given:]:
        if kind == "gradient":
            bound = ArrayGradient.of(positions[id(bound)])
        found.append(bound)
    return found


def _compile(kernel, ctx, builder, session):
    """The instance, and what it can be compiled from again."""
    cfg = runtime.cfg
    report = {
        "print_ir": bool(cfg.print_ir),
        "timing": bool(cfg.print_ir),
        "statistics": stat.wanted,
    }
    diagnostics = None
    try:
        instance, recorded = session.compile(
            builder,
            kernel.__name__,
            cfg.code_options(),
            report,
            runtime.target(),
            _aliases(ctx.bindings),
        )
    except _native.CompileFailed as failed:
        diagnostics = failed.args[0] if len(failed.args) == 1 else list(failed.args)
    if diagnostics is not None:  # raised outside of the handler, to keep CompileFailed hidden
        from .frontend.report import raise_diagnostics

        raise_diagnostics(diagnostics, ctx)
    if stat.wanted:
        stat.record(instance)
    if cfg.print_ir:
        for name, seconds, ir, _ in instance.stages:
            print(f"[Kiln] {kernel.__name__}: {name} ({seconds * 1e3:.1f} ms):\n{ir}")
    return instance, recorded


def _aliases(bindings):
    """Groups of parameters whose fields share memory, as a matrix field and one of its
    components."""
    return overlapping([(param, bound) for param, (kind, bound) in bindings if kind == "field"])
