"""What tests of commands as processes share."""

import signal


def hear_ctrl_c() -> None:
    """For `preexec_fn`: a shell that starts a job in the background lets it ignore SIGINT, and its children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
