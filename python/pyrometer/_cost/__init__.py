"""Pricing models: what they are called, what they cost, the registry."""
