// with: nan
// Activations by number: KINDS in webxpu/ops/activation.py. The device's tanh may overflow to NaN, so its argument stays
// within 15, where tanh is 1 to the last bit.

fn bounded_tanh(x: f32) -> f32 {
    return tanh(clamp(x, -15.0, 15.0));
}

// The complementary error function of u >= 0 to 1.5e-7: Abramowitz and Stegun, Handbook, 7.1.26.
fn erfc_positive(u: f32) -> f32 {
    let t = 1.0 / (1.0 + 0.3275911 * u);
    let p = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
    return p * exp(-u * u);
}

fn activate(kind: u32, x: f32, alpha: f32) -> f32 {
    if (is_nan(x)) {
        return x;
    }
    switch kind {
        case 0u: { // relu2
            return max(x, 0.0) * max(x, 0.0);
        }
        case 1u: { // silu; past 88 exp overflows, and x / inf may be anything
            return select(x / (1.0 + exp(-max(x, -88.0))), 0.0, x < -88.0);
        }
        case 2u: { // elu
            return select(alpha * (exp(min(x, 0.0)) - 1.0), x, x > 0.0);
        }
        case 3u: { // tanh
            return bounded_tanh(x);
        }
        case 4u: { // gelu, by the tail that does not cancel
            let tail = 0.5 * x * erfc_positive(abs(x) * 0.7071067811865476);
            return select(tail, x - tail, x >= 0.0);
        }
        default: { // gelu_tanh
            return 0.5 * x * (1.0 + bounded_tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
        }
    }
}
