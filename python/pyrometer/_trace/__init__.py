"""Traces, of one rank or many, as Python objects."""
