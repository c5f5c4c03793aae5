"""Distributed programs from components that pass messages."""

from muster._core import version as __version__
from muster._options import option_context, options
from muster.session import execute, fetch, new_session

__all__ = ["__version__", "execute", "fetch", "new_session", "option_context", "options"]
