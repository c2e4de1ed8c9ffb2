"""Profiled steps of training: which, what is written, Nsight."""
