"""All compiled code, imported on first use: numba takes a quarter of a second to load."""
