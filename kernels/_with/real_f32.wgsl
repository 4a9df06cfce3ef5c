// What the tensors hold; sums and products are in f32 always.

alias Real = f32;
const HALVES = false; // two in a word, so that the length of an array may count one too many
