"""PLY files of points and faces, from NumPy arrays."""

import sys

_TYPES = {
    "char": "int8",
    "uchar": "uint8",
    "short": "int16",
    "ushort": "uint16",
    "int": "int32",
    "uint": "uint32",
    "float": "float32",
    "double": "float64",
}


class PLYWriter:
    """Collects channels of vertices and faces, and writes one file, or one per frame.

    Args:
        num_vertices, num_faces: the numbers of vertices and faces.
        face_type: "tri" or "quad".
        comment: a line in the file's header.

    Example::

        writer = ti.tools.PLYWriter(num_vertices=3, num_faces=1)
        x, y = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])
        writer.add_vertex_pos(x, y, np.zeros(3))
        writer.add_faces(np.array([0, 1, 2]))
        writer.export("triangle.ply")
    """

    def __init__(self, num_vertices, num_faces=0, face_type="tri", comment="created by PLYWriter"):
        import numpy as np

        assert num_vertices > 0, "num_vertices should be greater than 0"
        assert num_faces >= 0, "num_faces shouldn't be less than 0"
        assert face_type in ("tri", "quad"), "Only tri and quad faces are supported for now"
        self.num_vertices, self.num_faces = num_vertices, num_faces
        self.face_type, self.comment = face_type, comment
        # Channel i has the name channels[i], the PLY type data_type[i] and the numbers data[i].
        self.num_vertex_channels, self.num_face_channels = 0, 0
        self.vertex_channels, self.vertex_data_type, self.vertex_data = [], [], []
        self.face_channels, self.face_data_type, self.face_data = [], [], []
        self.face_indices = -np.ones((num_faces, self._corners), np.int32)

    # ---- channels

    def add_vertex_channel(self, key, data_type, data):
        """Adds a channel of numbers for the vertices. For an unknown type it only prints a message.

        key: the channel's name. data_type: a PLY type, as "float". data: one number for each
        vertex; or (n, m) for m channels named `key`_1 to `key`_m.
        """
        lists = self.vertex_channels, self.vertex_data_type, self.vertex_data
        self._add("vertex", lists, self.num_vertices, key, data_type, data)
        self.num_vertex_channels = len(self.vertex_channels)

    def add_face_channel(self, key, data_type, data):
        """Adds a channel of numbers for the faces, as `add_vertex_channel` does.

        key: the channel's name. data_type: a PLY type. data: one number, or more, for each face.
        """
        lists = self.face_channels, self.face_data_type, self.face_data
        self._add("face", lists, self.num_faces, key, data_type, data)
        self.num_face_channels = len(self.face_channels)

    def add_vertex_pos(self, x, y, z):
        """Adds the positions of the vertices.

        x, y, z: arrays with a number for each vertex.
        """
        self._add_vertex("float", x=x, y=y, z=z)

    def add_vertex_normal(self, nx, ny, nz):
        """Adds the normals of the vertices.

        nx, ny, nz: arrays with a number for each vertex.
        """
        self._add_vertex("float", nx=nx, ny=ny, nz=nz)

    def add_vertex_vel(self, vx, vy, vz):
        """Adds the velocities of the vertices.

        vx, vy, vz: arrays with a number for each vertex.
        """
        self._add_vertex("float", vx=vx, vy=vy, vz=vz)

    def add_vertex_color(self, r, g, b):
        """Adds the colours of the vertices.

        r, g, b: arrays with a number in 0..1 for each vertex.
        """
        self._add_vertex("float", red=r, green=g, blue=b)

    def add_vertex_alpha(self, alpha):
        """Adds the opacity of the vertices.

        alpha: an array with a number in 0..1 for each vertex.
        """
        self._add_vertex("float", Alpha=alpha)

    def add_vertex_rgba(self, r, g, b, a):
        """Adds the colours and opacity of the vertices.

        r, g, b, a: arrays with a number in 0..1 for each vertex.
        """
        self._add_vertex("float", red=r, green=g, blue=b, Alpha=a)

    def add_vertex_id(self):
        """Adds the numbers of the vertices, from 0."""
        self._add_vertex("int", id=range(self.num_vertices))

    def add_vertex_piece(self, piece):
        """Adds the number of the piece to which each vertex belongs.

        piece: an array with a number for each vertex.
        """
        self._add_vertex("int", piece=piece)

    def add_faces(self, indices):
        """Adds the faces.

        indices: the numbers of the vertices, three or four per face.
        """
        import numpy as np

        indices = np.asarray(indices)
        assert indices.size == self._corners * self.num_faces, (
            "The dimension of the face vertices is not correct"
        )
        self.face_indices = indices.reshape(self.num_faces, self._corners).astype(np.int32)

    def add_face_id(self):
        """Adds the numbers of the faces, from 0."""
        self.add_face_channel("id", "int", range(self.num_faces))

    def add_face_piece(self, piece):
        """Adds the number of the piece to which each face belongs.

        piece: an array with a number for each face.
        """
        self.add_face_channel("piece", "int", piece)

    # ---- files

    def sanity_check(self):
        """Asserts that positions were added, and that the faces refer to existing vertices."""
        for axis in "xyz":
            assert axis in self.vertex_channels, "The vertex pos channel is missing"
        inside = (self.face_indices >= 0) & (self.face_indices < self.num_vertices)
        assert inside.all(), "The face indices are invalid"

    def print_header(self, path, _format):
        """Starts the file at `path` with the header."""
        with open(path, "w", encoding="ascii") as out:
            out.write(self._header(_format))

    def export(self, path):
        """Writes a binary file.

        path: the file's path.
        """
        self._write(path, f"binary_{sys.byteorder}_endian", lambda table: table.tobytes())

    def export_ascii(self, path):
        """Writes a text file.

        path: the file's path.
        """
        self._write(path, "ascii", _to_text)

    def export_frame(self, series_num, path):
        """Writes a binary file for one frame.

        series_num: the frame's number. path: the file's path, to which the number is added.
        """
        self.export(_frame_path(path, series_num))

    def export_frame_ascii(self, series_num, path):
        """Writes a text file for one frame.

        series_num: the frame's number. path: the file's path, to which the number is added.
        """
        self.export_ascii(_frame_path(path, series_num))

    # ---- internals

    @property
    def _corners(self):
        return 3 if self.face_type == "tri" else 4

    def _add_vertex(self, data_type, **channels):
        for key, data in channels.items():
            self.add_vertex_channel(key, data_type, data)

    def _add(self, what, lists, count, key, data_type, data):
        import numpy as np

        if data_type not in _TYPES:
            print(f"Unknown type {data_type} detected, skipping this channel")
            return
        data = np.asarray(data.to_numpy() if hasattr(data, "to_numpy") else data)
        columns = {key: data}
        if data.ndim == 2 and data.size and data.size % count == 0:
            parts = data.reshape(count, -1).T
            columns = {f"{key}_{i + 1}": part for i, part in enumerate(parts)}
        channels, types, numbers = lists
        for name, column in columns.items():
            assert column.shape == (count,), f"The dimension of the {what} channel is not correct"
            if name in channels:
                print(f"WARNING: duplicate key {name} detected")
            channels.append(name)
            types.append(data_type)
            numbers.append(column.astype(_TYPES[data_type]))

    def _header(self, form):
        lines = ["ply", f"format {form} 1.0", f"comment {self.comment}"]
        lines.append(f"element vertex {self.num_vertices}")
        channels = zip(self.vertex_data_type, self.vertex_channels)
        lines += [f"property {kind} {key}" for kind, key in channels]
        if self.num_faces:
            lines.append(f"element face {self.num_faces}")
            lines.append("property list uchar int vertex_indices")
            channels = zip(self.face_data_type, self.face_channels)
            lines += [f"property {kind} {key}" for kind, key in channels]
        return "\n".join([*lines, "end_header", ""])

    def _tables(self):
        """Two structured arrays: one row per vertex, one row per face."""
        import numpy as np

        corners = [np.full(self.num_faces, self._corners, np.uint8), *self.face_indices.T]
        for columns in (self.vertex_data, corners + self.face_data):
            kinds = [(f"c{i}", column.dtype) for i, column in enumerate(columns)]
            table = np.empty(len(columns[0]), kinds)
            for (name, _), column in zip(kinds, columns):
                table[name] = column
            yield table

    def _write(self, path, form, encode):
        self.sanity_check()
        with open(path, "wb") as out:
            out.write(self._header(form).encode("ascii"))
            for table in self._tables():
                out.write(encode(table))


def _to_text(table):
    # Keep NumPy's numbers: they print the digits of their type, Python's floats up to seventeen.
    columns = [map(str, table[name]) for name in table.dtype.names]
    return "".join(" ".join(row) + " \n" for row in zip(*columns)).encode("ascii")


def _frame_path(path, number):
    stem = path[: -len(".ply")] if path.endswith(".ply") else path
    return f"{stem}_{number:06d}.ply"


__all__ = ["PLYWriter"]
