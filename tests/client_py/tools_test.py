"""Tools: profilers, sorting, prefix sums, files."""

import os
import subprocess
import sys

import numpy as np
import pytest

# --- profilers


@pytest.fixture
def profiled(ti):
    ti.init(ti.cpu, kernel_profiler=True)

    @ti.kernel
    def work(n: ti.i32) -> ti.f32:
        total = 0.0
        for i in range(n):
            total += ti.sin(float(i))
        return total

    for n in (100_000, 10, 10):
        work(n)
    return ti.profiler


def test_kernel_profiler_counts(profiled, capsys):
    result = profiled.query_kernel_profiler_info("work")
    assert result.counter == 3
    assert 0 < result.min <= result.avg <= result.max
    assert profiled.get_kernel_profiler_total_time() == pytest.approx(3 * result.avg / 1e3)
    profiled.print_kernel_profiler_info()
    thick, title, _, columns, _, row, _, summary, _ = capsys.readouterr().out.splitlines()
    assert title == "Kernel Profiler(count, default) @ X64 " and set(thick) == {"="}
    assert columns == "[      %     total   count |      min       avg       max   ] Kernel name"
    assert row.startswith("[100.00%") and "      3x |" in row and row.endswith("] work")
    assert summary.endswith("number of results: 1")


def test_kernel_profiler_traces(profiled, capsys):
    profiled.print_kernel_profiler_info("trace")
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2] == "Number of records:  3"
    assert [line.endswith("] work") for line in lines[5:8]] == [True] * 3
    with pytest.raises(ValueError, match="'count' or 'trace'"):
        profiled.print_kernel_profiler_info("all")


def test_kernel_profiler_forgets(profiled):
    profiled.clear_kernel_profiler_info()
    assert profiled.query_kernel_profiler_info("work").counter == 0
    assert profiled.get_kernel_profiler_total_time() == 0


def test_kernel_profiler_off(ti, capsys):
    assert ti.profiler.query_kernel_profiler_info("work") is None
    assert ti.profiler.get_kernel_profiler_total_time() == 0.0
    assert ti.profiler.set_kernel_profiler_toolkit("default") is False
    ti.profiler.print_kernel_profiler_info()
    shown = capsys.readouterr()
    assert shown.out == "" and "ti.init(kernel_profiler = True)" in shown.err


def test_metrics_are_names_only(profiled):
    assert profiled.set_kernel_profiler_toolkit("default") is True
    assert profiled.set_kernel_profiler_toolkit("cupti") is False
    suite = profiled.get_predefined_cupti_metrics("shared_access")
    assert len(suite) == 4 and all(isinstance(m, profiled.CuptiMetric) for m in suite)
    assert profiled.get_predefined_cupti_metrics("nothing") is None
    with profiled.collect_kernel_profiler_metrics(suite):
        pass
    assert profiled.query_kernel_profiler_info("work").counter == 0


def test_scoped_and_memory_profiler(profiled, ti, capsys):
    ti.field(ti.f32, 1000, name="numbers").fill(0)
    profiled.print_scoped_profiler_info()
    rows = [line for line in capsys.readouterr().out.splitlines() if line.endswith("  work")]
    assert len(rows) == 1 and float(rows[0].split()[1]) > 0
    profiled.clear_scoped_profiler_info()
    profiled.print_scoped_profiler_info()
    assert "work" not in capsys.readouterr().out
    profiled.print_memory_profiler_info()
    text = capsys.readouterr().out
    assert text.startswith("[Memory Profiler]") and "numbers" in text and "resident" in text


# --- algorithms


@pytest.mark.parametrize("n", [1, 2, 5000, 70_001])
@pytest.mark.parametrize("dtype", "i8 i16 i32 i64 u8 u16 u32 u64 u1 f16 f32 f64".split())
def test_parallel_sort(ti, dtype, n):
    random = np.random.default_rng(n)
    keys, values = ti.field(getattr(ti, dtype), n), ti.field(ti.i32, n)
    kind = np.dtype(keys.dtype.numpy_name)
    if kind.kind == "f":
        data = random.normal(size=n).astype(kind)
        for value in (np.nan, np.inf, -np.inf, 0.0, -7.0):
            data[random.integers(0, n, n // 9)] = value
    else:
        least, most = (0, 1) if dtype == "u1" else (np.iinfo(kind).min, np.iinfo(kind).max)
        data = random.integers(least, most, n, dtype=kind, endpoint=True)
        data[: n // 2] = random.integers(0, 2, n // 2)
    keys.from_numpy(data)
    values.from_numpy(np.arange(n, dtype=np.int32))
    ti.algorithms.parallel_sort(keys, values)
    order = np.argsort(data, kind="stable")
    np.testing.assert_array_equal(keys.to_numpy(), data[order])
    np.testing.assert_array_equal(values.to_numpy(), order)
    keys.from_numpy(data)
    ti.algorithms.parallel_sort(keys)
    np.testing.assert_array_equal(keys.to_numpy(), data[order])


def test_parallel_sort_of_zeros_with_signs(ti):
    keys, values = ti.field(ti.f32, 4), ti.field(ti.i32, 4)
    for i, key in enumerate((0.0, -0.0, 0.0, -0.0)):
        keys[i], values[i] = key, i
    ti.algorithms.parallel_sort(keys, values)
    assert np.signbit(keys.to_numpy()).tolist() == [True, True, False, False]
    assert values.to_numpy().tolist() == [1, 3, 0, 2]


def test_parallel_sort_moves_all_kinds_of_values(ti):
    n = 5000
    data = np.random.default_rng(3).integers(-50, 50, n, dtype=np.int32)
    order = np.argsort(data, kind="stable")
    keys = ti.field(ti.i32, n)
    structs = ti.types.struct(a=ti.f32, v=ti.math.vec3, k=ti.i64).field(shape=n)
    structs.a.from_numpy(np.arange(n, dtype=np.float32))
    structs.v.from_numpy(np.arange(3 * n, dtype=np.float32).reshape(n, 3))
    structs.k.from_numpy(-np.arange(n))
    keys.from_numpy(data)
    ti.algorithms.parallel_sort(keys, structs)
    assert (structs.a.to_numpy() == order).all() and (structs.k.to_numpy() == -order).all()
    assert (structs.v.to_numpy()[:, 2] == 3 * order + 2).all()
    matrices = ti.Matrix.field(2, 3, ti.f64, shape=n)
    matrices.from_numpy(np.arange(6.0 * n).reshape(n, 2, 3))
    keys.from_numpy(data)
    ti.algorithms.parallel_sort(keys, matrices)
    assert (matrices.to_numpy()[:, 1, 2] == 6 * order + 5).all()


def test_parallel_sort_of_quantised_and_sparse_fields(ti):
    n = 1000
    data = np.random.default_rng(4).integers(-50, 50, n)
    order = np.argsort(data, kind="stable")
    small = ti.types.quant.int(bits=10, signed=True)
    fraction = ti.types.quant.fixed(bits=10, signed=True, max_value=64.0)
    keys, values, sparse = ti.field(small), ti.field(fraction), ti.field(ti.f32)
    word = ti.BitpackedFields(max_num_bits=32)
    word.place(keys, values)
    ti.root.dense(ti.i, n).place(word)
    ti.root.pointer(ti.i, n // 100).dense(ti.i, 100).place(sparse)
    for i in range(n):
        keys[i], values[i], sparse[i] = data[i], data[i] / 2, data[i]
    ti.algorithms.parallel_sort(keys, values)
    ti.algorithms.parallel_sort(sparse)
    assert (keys.to_numpy() == data[order]).all() and (sparse.to_numpy() == data[order]).all()
    np.testing.assert_allclose(values.to_numpy(), data[order] / 2, atol=0.13)


def test_parallel_sort_names_what_it_cannot_sort(ti):
    sort, keys = ti.algorithms.parallel_sort, ti.field(ti.i32, 3)
    with pytest.raises(ValueError, match=r"one axis, not of shape \(3, 3\)"):
        sort(ti.field(ti.i32, (3, 3)))
    with pytest.raises(ValueError, match=r"have shape \(4,\), the keys have \(3,\)"):
        sort(keys, ti.field(ti.i32, 4))
    with pytest.raises(TypeError, match="field of numbers, not MatrixField"):
        sort(ti.Vector.field(2, ti.i32, 3))
    with pytest.raises(TypeError, match="must be a field, not ndarray"):
        sort(keys, np.zeros(3))


def test_parallel_sort_with_offsets(ti):
    keys = ti.field(ti.i32, 10, offset=-5)
    values = ti.field(ti.f32, 10, offset=100)
    for i in range(10):
        keys[i - 5] = (i * 7) % 10
        values[100 + i] = keys[i - 5] / 2
    ti.algorithms.parallel_sort(keys, values)
    assert keys.to_numpy().tolist() == list(range(10))
    assert values.to_numpy().tolist() == [i / 2 for i in range(10)]


@pytest.mark.parametrize("n", [1, 63, 4096, 4097, 100_000])
def test_prefix_sum(ti, n):
    data = np.random.default_rng(0).integers(-9, 9, n + 3, dtype=np.int32)
    field = ti.field(ti.i32, n + 3)
    executor = ti.algorithms.PrefixSumExecutor(n)
    for _ in range(2):
        field.from_numpy(data)
        executor.run(field)
        np.testing.assert_array_equal(field.to_numpy()[:n], np.cumsum(data[:n]))
        np.testing.assert_array_equal(field.to_numpy()[n:], data[n:])


def test_prefix_sum_refuses(ti):
    with pytest.raises(RuntimeError, match="Only ti.i32"):
        ti.algorithms.PrefixSumExecutor(4).run(ti.field(ti.f32, 4))
    with pytest.raises(RuntimeError, match="at least 4"):
        ti.algorithms.PrefixSumExecutor(4).run(ti.field(ti.i32, 3))


# --- names


@pytest.mark.parametrize(
    "module, names",
    [
        ("algorithms", "PrefixSumExecutor parallel_sort"),
        (
            "linalg",
            "LinearOperator MatrixFreeBICGSTAB MatrixFreeCG SparseCG SparseMatrix "
            "SparseMatrixBuilder SparseSolver",
        ),
        (
            "profiler",
            "CuptiMetric clear_kernel_profiler_info clear_scoped_profiler_info "
            "collect_kernel_profiler_metrics get_kernel_profiler_total_time "
            "get_predefined_cupti_metrics kernel_metrics kernel_profiler memory_profiler "
            "print_kernel_profiler_info print_memory_profiler_info print_scoped_profiler_info "
            "query_kernel_profiler_info scoped_profiler set_kernel_profiler_metrics "
            "set_kernel_profiler_toolkit",
        ),
        ("simt", "block grid subgroup warp"),
        (
            "simt.block",
            "SharedArray global_thread_idx mem_sync sync sync_all_nonzero sync_any_nonzero "
            "sync_count_nonzero thread_idx",
        ),
        ("simt.grid", "memfence"),
        (
            "simt.warp",
            "active_mask all_nonzero any_nonzero ballot match_all match_any shfl_down_f32 "
            "shfl_down_i32 shfl_sync_f32 shfl_sync_i32 shfl_up_f32 shfl_up_i32 shfl_xor_i32 sync "
            "unique",
        ),
        ("simt.subgroup", "barrier reduce_add inclusive_add exclusive_xor shuffle_xor elect"),
        ("tools", "PLYWriter VideoManager imread imresize imshow imwrite write_vtk"),
    ],
)
def test_names_of_the_reference(ti, module, names):
    found = ti
    for part in module.split("."):
        found = getattr(found, part)
    assert not set(names.split()) - set(dir(found))


# --- files


def test_ply_text(ti, tmp_path, capsys):
    writer = ti.tools.PLYWriter(num_vertices=3, num_faces=1, comment="three")
    writer.add_vertex_pos(np.array([0, 1, 0.1]), np.array([0, 0, 1.0]), np.zeros(3))
    writer.add_vertex_channel("pair", "uchar", np.array([[1, 2], [3, 4], [5, 6]]))
    writer.add_vertex_channel("none", "quaternion", np.zeros(3))
    writer.add_faces(np.array([0, 1, 2]))
    writer.add_face_piece(np.array([7]))
    writer.export_frame_ascii(4, str(tmp_path / "mesh.ply"))
    assert "Unknown type quaternion detected" in capsys.readouterr().out
    assert (tmp_path / "mesh_000004.ply").read_text().splitlines() == [
        "ply",
        "format ascii 1.0",
        "comment three",
        "element vertex 3",
        "property float x",
        "property float y",
        "property float z",
        "property uchar pair_1",
        "property uchar pair_2",
        "element face 1",
        "property list uchar int vertex_indices",
        "property int piece",
        "end_header",
        "0.0 0.0 0.0 1 2 ",
        "1.0 0.0 0.0 3 4 ",
        "0.1 1.0 0.0 5 6 ",
        "3 0 1 2 7 ",
    ]


def test_ply_binary(ti, tmp_path):
    writer = ti.tools.PLYWriter(num_vertices=4, num_faces=1, face_type="quad")
    x = np.arange(4.0)
    writer.add_vertex_pos(x, 2 * x, 3 * x)
    writer.add_vertex_id()
    writer.add_faces(np.array([[0, 1, 2, 3]]))
    writer.export(str(tmp_path / "mesh.ply"))
    header, _, body = (tmp_path / "mesh.ply").read_bytes().partition(b"end_header\n")
    assert f"binary_{sys.byteorder}_endian".encode() in header
    vertices = np.frombuffer(body[:64], np.dtype([("p", "f4", 3), ("id", "i4")]))
    np.testing.assert_array_equal(vertices["p"], np.stack([x, 2 * x, 3 * x], axis=1))
    assert vertices["id"].tolist() == [0, 1, 2, 3]
    assert body[64] == 4 and np.frombuffer(body[65:], np.int32).tolist() == [0, 1, 2, 3]


def test_ply_refuses(ti, tmp_path):
    with pytest.raises(AssertionError, match="num_vertices"):
        ti.tools.PLYWriter(num_vertices=0)
    writer = ti.tools.PLYWriter(num_vertices=2, num_faces=1)
    with pytest.raises(AssertionError, match="vertex channel"):
        writer.add_vertex_channel("x", "float", np.zeros(3))
    with pytest.raises(AssertionError, match="pos channel is missing"):
        writer.export(str(tmp_path / "mesh.ply"))
    writer.add_vertex_pos(*np.zeros((3, 2)))
    with pytest.raises(AssertionError, match="face indices"):
        writer.export(str(tmp_path / "mesh.ply"))


def test_images_round_trip(ti, tmp_path):
    pytest.importorskip("PIL")
    pixels = np.random.default_rng(0).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    for ending in ("png", "bmp"):
        path = str(tmp_path / f"image.{ending}")
        ti.tools.imwrite(pixels, path)
        np.testing.assert_array_equal(ti.tools.imread(path), pixels)
    ti.tools.imwrite(np.ones((8, 8, 4), np.float32), str(tmp_path / "image.jpg"))
    assert ti.tools.imread(str(tmp_path / "image.jpg")).shape == (8, 8, 3)
    assert ti.tools.imread(path, channels=1).shape == (20, 30, 1)
    field = ti.Vector.field(3, ti.f32, (4, 6))
    field.fill(0.5)
    ti.tools.imwrite(field, path)
    assert (ti.tools.imread(path) == 127).all() and ti.tools.imread(path).shape == (4, 6, 3)
    with pytest.raises(ValueError, match="int32 not supported"):
        ti.tools.imwrite(np.zeros((2, 2), np.int32), path)
    with pytest.raises(ValueError, match="at least one pixel, this one 0 x 4"):
        ti.tools.imwrite(np.zeros((0, 4, 3), np.uint8), path)
    assert ti.tools.imresize(pixels, 10, 15).shape == (10, 15, 3)


@pytest.fixture
def frames(tmp_path):
    return [np.full((6, 4, 3), n * 20, np.uint8) for n in range(9)]


def test_video_frames_without_ffmpeg(ti, tmp_path, frames, monkeypatch):
    pillow = pytest.importorskip("PIL.Image")
    monkeypatch.setenv("PATH", str(tmp_path))
    video = ti.tools.VideoManager(str(tmp_path / "out"), framerate=10)
    video.write_frames(frames)
    assert len(os.listdir(video.get_frame_directory())) == 9
    with pytest.raises(RuntimeError, match="needs ffmpeg"):
        video.make_video()
    video.make_video(mp4=False)  # Pillow makes it
    with pillow.open(video.get_output_filename(".gif")) as film:
        assert (film.size, film.n_frames, film.info["duration"]) == ((6, 4), 9, 100)
    video.clean_frames()
    assert not os.listdir(video.get_frame_directory())


def test_video_by_ffmpeg(ti, tmp_path, frames):
    video = ti.tools.VideoManager(str(tmp_path / "out"), framerate=10)
    video.write_frames(frames)
    assert os.path.exists(video.get_output_filename(".mp4"))  # made after 4 and 8 frames
    video.make_video(gif=True, mp4=True)
    for ending in (".mp4", ".gif"):
        command = ["ffprobe", "-v", "error", "-count_frames", "-of", "csv=p=0", "-show_entries"]
        command += ["stream=width,height,avg_frame_rate,nb_read_frames"]
        found = subprocess.check_output([*command, video.get_output_filename(ending)], text=True)
        assert found.strip() == "6,4,10/1,9"


def test_odd_frames_of_videos_are_cut(ti, tmp_path):
    video = ti.tools.VideoManager(str(tmp_path / "out"), automatic_build=False)
    video.write_frame(np.zeros((7, 5, 3), np.uint8))
    assert (video.width, video.height) == (6, 4)
    video.make_video(gif=True, mp4=False)
    assert os.path.exists(video.get_output_filename(".gif"))
    assert not os.path.exists(video.get_output_filename(".mp4"))


def test_imshow_is_one_frame(tmp_path):
    program = (
        "import numpy as np, kiln as ti\n"
        "ti.tools.imshow(np.ones((8, 4, 3), np.float32))\n"
        "print('shown')\n"
    )
    environment = {**os.environ, "KILN_GUI_SAVE": str(tmp_path / "shown.png")}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "shown\n", done.stderr
    assert (tmp_path / "shown.png").read_bytes().startswith(b"\x89PNG")


def test_vtk(ti, tmp_path):
    field = ti.field(ti.f32, (2, 3))
    field.fill(1.5)
    ti.tools.write_vtk(field, str(tmp_path / "grid"))
    text = (tmp_path / "grid.vtr").read_text()
    assert 'WholeExtent="0 2 0 3 0 1"' in text and text.count("1.5") == 6
    with pytest.raises(ValueError, match="2D or 3D"):
        ti.tools.write_vtk(ti.field(ti.f32, 3), str(tmp_path / "grid"))
