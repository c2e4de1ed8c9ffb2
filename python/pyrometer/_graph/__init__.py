"""Graphs of models as Python objects."""
