"""Cases of flash_attention: those of attention, and grouped heads."""

from functools import partial

from webxpu.cases.attention import cases_of, narrowed, waves
from webxpu.cases.case import Case, Tolerance

TOLERANCE = Tolerance(1e-5, 1.6e-6, "worst 6.9e-7 absolute, over 209 keys, on SwiftShader")
HALF = Tolerance(1e-3, 5e-4, "worst 1.5e-5 absolute on an NVIDIA H200; a step of float16 is 9.8e-4 of a value")

# Masks whose kinds other cases have, as far as these kernels tell them apart; each kind is compiled anew.
_ALIKE = ("mask-1.3.4.7", "mask-1.1.1.7")
_GROUPED = partial(waves, 2, 6, 2, 5, 70, 8, 5)

CASES = [
    *(case for case in cases_of("flash_attention", HALF) if case.name not in _ALIKE),
    Case("flash_attention", "grouped-6.2", _GROUPED, {"causal": True, "enable_gqa": True}),
    Case("flash_attention", "grouped-6.2-f16", partial(narrowed, _GROUPED), {"enable_gqa": True}, tolerance=HALF),
]
