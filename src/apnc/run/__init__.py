"""One run over the data: memory budget, chunk sizes, and forecast."""
