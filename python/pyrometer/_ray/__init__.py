"""Runs a function as the ranks of a training run on a Ray cluster."""
