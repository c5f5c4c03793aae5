"""What a process that runs functions sets up before the first one."""

from __future__ import annotations

import ctypes
import faulthandler
import mmap
import os
import resource
import signal
import socket

_PR_SET_PDEATHSIG = 1


class Files:
    """The socket to the worker, and its chunks if they are shared."""

    def __init__(self, socket_file: int, arena_file: int | None) -> None:
        # What functions start has no business with them.
        os.set_inheritable(socket_file, False)
        self.socket = socket.socket(fileno=socket_file)
        self.arena: mmap.mmap | None = None
        if arena_file is not None:
            size = os.fstat(arena_file).st_size
            self.arena = mmap.mmap(arena_file, size, mmap.MAP_SHARED, mmap.PROT_READ)
            os.close(arena_file)


def prepare(parent: int, memory: int) -> None:
    """Dies with the worker, goes first when memory runs out, and says where a crash was."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # It was gone before we could ask.
        os._exit(0)
    faulthandler.enable()
    _die_first()
    if memory > 0:
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))


def _die_first() -> None:
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("500")
    except OSError:
        pass  # The worker has a higher one already.
