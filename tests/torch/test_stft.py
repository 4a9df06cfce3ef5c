"""stft and istft against torch at random lengths, hops and windows."""

import numpy as np
import pytest
import torch

from webxpu import ops
from webxpu.errors import ShapeError


def test_stft_is_torchs_at_random_sizes(rng):
    for _ in range(100):
        n_fft, hop, center = int(rng.integers(1, 70)), int(rng.integers(1, 40)), bool(rng.integers(2))
        x = rng.standard_normal(n_fft + int(rng.integers(0, 200)), np.float32)
        window = rng.uniform(-1, 1, n_fft).astype(np.float32)
        real, imag = ops.stft(x, window, n_fft=n_fft, hop_length=hop, center=center)
        weights = torch.from_numpy(window).double()
        want = torch.stft(
            torch.from_numpy(x).double(), n_fft, hop, window=weights, center=center, return_complex=True
        ).mT.numpy()
        np.testing.assert_allclose(real, want.real, rtol=1e-6, atol=1e-5, err_msg=f"{len(x)} {n_fft} {hop} {center}")
        np.testing.assert_allclose(imag, want.imag, rtol=1e-6, atol=1e-5, err_msg=f"{len(x)} {n_fft} {hop} {center}")


@pytest.mark.filterwarnings("ignore:The length of signal")
def test_istft_is_torchs_at_random_sizes_and_raises_where_torch_does(rng):
    raised = 0
    for _ in range(150):
        n_fft, frames, center = int(rng.integers(2, 40)), int(rng.integers(2, 30)), bool(rng.integers(2))
        hop = int(rng.integers(1, n_fft + 1))
        real, imag = rng.standard_normal((2, frames, n_fft // 2 + 1), np.float32)
        window = (rng.uniform(0.1, 1, n_fft) * (rng.uniform(size=n_fft) > 0.2)).astype(np.float32)
        sizes = {"n_fft": n_fft, "hop_length": hop}
        most = ops.istft_max_length(frames, **sizes, padding="center" if center else "none")
        length = None if rng.integers(2) else int(rng.integers(1, most + 1))
        spectrum = torch.complex(*(torch.from_numpy(part).double() for part in (real, imag))).mT
        named = f"{n_fft} {hop} {frames} {center} {length}"
        options = {"window": torch.from_numpy(window).double(), "center": center, "length": length}
        want = outcome(torch.istft, spectrum, n_fft, hop, **options)
        got = outcome(ops.istft, real, imag, window, **sizes, center=center, length=length)
        if isinstance(want, RuntimeError):
            assert "window overlap add min" in str(want), named
            assert str(got).startswith("istft: window must be nonzero over every returned sample"), named
            raised += 1
        else:
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6, err_msg=named)
    assert 10 < raised < 140


def outcome(function, *args, **kwargs):
    """What a function returns or, where it refuses, the error."""
    try:
        return function(*args, **kwargs)
    except (RuntimeError, ShapeError) as e:
        return e


@pytest.mark.parametrize("name", ["hann", "hamming", "blackman"])
def test_windows_are_torchs(name):
    for n in range(1, 50):
        for periodic in (False, True):
            want = getattr(torch, f"{name}_window")(n, periodic=periodic, dtype=torch.float64).numpy()
            got = getattr(ops, f"{name}_window")(n, periodic=periodic)
            np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-7)
