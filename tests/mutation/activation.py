"""Mutants of activation: its formulas, and the guards against a device's tanh and exp."""

from tests.mutation import Mutant

PART = "kernels/_with/activation.wgsl"
MAP = "kernels/_with/flat_map.wgsl"
OP = "webxpu/ops/activation.py"
TEST = "tests/ops/test_activation.py"


def case(name: str) -> str:
    return f"activation-{name}"


MUTANTS = [
    Mutant(PART, "clamp(x, -15.0, 15.0)", "x", case("gelu_tanh-300"), "the argument of tanh is bounded"),
    Mutant(PART, "clamp(x, -15.0, 15.0)", "clamp(x, -1.5, 1.5)", case("tanh-300"), "the bound is where tanh is 1"),
    Mutant(
        PART, "exp(-max(x, -88.0))", "exp(-max(x, -1.0))", case("silu-300"), "silu's bound lies where exp overflows"
    ),
    Mutant(PART, "return max(x, 0.0) * max(x, 0.0)", "return x * x", case("relu2-300"), "relu2 of negatives"),
    Mutant(PART, "x, x > 0.0)", "x, x < 0.0)", case("elu-300"), "elu's branches"),
    Mutant(PART, "alpha * (exp(", "(exp(", case("elu-alpha"), "elu's alpha"),
    Mutant(
        PART,
        "let tail = 0.5 * x * erfc_positive(abs(x) * 0.7071067811865476)",
        "let tail = 0.5 * x * erfc_positive(abs(x))",
        case("gelu-300"),
        "gelu's 1 / sqrt(2)",
    ),
    Mutant(PART, "0.3275911", "0.3265911", case("gelu-4097"), "p of Abramowitz and Stegun 7.1.26"),
    Mutant(PART, "select(tail, x - tail, x >= 0.0)", "tail", case("gelu-300"), "gelu of positives"),
    Mutant(PART, "0.044715", "0.04", case("gelu_tanh-300"), "gelu_tanh's cubic term"),
    Mutant(MAP, "if (i < length)", "if (i + 1u < length)", case("one-value"), "the last element"),
    Mutant(MAP, "length - 1u", "length - 2u", case("silu-300"), "a thread past the end takes the last element"),
    Mutant(MAP, "out[i] = values[step]", "out[i] = values[3u - step]", case("silu-4097"), "each value in its place"),
    Mutant("kernels/_with/flat.wgsl", "wid.y * num.x", "wid.y", case("silu-4097"), "folded grids are rebuilt in order"),
    Mutant(
        "kernels/_with/flat.wgsl",
        "* 1024u + step * 256u",
        "* 1024u + step * 255u",
        case("gelu-4097"),
        "a step's stride",
    ),
    Mutant(
        OP,
        "np.where(wide > 0, wide,",
        "np.where(wide < 0, wide,",
        f"{TEST}::test_each_kind_is_torchs",
        "elu's branches",
    ),
    Mutant(
        OP,
        '"gelu": 4, "gelu_tanh": 5',
        '"gelu": 5, "gelu_tanh": 4',
        case("gelu-300"),
        "the kernels' numbers of the two gelus",
    ),
    Mutant(OP, "x / math.sqrt(2)", "x", f"{TEST}::test_each_kind_is_torchs", "gelu's 1 / sqrt(2)"),
    Mutant(OP, "x**3", "x**2", f"{TEST}::test_each_kind_is_torchs", "gelu_tanh's cubic term"),
    Mutant(
        "kernels/_with/activation.wgsl",
        "if (is_nan(x))",
        "if (false)",
        "playwright_tests/ops/test_edges_activation.py::"
        "test_a_nan_of_either_sign_stays_one_and_its_neighbours_do_not_become_one[adapter-tanh]",
        "a NaN",
    ),
]
