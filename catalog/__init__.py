"""The built-in models of the tool, and the scripts that export them."""
