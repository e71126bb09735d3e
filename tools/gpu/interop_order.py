"""Checks that work of Kiln and PyTorch keeps its order: in streams, threads and graphs."""

import sys
import threading

import kiln as ti
import numpy as np
from checks import Missing, check
from interop_base import (
    IS_STAND_IN,
    after_steps,
    copy,
    cupy,
    double,
    given,
    read,
    same,
    slow,
    steps,
    torch,
    turns,
)

# ---- order of work


def work_in_order(number, before=slow):
    """PyTorch's work, a kernel's, and PyTorch's again, on parts of all sizes."""
    generator = np.random.default_rng(7)
    most = 1 << (10 if IS_STAND_IN else 16)
    tensor = given(np.zeros(most, np.int32))
    for turn in range(turns(number)):
        count = int(generator.integers(1, most))
        part = tensor[:count]
        long = int(generator.integers(1, 30 if IS_STAND_IN else 30_000))
        before()
        part.fill_(turn)
        double(part)
        part.add_(1)
        found = read(part)
        same(found, np.full(count, 2 * turn + 1, np.int32), f"turn {turn}")
        numbers = given(np.arange(count, dtype=np.uint32))
        before()
        result = numbers.clone()
        steps(result, long)
        same(read(result), after_steps(np.arange(count, dtype=np.uint32), long), f"turn {turn}")


@check()
def order_in_the_default_stream():
    work_in_order(400)


@check()
def order_in_streams_of_pytorch():
    for _ in range(2):
        with torch.cuda.stream(torch.cuda.Stream()):
            work_in_order(300)


@check()
def order_in_streams_of_both():
    """The kernels in PyTorch's stream, or in another one, while PyTorch uses its own."""
    mine, other = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(mine), ti.cuda.stream(mine):
        work_in_order(200)
    with torch.cuda.stream(mine), ti.cuda.stream(other):
        work_in_order(200)
    with ti.cuda.stream(other):
        work_in_order(200)


@check()
def order_of_shared_ndarrays():
    """What DLPack gives PyTorch is ordered when it is given."""
    x = ti.ndarray(ti.u32, shape=1 << 12)
    for turn in range(turns(200)):
        with torch.cuda.stream(torch.cuda.Stream()):
            x.fill(turn)
            steps(x, 20 if IS_STAND_IN else 20_000)
            tensor = torch.from_dlpack(x)
            wanted = after_steps(np.full(1 << 12, turn, np.uint32), 20 if IS_STAND_IN else 20_000)
            same(read(tensor), wanted, f"turn {turn}")


@check()
def temporaries():
    """PyTorch uses the memory of tensors again while a kernel may still run."""
    for stream in torch.cuda.default_stream(), torch.cuda.Stream():
        with torch.cuda.stream(stream):
            results = []
            for turn in range(turns(300)):
                first = given(np.full(5000, turn, np.uint32))
                second = torch.empty_like(first)
                steps(first, 20 if IS_STAND_IN else 5000)
                copy(first, second)
                del first
                again = torch.empty_like(second)
                again.fill_(123)
                results.append(second)
            for turn, result in enumerate(results):
                count = 20 if IS_STAND_IN else 5000
                same(read(result), after_steps(np.full(5000, turn, np.uint32), count), turn)


@check(stand_in=False)
def order_in_streams_of_cupy():
    cp = cupy()
    for stream in cp.cuda.Stream(), cp.cuda.Stream(non_blocking=True):
        with stream, torch.cuda.stream(torch.cuda.ExternalStream(stream.ptr)):
            for turn in range(turns(200)):
                slow()
                array = cp.full(20_000, turn, np.uint32)
                array += 1
                steps(array, 10_000)
                array += 1
                wanted = after_steps(np.full(20_000, turn + 1, np.uint32), 10_000) + 1
                same(cp.asnumpy(array), wanted, f"turn {turn}")


@check()
def two_threads():
    """Each in a stream of its own, and both in the default one."""
    errors = []

    def work(stream):
        try:
            with torch.cuda.stream(stream):
                for turn in range(turns(200)):
                    tensor = given(np.full(1000 + turn, turn, np.int32))
                    double(tensor)
                    tensor.add_(1)
                    double(tensor)
                    same(read(tensor), np.full(1000 + turn, turn * 4 + 2, np.int32), turn)
        except BaseException as error:
            errors.append(error)

    for streams in (
        (torch.cuda.Stream(), torch.cuda.Stream()),
        (torch.cuda.default_stream(), torch.cuda.default_stream()),
    ):
        # The emulator's stand-in is no allocator that threads may share.
        threads = [threading.Thread(target=work, args=(stream,)) for stream in streams]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]


# ---- graphs


@check()
def captured_graphs():
    """Of Kiln, around work of PyTorch's in another stream."""
    x, y = ti.ndarray(ti.u32, 5000), ti.ndarray(ti.u32, 5000)
    count = 20 if IS_STAND_IN else 2000
    steps(x, count)
    copy(x, y)
    with ti.graph.capture() as graph:
        steps(x, count)
        copy(x, y)
    x.fill(0)
    tensor = torch.from_dlpack(y)
    wanted = np.zeros(5000, np.uint32)
    for turn in range(turns(100)):
        graph.launch()
        wanted = after_steps(wanted, count)
        same(read(torch.from_dlpack(y)), wanted, f"turn {turn}")
    same(read(tensor), wanted)


@check(stand_in=False)
def graphs_of_both():
    x = ti.ndarray(ti.u32, 5000)
    steps(x, 2000)
    with ti.graph.capture() as graph:
        steps(x, 2000)
    x.fill(0)
    tensor = torch.from_dlpack(x).view(torch.int32)
    torch.cuda.synchronize()
    other = torch.cuda.CUDAGraph()
    with torch.cuda.graph(other):
        tensor.add_(5)
    wanted = np.zeros(5000, np.uint32)
    for turn in range(100):
        graph.launch()
        torch.from_dlpack(x)  # orders the current stream
        other.replay()
        torch.cuda.synchronize()
        wanted = after_steps(wanted, 2000) + np.uint32(5)
        same(x.to_numpy(), wanted, f"turn {turn}")


@check(alone=True, stand_in=False)
def a_kernel_in_a_capture_of_pytorch():
    """Captured, or an error; never a launch that the graph does not repeat."""
    tensor = given(np.ones(1000, np.float32))
    double(tensor)
    torch.cuda.synchronize()
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    try:
        with torch.cuda.graph(graph, stream=stream), ti.cuda.stream(stream):
            tensor.add_(1)
            double(tensor)
    except Exception as error:
        print(f"a capture of PyTorch's: {type(error).__name__}: {error}", file=sys.stderr)
        raise Missing(f"captures: {type(error).__name__}: {str(error)[:500]}") from None
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    same(read(tensor), np.full(1000, ((2 * 2 + 2) * 2 + 2) * 2 + 2))
