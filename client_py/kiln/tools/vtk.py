"""VTK rectilinear grids of scalar fields, written as XML with inline text data."""


def write_vtk(scalar_field, filename):
    """Saves a field as a VTK rectilinear grid with one value per cell.

    scalar_field: a field of numbers with two or three axes. filename: the file's path without its
    ending, .vtr.

        x = ti.field(ti.f32, shape=(4, 4))
        ti.tools.write_vtk(x, "grid")
    """
    import numpy as np

    values = scalar_field.to_numpy() if hasattr(scalar_field, "to_numpy") else scalar_field
    values = np.asarray(values)
    if values.ndim not in (2, 3):
        raise ValueError("The input field must be a 2D or 3D scalar field.")
    values = values[..., None] if values.ndim == 2 else values
    extent = " ".join(f"0 {n}" for n in values.shape)
    kind = ("Float" if values.dtype.kind == "f" else "Int") + str(values.dtype.itemsize * 8)
    axes = "".join(
        f'<DataArray type="Int32" format="ascii">{" ".join(map(str, range(n + 1)))}</DataArray>'
        for n in values.shape
    )
    data = " ".join(map(str, values.reshape(-1, order="F").tolist()))
    with open(f"{filename}.vtr", "w", encoding="ascii") as out:
        out.write(
            '<?xml version="1.0"?><VTKFile type="RectilinearGrid" byte_order="LittleEndian">'
            f'<RectilinearGrid WholeExtent="{extent}"><Piece Extent="{extent}">'
            f"<Coordinates>{axes}</Coordinates>"
            f'<CellData Scalars="value"><DataArray type="{kind}" Name="value" format="ascii">'
            f"{data}</DataArray></CellData></Piece></RectilinearGrid></VTKFile>\n"
        )


__all__ = ["write_vtk"]
