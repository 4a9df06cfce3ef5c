// The state of a sequence, 256 bytes; webxpu/llm/state.py has the same table and says what each word means.

struct State {
    position: u32,
    rows: u32,
    step: u32,
    done: u32,
    seed_lo: u32,
    seed_hi: u32,
    top_k: u32,
    stop_count: u32,
    temperature: f32,
    top_p: f32,
    min_p: f32,
    capacity: u32,
    reserved: vec4<u32>,
    stops: array<vec4<u32>, 4>,
    reserved_tail: array<vec4<u32>, 8>,
}
