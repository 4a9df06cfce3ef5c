// with: real_f32 attention_in_place attention_softmax team_subgroups
// The softmax of float32 scores, in place.
