"""Every error webxpu raises on purpose. A message names the operation, the argument, the rule and the value found."""


class ShapeError(ValueError):
    """An argument's shape, dtype or option does not fit the operation."""


class ContextOverflow(ShapeError):
    """A prompt leaves no room for a reply in the context: `tokens` of the prompt, `capacity` of the context."""

    def __init__(self, tokens: int, capacity: int) -> None:
        super().__init__(
            f"generate: ids must leave room in the context of {capacity} tokens, got {tokens}. "
            "Load the model with larger context_tokens or shorten the prompt."
        )
        self.tokens = tokens
        self.capacity = capacity


class FormatError(ValueError):
    """A file is not what it claims to be; the message quotes the offset and the bytes found."""


class TemplateError(ValueError):
    """A chat template is broken, or refused these messages; the message names the template's line."""


class Unsupported(RuntimeError):
    """Valid input that this device, browser or version of webxpu cannot handle."""


class KernelError(RuntimeError):
    """A WGSL module or pipeline was refused; the message starts with file:line:column."""


class FetchError(OSError):
    """A download failed; the message names the URL and the browser's reason.

    missing   whether what was asked is that there is no such file, as far as its server tells
    """

    missing = False


class DeviceError(RuntimeError):
    """A buffer, program or device was used wrongly: freed, foreign, or refused by validation."""


class DeviceLost(DeviceError):
    """The browser took the GPU device away; open a new one."""


class OutOfMemory(DeviceError):
    """The GPU could not hold an allocation; everything made for it has been freed."""


class FileChanged(FetchError):
    """The server has another version of a file than the one that it began to send."""


class StorageWarning(UserWarning):
    """A model file was not kept in the browser's storage; loading goes on and the message says why."""
