"""All compiled code. Imported when first needed: numba takes a quarter of a second to load."""
