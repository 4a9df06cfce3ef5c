// with: real_f16 attention_narrowed attention_softmax team_subgroups
// The softmax of float32 scores, stored as float16.
