"""For all Python tests."""

import signal

# A run that was started in the background of a shell ignores SIGINT, and so would every program
# that a test starts in order to interrupt it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
