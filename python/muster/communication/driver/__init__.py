"""Transports, for use without a proxy."""

from muster.communication.driver.abs_driver import AbsDriver
from muster.communication.driver.driver_type import DriverType
from muster.communication.driver.zmq_driver import ZmqDriver

__all__ = ["AbsDriver", "DriverType", "ZmqDriver"]
