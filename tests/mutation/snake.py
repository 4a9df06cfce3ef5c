"""Mutants of snake and snake_beta."""

from tests.mutation import Mutant

KERNEL = "kernels/snake/kernel.wgsl"
OP = "webxpu/ops/snake.py"
TEST = "tests/ops/test_snake.py"

MUTANTS = [
    Mutant(KERNEL, "(beta[channel] + EPS)", "beta[channel]", "snake-tiny-alpha", "eps"),
    Mutant(KERNEL, "(beta[channel] + EPS)", "alpha[channel]", "snake_beta-2x3x5", "beta divides"),
    Mutant(KERNEL, "s * s", "s", "snake-2x3x5", "the square"),
    Mutant(KERNEL, "sin_cos(alpha[channel] * x[i]).x", "sin_cos(alpha[channel] * x[i]).y", "snake-2x3x5", "a sine"),
    Mutant(KERNEL, "sin_cos(alpha[channel] * x[i]).x", "sin(alpha[channel] * x[i])", "snake-3x7x13", "a good sine"),
    Mutant(KERNEL, "i / length % channels", "i % channels", "snake-2x3x5", "channels are not the last axis"),
    Mutant(KERNEL, "i / length % channels", "i / length", "snake-2x3x5", "the sample"),
    Mutant(KERNEL, "(arrayLength(&samples) * channels)", "channels", "snake-2x3x5", "the length"),
    Mutant(OP, "(b + EPS)", "b", f"{TEST}::test_an_alpha_as_small_as_eps_sees_it", "eps"),
    Mutant(OP, "(b + EPS)", "(a + EPS)", f"{TEST}::test_it_is_bigvgans_snake_beta", "beta divides"),
    Mutant(
        OP,
        "np.sin(a * wide) ** 2",
        "np.sin((a * wide) ** 2)",
        f"{TEST}::test_the_sine_is_squared_and_not_of_a_square",
        "the square",
    ),
    Mutant(
        OP,
        "spec.shape == x.shape[1:2]",
        "len(spec.shape) == 1",
        f"{TEST}::test_what_does_not_fit_is_named",
        "a value a channel",
    ),
]
