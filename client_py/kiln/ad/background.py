"""Compiles instances in threads of their own."""

from threading import BoundedSemaphore, Thread

from .. import events, forks

_slots = BoundedSemaphore(8)  # threads that wait for the compiler at the same time


class Compilation:
    """The compilation of a `Making` whose front end has run.

    Its thread does not add the instance to the kernel: the program may call the kernel meanwhile.
    """

    def __init__(self, kernel, making):
        self._kernel = kernel
        self._making = making
        self._thread = Thread(target=self._compile)
        self._thread.start()

    def _compile(self):
        with _slots, forks.held_off:
            try:
                self._making.compile()
            except Exception:
                pass  # a call that needs the instance makes it again, and raises the error

    def finish(self):
        """Waits for the compiler, and adds the instance to the kernel. Adds none after an error."""
        with events.compiling(self._kernel.__name__):
            self._thread.join()
        if self._making.is_done and self._making.is_current:
            self._making.add()
