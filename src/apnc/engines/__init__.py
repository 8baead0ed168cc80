"""Engines move chunks; they hold no algorithm."""
