"""Instruction sets, vectors of numbers and their functions, the L largest of a row: what other kernels are made of."""
