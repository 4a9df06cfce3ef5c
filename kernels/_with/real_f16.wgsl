// What the tensors hold; sums and products are in f32 always, and a result is rounded to f16 once.
enable f16;

alias Real = f16;
