"""The history of results over commits."""
