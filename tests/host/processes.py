"""What tests of commands as processes share."""

import signal


def hear_ctrl_c() -> None:
    """For `preexec_fn`: a job that a shell starts in the background ignores SIGINT, and its children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
