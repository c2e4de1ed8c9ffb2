"""Builds and exports models with torch. The tool embeds this folder too, so it uses only
`_error.py` beside it."""
