"""Measures models: engines, metrics, recommendations, results and comparisons."""
