"""Instruction sets, vectors of numbers and their functions, the L largest of a row: parts of other kernels."""
