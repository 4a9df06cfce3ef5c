"""Cases of istft: spectra that no signal has, the three paddings, every radix, chirps, odd lengths."""

from functools import partial

from webxpu.cases.case import F32, Case, Tolerance, uniform
from webxpu.ops.stft import hann_window

TOLERANCE = Tolerance(1e-5, 4e-7, "worst 1.2e-7 absolute of values up to 1, on SwiftShader")


def spectrum(frames: int, n_fft: int) -> tuple[F32, F32, F32]:
    """Any numbers: the first and the last bin have an imaginary part, which is ignored."""
    bins = n_fft // 2 + 1
    return uniform((frames, bins), seed=n_fft), uniform((frames, bins), seed=n_fft + 1), hann_window(n_fft) + 0.1


def _case(name: str, n: int, hop: int, frames: int, **kwargs: object) -> Case:
    sizes = {"n_fft": n, "hop_length": hop}
    quick = name in ("", "chirp") and n in (8, 37, 400)
    name = "-".join(filter(None, (f"{n}-{hop}-{frames}", name)))
    return Case("istft", name, partial(spectrum, frames, n), {**sizes, **kwargs}, quick)


CASES = [
    _case("", 8, 4, 5),
    _case("", 16, 5, 20),
    _case("", 7, 3, 14),
    _case("", 1, 1, 5),
    _case("", 2, 1, 5),
    _case("none", 8, 4, 6, center=False),
    _case("same", 16, 4, 6, padding="same"),
    _case("same-odd", 16, 5, 6, padding="same"),
    _case("length", 8, 4, 5, length=17),
    _case("longest", 8, 4, 5, length=20),
    _case("many", 8, 1, 1100),
    _case("empty", 8, 4, 5, length=0),
    _case("chirp", 37, 11, 9),
    _case("chirp", 74, 20, 5),
    _case("", 400, 160, 6),
    _case("", 1920, 960, 6),
    *(
        _case("direct", n, hop, frames, method="direct")
        for n, hop, frames in [(8, 4, 5), (7, 3, 14), (37, 11, 9), (1920, 480, 6)]
    ),
]
