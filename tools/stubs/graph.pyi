# Definitions of the stub of kiln.graph that are written by hand; see make.py.
def capture() -> CapturedGraph: ...  # noqa: F821
