"""Cases of stft: every radix, chirps, odd lengths, frames at the signal's ends, Whisper's and a vocoder's sizes."""

from functools import partial

from webxpu.cases.case import F32, Case, Tolerance, uniform, wave
from webxpu.ops.stft import hann_window

# The tone's bin is near 0.45 n_fft, and what is rounded there is seen in all others.
_SEEN = "worst 6.2e-8 n_fft absolute, on SwiftShader; by the direct sum 1.9e-7 n_fft for 400 and 4.1e-7 n_fft for 1920"
TOLERANCE = Tolerance(1e-5, 0, _SEEN)  # each case has its own


def signal(length: int, n_fft: int) -> tuple[F32, F32]:
    """A tone in noise, and a window that is zero nowhere, so that each sample counts."""
    return wave(length, 0.21) + uniform((length,), seed=n_fft, amp=0.1), hann_window(n_fft) + 0.1


def _case(name: str, n: int, hop: int, length: int, error: float = 2e-7, **kwargs: object) -> Case:
    sizes = {"n_fft": n, "hop_length": hop}
    quick = name in ("", "chirp") and n in (8, 37, 400)
    name = "-".join(filter(None, (f"{n}-{hop}-{length}", name)))
    return Case("stft", name, partial(signal, length, n), {**sizes, **kwargs}, quick, Tolerance(1e-5, error * n, _SEEN))


CASES = [
    _case("", 8, 4, 16),
    _case("", 16, 5, 100),
    _case("", 7, 3, 40),
    _case("", 1, 2, 5),
    _case("", 2, 1, 5),
    _case("", 45, 20, 23),
    _case("", 62, 9, 70),
    _case("uncentred", 8, 4, 25, center=False),
    _case("uncentred-one", 8, 100, 8, center=False),
    _case("many", 8, 1, 1100),
    _case("chirp", 37, 11, 90),
    _case("chirp", 74, 80, 300),
    _case("chirp-of-512", 129, 70, 150),
    _case("", 400, 160, 1000),
    _case("", 512, 128, 1024),
    _case("", 1920, 960, 4800),
    _case("direct", 8, 4, 16, method="direct"),
    _case("direct", 7, 3, 40, method="direct"),
    _case("direct", 37, 11, 90, method="direct"),
    _case("direct", 400, 160, 1000, 8e-7, method="direct"),
    _case("direct", 1920, 960, 4800, 1.5e-6, method="direct"),
    _case("direct-uncentred", 8, 4, 25, center=False, method="direct"),
]
