"""Instruction sets, vectors of numbers and their functions, the L largest of a row: building blocks of other kernels."""
