"""The paper's evaluation: its tables and ours, measured cell by cell, rendered from the rows."""
