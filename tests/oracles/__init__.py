"""Slow oracles of the kernels, written for reading: one module per room or kernel."""
