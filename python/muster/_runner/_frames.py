"""Messages between a worker and its process: one packet each, with a file when they are long."""

from __future__ import annotations

import array
import errno
import fcntl
import json
import mmap
import os
import socket
import struct
from collections.abc import Callable
from typing import Any

MAGIC = b"MPYF"
#: Bodies up to this many bytes are in the packet itself.
MOST_INLINE = 48 << 10
MOST_PACKET = 64 << 10
#: Where arrays begin in a body.
ALIGNMENT = 64

_HEADER = struct.Struct("<4sIQI4x")
_F_SEAL_FUTURE_WRITE = 0x10
# What is larger is taken only where the system has it: the kernel would take pages from everybody
# else, down to the last, before it refused.
_SMALL = 16 << 20


def receive(sock: socket.socket) -> tuple[dict[str, Any], Any] | None:
    """The next message: its head, and the rest of its body; None when the other side is gone."""
    packet, control, flags, _ = sock.recvmsg(MOST_PACKET, socket.CMSG_SPACE(4 * 4))
    files = _files(control)
    try:
        if not packet:
            return None
        if flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC) or len(packet) < _HEADER.size:
            raise ValueError("a packet of the worker is cut off")
        magic, head_bytes, body_bytes, in_file = _HEADER.unpack_from(packet)
        if magic != MAGIC or head_bytes > body_bytes or len(files) != in_file:
            raise ValueError("a packet of the worker is not of this version")
        body: Any = memoryview(packet)[_HEADER.size :]
        if in_file:
            # Not ours to change: functions get parts of it.
            body = memoryview(mmap.mmap(files[0], body_bytes, mmap.MAP_SHARED, mmap.PROT_READ))
        if len(body) != body_bytes:
            raise ValueError(f"a packet of the worker has {len(body)} bytes, not {body_bytes}")
        return json.loads(bytes(body[:head_bytes])), body[head_bytes:]
    finally:
        for file in files:
            os.close(file)


def send(
    sock: socket.socket, head: dict[str, Any], extra: int, fill: Callable[[Any], None]
) -> None:
    """Sends a head and `extra` bytes that `fill` writes."""
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    total = len(text) + extra
    header = _HEADER.pack(MAGIC, len(text), total, int(total > MOST_INLINE))
    if total <= MOST_INLINE:
        body = bytearray(total)
        body[: len(text)] = text
        fill(memoryview(body)[len(text) :])
        sock.sendall(header + body)
        return
    file = make_memory(total)
    try:
        room = mmap.mmap(file, total)
        room[: len(text)] = text
        with memoryview(room) as view, view[len(text) :] as rest:
            fill(rest)
        room.close()
        # From here on nobody changes it, whatever functions do.
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, _F_SEAL_FUTURE_WRITE | fcntl.F_SEAL_SEAL)
        rights = array.array("i", [file])
        sock.sendmsg([header], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
    finally:
        os.close(file)


def make_memory(size: int) -> int:
    """A memory file of this size, all of whose pages exist."""
    if size > _SMALL and size > _available():
        raise MemoryError(f"{size} bytes of shared memory are more than the system has")
    file = os.memfd_create("muster-result", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.posix_fallocate(file, 0, size)
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
    except OSError as error:
        os.close(file)
        if error.errno in (errno.ENOSPC, errno.ENOMEM):
            raise MemoryError(f"{size} bytes of shared memory: {error.strerror}") from error
        raise
    return file


def _available() -> int:
    with open("/proc/meminfo") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    return 1 << 62


def _files(control: list[tuple[int, int, bytes]]) -> list[int]:
    files = array.array("i")
    for level, kind, data in control:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            files.frombytes(data[: len(data) - len(data) % files.itemsize])
    return list(files)
