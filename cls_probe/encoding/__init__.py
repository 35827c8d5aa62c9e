"""From texts to vectors: locating a model, encoding batches, pooling hidden states."""
