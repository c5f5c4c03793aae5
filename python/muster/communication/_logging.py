"""Sends the library's log lines to ``logging.getLogger("muster")``."""

from __future__ import annotations

import atexit
import logging
import os

from muster import _core

logger = logging.getLogger("muster")


def _write(level: int, area: str, text: str) -> None:
    logger.getChild(area).log(level, "%s", text)


def follow_level() -> None:
    """Tells the library which lines somebody listens to, so that it does not format others."""
    _core.set_log_level(logger.getEffectiveLevel())


def _level_from_environment() -> None:
    text = os.environ.get("MUSTER_LOG_LEVEL", "").upper()
    if text == "OFF":
        logger.setLevel(logging.CRITICAL + 1)
    elif text in ("DEBUG", "INFO", "WARNING", "ERROR"):
        logger.setLevel(text)


_level_from_environment()
follow_level()
_core.set_log_writer(_write)
atexit.register(_core.set_log_writer, None)
