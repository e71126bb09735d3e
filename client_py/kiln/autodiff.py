"""How a kernel is differentiated: the numbers of AutodiffMode in proto/kernel.proto."""

NONE, REVERSE, FORWARD, VALIDATION = range(4)
SECOND = 4  # in Kiln alone: REVERSE, and FORWARD of that
