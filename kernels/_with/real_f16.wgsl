// What the tensors hold; sums and products are in f32 always, and a result is rounded to f16 once.
enable f16;

alias Real = f16;
const HALVES = true; // two in a word, so that the length of an array may count one too many
