"""How a kernel is differentiated: the numbers of AutodiffMode in proto/kernel.proto."""

NONE, REVERSE, FORWARD, VALIDATION = range(4)
