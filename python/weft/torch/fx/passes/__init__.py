"""Passes over graphs: shapes of values, graphs split into submodules, matching."""
