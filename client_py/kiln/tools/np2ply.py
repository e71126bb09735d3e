"""PLY files of points and faces, from NumPy arrays."""

import sys

_TYPES = ("char", "uchar", "short", "ushort", "int", "uint", "float", "double")
_CODES = ("i1", "u1", "i2", "u2", "i4", "u4", "f4", "f8")


class PLYWriter:
    """Collects channels of vertices and faces, then writes one file or one file a frame."""

    def __init__(self, num_vertices, num_faces=0, face_type="tri", comment="created by PLYWriter"):
        assert num_vertices > 0, "num_vertices should be greater than 0"
        assert num_faces >= 0, "num_faces shouldn't be less than 0"
        assert face_type in ("tri", "quad"), "Only tri and quad faces are supported for now"
        self.num_vertices, self.num_faces = num_vertices, num_faces
        self.face_type, self.comment = face_type, comment
        self.vertex_channels, self.face_channels = [], []  # (name, PLY type, array of (n,))
        self.face_indices = None

    # ---- channels

    def add_vertex_channel(self, key, data_type, data):
        """One number for each vertex, as the PLY type `data_type`."""
        self.vertex_channels.append(self._channel(key, data_type, data, self.num_vertices))

    def add_face_channel(self, key, data_type, data):
        """One number for each face."""
        self.face_channels.append(self._channel(key, data_type, data, self.num_faces))

    def add_vertex_pos(self, x, y, z):
        self._add_vertex("float", x=x, y=y, z=z)

    def add_vertex_normal(self, nx, ny, nz):
        self._add_vertex("float", nx=nx, ny=ny, nz=nz)

    def add_vertex_color(self, r, g, b):
        self._add_vertex("float", red=r, green=g, blue=b)

    def add_vertex_alpha(self, alpha):
        self._add_vertex("float", Alpha=alpha)

    def add_vertex_rgba(self, r, g, b, a):
        self._add_vertex("float", red=r, green=g, blue=b, Alpha=a)

    def add_vertex_color_uchar(self, r, g, b):
        self._add_vertex("uchar", red=r, green=g, blue=b)

    def add_vertex_id(self):
        self._add_vertex("int", id=range(self.num_vertices))

    def add_vertex_piece(self, piece=1):
        self._add_vertex("int", piece=[piece] * self.num_vertices)

    def add_faces(self, indices):
        """Vertex numbers of all faces, three or four each."""
        import numpy as np

        corners = 3 if self.face_type == "tri" else 4
        indices = np.asarray(indices, np.int32).reshape(-1, corners)
        assert len(indices) == self.num_faces, "The dimension of the face channel is not correct"
        self.face_indices = indices

    def add_face_id(self):
        self.add_face_channel("id", "int", range(self.num_faces))

    def add_face_piece(self, piece=1):
        self.add_face_channel("piece", "int", [piece] * self.num_faces)

    # ---- files

    def export(self, path):
        """Writes a binary file."""
        self._write(path, binary=True)

    def export_ascii(self, path):
        """Writes a text file."""
        self._write(path, binary=False)

    def export_frame(self, series_num, path):
        self.export(_frame_path(path, series_num))

    def export_frame_ascii(self, series_num, path):
        self.export_ascii(_frame_path(path, series_num))

    # ---- inside

    def _add_vertex(self, data_type, **channels):
        for key, data in channels.items():
            self.add_vertex_channel(key, data_type, data)

    def _channel(self, key, data_type, data, count):
        import numpy as np

        if data_type not in _TYPES:
            raise ValueError(f"Unknown type {data_type} detected, skipping this channel")
        data = np.asarray(data.to_numpy() if hasattr(data, "to_numpy") else list(data))
        assert data.size == count, "The dimension of the channel is not correct"
        return key, data_type, data.reshape(count).astype(_CODES[_TYPES.index(data_type)])

    def _header(self, binary):
        form = f"binary_{sys.byteorder}_endian" if binary else "ascii"
        lines = ["ply", f"format {form} 1.0", f"comment {self.comment}"]
        lines.append(f"element vertex {self.num_vertices}")
        lines += [f"property {kind} {key}" for key, kind, _ in self.vertex_channels]
        if self.num_faces:
            lines.append(f"element face {self.num_faces}")
            lines.append("property list uchar int vertex_indices")
            lines += [f"property {kind} {key}" for key, kind, _ in self.face_channels]
        return "\n".join([*lines, "end_header", ""])

    def _records(self):
        """Structured arrays: one row a vertex, then one row a face."""
        import numpy as np

        names = [f"c{i}" for i in range(len(self.vertex_channels))]
        kinds = [data.dtype.str for _, _, data in self.vertex_channels]
        vertices = np.empty(self.num_vertices, list(zip(names, kinds)))
        for name, (_, _, data) in zip(names, self.vertex_channels):
            vertices[name] = data
        tables = [vertices]
        if self.num_faces:
            assert self.face_indices is not None, "add_faces was not called"
            corners = self.face_indices.shape[1]
            parts = [("n", "u1"), *((f"v{i}", "i4") for i in range(corners))]
            parts += [(f"c{i}", d.dtype.str) for i, (_, _, d) in enumerate(self.face_channels)]
            faces = np.empty(self.num_faces, parts)
            faces["n"] = corners
            for i in range(corners):
                faces[f"v{i}"] = self.face_indices[:, i]
            for i, (_, _, data) in enumerate(self.face_channels):
                faces[f"c{i}"] = data
            tables.append(faces)
        return tables

    def _write(self, path, binary):
        with open(path, "wb") as out:
            out.write(self._header(binary).encode("ascii"))
            for table in self._records():
                if binary:
                    out.write(table.tobytes())
                else:
                    rows = (" ".join(map(str, row)) + " \n" for row in table.tolist())
                    out.write("".join(rows).encode("ascii"))


def _frame_path(path, number):
    stem = path[: -len(".ply")] if path.endswith(".ply") else path
    return f"{stem}_{number:06d}.ply"


__all__ = ["PLYWriter"]
