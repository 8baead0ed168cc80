"""One run over some data: its memory, its chunks, and what it will take."""
