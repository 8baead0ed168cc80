"""k-means on the embeddings: seeding and Lloyd's iterations (Algorithm 2)."""
