"""Building and exporting models with torch. The tool carries this folder too, so it uses only
`_error.py` beside it."""
