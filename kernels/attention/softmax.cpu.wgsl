// with: real_f32 attention_in_place attention_softmax team_alone
// The softmax of float32 scores, in place, without workgroup memory.
