// What the tensors hold; sums and products are in f32 always.

alias Real = f32;
