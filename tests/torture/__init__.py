"""Attacks on the package, one module each in ``attacks``: ``python -m tests.torture ATTACK`` runs them in batches."""
