"""Prices models: cost(), opening models by name or path, and the registry."""
