"""Traces and many ranks as Python objects."""
