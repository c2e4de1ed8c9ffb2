"""The models that Pyrometer is checked on, and the scripts that export them."""
