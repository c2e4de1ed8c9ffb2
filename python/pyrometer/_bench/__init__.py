"""Measuring models: engines, amounts, recommendations, results and verdicts."""
