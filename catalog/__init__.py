"""The models that the tool knows by name, and the scripts that export them."""
