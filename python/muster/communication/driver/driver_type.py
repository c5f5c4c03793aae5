"""The transports that a proxy can use."""

from __future__ import annotations

from enum import Enum

from muster.communication.exceptions import DriverTypeError


class DriverType(Enum):
    """Which transport a proxy uses."""

    AUTO = "auto"
    """The best for each peer: ``INPROC`` in one process, ``SHM`` on one host, else ``ZMQ``."""
    ZMQ = "zmq_driver"
    """ZeroMQ over TCP or Unix sockets."""
    SHM = "shm_driver"
    """Shared memory, on one host."""
    INPROC = "inproc_driver"
    """Within one process."""
    UCX = "ucx_driver"
    """RDMA, shared memory or TCP through UCX; used only when it is asked for. Not encrypted."""

    @property
    def native_name(self) -> str:
        """The name of the driver in the C++ library and in ``driver_parameters``."""
        return self.value.replace("_driver", "")

    @classmethod
    def of(cls, given: DriverType | str | None) -> DriverType:
        """The member for a member, its value, its native name, or None (``AUTO``)."""
        if given is None:
            return cls.AUTO
        for member in cls:
            if given is member or given in (member.value, member.native_name):
                return member
        names = ", ".join(f"DriverType.{member.name}" for member in cls)
        raise DriverTypeError(f"no driver type {given!r}; there are {names}")


__all__ = ["DriverType"]
