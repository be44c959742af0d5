"""What all tests start with."""

import signal

# A shell that runs the tests in the background may have them ignore these, which programs inherit;
# tests of what signals do would then wait for ever.
for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
    signal.signal(number, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
