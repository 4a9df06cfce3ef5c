"""How many rows the kernels of a decode step serve."""

# A program of at most so many rows sums in the order of the one-row program, so that drafts are verified bit for bit.
DECODE_ROWS = 9
